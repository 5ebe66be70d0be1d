use std::net::{TcpListener, TcpStream};

use super::*;

#[test]
fn names_of_processes_may_hold_anything() {
    let text = "7 (a) b (c) S 1 6 6 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 4242 1 2 3";
    let stat = Stat { parent: 1, group: 6, started: 4242, state: 'S' };
    assert_eq!(Stat::parse(text), Some(stat));
    assert!(stat.is_alive());
    assert_eq!(Stat::parse("7 (a"), None);
    assert_eq!(Stat::parse(""), None);
}

#[test]
fn polls_are_told_by_their_numbers() {
    let epoll = calls::EPOLL[0];
    let text = format!("{epoll} 0xb 0x7ff2a0039780 0xc8 0x2b1 0x0 0x0 0x7ff2a73bf0c0 0x7ff2");
    assert_eq!(parse_wait(&text), Wait::Epoll(11));
    assert_eq!(parse_wait(&format!("{} 0x1 0x2", calls::POLL[0])), Wait::Poll);
    assert_eq!(parse_wait(&format!("{} 0x7f 0x80", calls::FUTEX)), Wait::Futex);
    assert_eq!(parse_wait("running\n"), Wait::Running);
    for other in ["", "0 0x3", "-1 0x7ffc 0x7f", "x y"] {
        assert_eq!(parse_wait(other), Wait::Other, "{other}");
    }
}

#[test]
fn switches_of_both_kinds_are_added() {
    let text = "Name:\ta b\nState:\tS\nvoluntary_ctxt_switches:\t7\n\
                nonvoluntary_ctxt_switches:\t5\n";
    assert_eq!(parse_switches(text), Some(("a b".to_owned(), 12)));
    assert_eq!(parse_switches("Name:\tx\n"), None);
    let own = i32::try_from(std::process::id()).expect("a pid");
    assert!(switches(own, own).is_some_and(|(name, _)| !name.is_empty()));
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
    assert!(threads(own).contains(&own));
    assert!(family(own).first() == Some(&own));
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
