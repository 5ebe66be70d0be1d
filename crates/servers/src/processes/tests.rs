use std::io::{BufRead, BufReader};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};

use procfs::FromRead;

use super::*;

/// What a thread waits in of which the kernel says this.
fn told(text: &str) -> Wait {
    Wait::of(Syscall::from_read(text.as_bytes()).expect("as the kernel writes it"))
}

#[test]
fn polls_are_told_by_their_numbers() {
    let rest = "0x7ff2a0039780 0xc8 0x2b1 0x0 0x0 0x7ff2a73bf0c0 0x7ff2";
    assert_eq!(told(&format!("{} 0xb {rest}", calls::EPOLL[0])), Wait::Epoll(11));
    assert_eq!(told(&format!("{} 0x1 {rest}", calls::POLL[0])), Wait::Poll);
    assert_eq!(told(&format!("{} 0x7f {rest}", calls::FUTEX)), Wait::Futex);
    assert_eq!(told("running\n"), Wait::Running);
    assert_eq!(told(&format!("0 0x3 {rest}")), Wait::Other);
}

#[test]
fn this_thread_is_seen() {
    let own = i32::try_from(std::process::id()).expect("a pid");
    let threads = threads(own);
    let main = threads.iter().find(|thread| thread.tid == own).expect("the main thread");
    assert!(switches(main).is_some_and(|(name, count)| !name.is_empty() && count > 0));
    assert_eq!(threads.first().map(|thread| thread.tid), Some(own), "the oldest");
}

#[test]
fn what_an_epoll_watches_is_read() {
    let text = "pos:\t0\nflags:\t02\ntfd:        8 events:     2019 data:                8  pos:0 \
                ino:1d0086 sdev:f\ntfd:        5 events: 19 data: 5  pos:0 ino:1d053f sdev:9\n";
    assert_eq!(parse_watched(text), [0x1d_0086, 0x1d_053f]);
    assert_eq!(parse_watched("tfd: garbage"), Vec::<u64>::new());
}

#[test]
fn this_process_is_seen_with_its_sockets() {
    let own = i32::try_from(std::process::id()).expect("a pid");
    assert_eq!(family(own).first().map(|stat| stat.pid), Some(own));
    assert!(!command_line(own).is_empty());

    let root = Pid::from_raw(own).expect("a pid");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let addr = listener.local_addr().expect("bound");
    let client = TcpStream::connect(addr).expect("it accepts");
    let from = client.local_addr().expect("connected");
    let (_accepted, _) = listener.accept().expect("a connection");
    let listening = listening(root, addr).expect("the kernel tells");
    assert_eq!(listening.inodes.len(), 1);
    let borrowed = listening.socket.expect("ours to look at");
    assert!(borrowed.is_listener().expect("it tells"));
    let accepted = connected(root, from).expect("the other end");
    assert_eq!(accepted.local_addr().expect("bound").as_socket(), Some(addr));
}

/// A shell, and two below it: one in a session of its own.
fn shells() -> (Child, Pid) {
    let script = "setsid sleep 600 & sleep 600 & echo; wait";
    let mut child = Command::new("sh")
        .args(["-c", script])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .expect("a shell");
    let out = child.stdout.take().expect("its output");
    BufReader::new(out).read_line(&mut String::new()).expect("it has started both");
    let pid = Pid::from_child(&child);
    (child, pid)
}

#[test]
fn whatever_session_they_are_in_they_are_found_and_end() {
    let (mut child, root) = shells();
    let deadline = Instant::now() + Duration::from_secs(20);
    while living(root).len() < 2 {
        assert!(Instant::now() < deadline, "{:?}", living(root));
    }
    let found = living(root);
    assert!(!found.contains(&root.as_raw_pid()), "{found:?}");
    for pid in &found {
        assert!(descends(*pid, root) && descends(*pid, getpid()), "{pid:?}");
        assert!(!descends(root.as_raw_pid(), Pid::from_raw(*pid).expect("a number")));
    }
    end_all(root, deadline).expect("they can be killed");
    assert!(living(root).is_empty(), "{:?}", living(root));
    assert!(child.wait().expect("our child").success(), "nobody is left to be waited for");
}

#[test]
fn who_has_the_first_process_for_a_parent_descends_from_none_of_ours() {
    assert!(!descends(1, getpid()));
    assert!(descends(getpid().as_raw_pid(), getpid()));
}
