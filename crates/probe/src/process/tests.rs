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
fn the_call_of_a_thread_is_read() {
    let epoll = "232 0x6 0x55 0x200 0xffffffffffffffff 0x0 0x0 0x7ffc 0x7f1b\n";
    assert_eq!(in_call(epoll), Some((232, 6)));
    assert_eq!(in_call("running\n"), None);
    assert_eq!(in_call("-1 0x7ffc12345678 0x7f1b\n"), Some((-1, -1)), "a page is being fetched");
}

#[test]
fn what_a_thread_waits_in_is_told_by_its_call() {
    let of = |call: Sysno| wait_of(&format!("{} 0xb 0x7ff2a0039780 0xc8\n", call.id()));
    assert_eq!(of(Sysno::epoll_pwait), Wait::Epoll(11));
    assert_eq!(of(Sysno::ppoll), Wait::Poll);
    assert_eq!(of(Sysno::futex), Wait::Futex);
    assert_eq!(of(Sysno::read), Wait::Call(Sysno::read.id().cast_unsigned()));
    assert_eq!(wait_of("running\n"), Wait::Running);
}

#[test]
fn what_an_epoll_watches_is_read() {
    let line = "tfd:        6 events: 10000019 data:                0  pos:0 ino:2b1f sdev:9";
    assert_eq!(inode_of(line), Some(0x2b1f));
    assert_eq!(inode_of("flags:\t02"), None);
}
