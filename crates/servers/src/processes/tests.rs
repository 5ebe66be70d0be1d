use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::time::Duration;

use super::*;

fn own() -> i32 {
    std::process::id().cast_signed()
}

#[test]
fn this_process_is_seen_with_its_threads_and_sockets() {
    let own = own();
    let threads = threads(own);
    let main = threads.iter().find(|thread| thread.tid == own).expect("the main thread");
    assert!(switches(main).is_some_and(|(name, count)| !name.is_empty() && count > 0));
    assert_eq!(threads.first().map(|thread| thread.tid), Some(own), "the oldest");
    assert_eq!(family(own).first().map(|stat| stat.pid), Some(own));
    assert!(!command_line(own).is_empty());
    let root = Pid::from_raw(own).expect("a pid");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let addr = listener.local_addr().expect("bound");
    let client = TcpStream::connect(addr).expect("it accepts");
    let from = client.local_addr().expect("connected");
    let (_accepted, _) = listener.accept().expect("a connection");
    let (inodes, socket) = listening(root, addr).expect("the kernel tells");
    assert_eq!(inodes.len(), 1);
    let borrowed = socket.expect("ours to look at");
    assert!(borrowed.is_listener().expect("it tells"));
    let accepted = connected(root, from).expect("the other end");
    assert_eq!(accepted.local_addr().expect("bound").as_socket(), Some(addr));
}

#[test]
fn whatever_session_they_are_in_they_are_found_and_end() {
    // A shell, and two below it: one in a session of its own.
    let mut shell = Command::new("sh");
    shell.args(["-c", "setsid sleep 600 & sleep 600 & wait"]);
    let mut child = shell.spawn().expect("a shell");
    let root = child.id().cast_signed();
    let deadline = Instant::now() + Duration::from_secs(20);
    while living(root).len() < 2 {
        assert!(Instant::now() < deadline, "{:?}", living(root));
    }
    let found = living(root);
    assert!(!found.contains(&root), "{found:?}");
    for pid in &found {
        assert!(descends(*pid, root) && descends(*pid, own()), "{pid:?}");
        assert!(!descends(root, *pid));
    }
    let left = process::end_all(|| living(root), |pid| descends(pid, root), deadline);
    assert!(left.is_empty() && living(root).is_empty(), "{left:?}");
    assert!(child.wait().expect("our child").success(), "nobody is left to be waited for");
    assert!(!descends(1, own()) && descends(own(), own()));
}
