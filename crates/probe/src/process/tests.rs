use std::net::TcpListener;

use syscalls::Sysno;

use super::*;

#[test]
fn ports_are_those_of_its_own_listeners() {
    let own_pid = std::process::id();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("bound").port();
    assert!(listening_ports(own_pid).contains(&port));
    drop(listener);
    assert!(!listening_ports(own_pid).contains(&port));
}

#[test]
fn what_a_thread_waits_in_is_told_by_its_call() {
    let of = |call: Sysno| wait_of(&format!("{} 0xb 0x7ff2a0039780 0xc8\n", call.id()));
    assert_eq!(of(Sysno::epoll_pwait), Wait::Epoll(11));
    assert_eq!(of(Sysno::ppoll), Wait::Poll);
    assert_eq!(of(Sysno::futex), Wait::Futex);
    assert_eq!(of(Sysno::accept4), Wait::Accept);
    assert_eq!(of(Sysno::read), Wait::Call(Sysno::read.id().cast_unsigned()));
    assert_eq!(wait_of("running\n"), Wait::Running);
    assert_eq!(
        wait_of("-1 0x7ffc12345678 0x7f1b\n"),
        Wait::Call(u32::MAX),
        "a page is being fetched"
    );
}

#[test]
fn what_an_epoll_watches_is_read() {
    let line = "tfd:        6 events: 10000019 data:                0  pos:0 ino:2b1f sdev:9";
    assert_eq!(inode_of(line), Some(0x2b1f));
    assert_eq!(inode_of("flags:\t02"), None);
}
