//! Programs of several threads, of which nobody knows how they work.

use records::Visibility;
use serde_json::json;
use tempfile::TempDir;
use testkit::{await_gone, installed, is_root, say, script};

use crate::support::{Server, asks, command};

/// What both have: a listener, and an answer of one byte to any request.
const BEGIN: &str = "\
#!/usr/bin/python3
import queue, select, socket, sys, threading
host, port = sys.argv[1].rsplit(':', 1)
listener = socket.create_server((host, int(port)), backlog=64)
def answer(stream):
    with stream:
        stream.recv(65536)
        stream.sendall(b'HTTP/1.1 200 OK\\r\\nContent-Length: 1\\r\\nConnection: close\\r\\n\\r\\nx')
";

/// The main thread polls and accepts; two others serve what it hands them.
const HANDS_ON: &str = "\
work = queue.SimpleQueue()
def serve():
    while True:
        answer(work.get())
for _ in range(2):
    threading.Thread(target=serve, daemon=True).start()
poll = select.epoll()
poll.register(listener, select.EPOLLIN)
while True:
    poll.poll()
    work.put(listener.accept()[0])
";

/// Two threads with a poll each serve what they accept; the main thread waits for their end.
const LOOPS: &str = "\
listener.setblocking(False)
def loop():
    poll = select.epoll()
    poll.register(listener, select.EPOLLIN)
    while True:
        poll.poll()
        try:
            stream = listener.accept()[0]
        except BlockingIOError:
            continue
        stream.setblocking(True)
        answer(stream)
threads = [threading.Thread(target=loop, daemon=True) for _ in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
";

/// The program, and the template that runs it.
fn program(rest: &str) -> (TempDir, String) {
    let dir = TempDir::new().expect("a directory");
    let file = script(dir.path(), "program.py", &format!("{BEGIN}{rest}"));
    (dir, format!("exec:{} {{listen}}", file.display()))
}

/// Seen all together, as one worker, or not at all.
#[test]
fn threads_that_hand_work_on_are_no_workers() {
    if !installed("python3") {
        return;
    }
    let (_file, template) = program(HANDS_ON);
    let mut server = Server::start(asks(&template, json!({"trace": "auto"})));
    let family = server.family();
    let (seen, workers) = (server.ready.visibility, server.ready.worker_tids.clone());
    let ended = server.stop().ended_well();
    if is_root("a trace of threads") {
        assert_eq!((seen, workers.len()), (Visibility::Threads, 1), "{}", ended.stderr);
        assert!(family.iter().any(|pid| i32::try_from(*pid) == Ok(workers[0])), "{workers:?}");
    } else {
        assert_eq!(seen, Visibility::ClientsOnly);
        assert!(ended.stderr.contains("hand work to each other"), "{}", ended.stderr);
    }
    await_gone(family);

    // What was asked for is not left out.
    let dir = TempDir::new().expect("a directory");
    let asked = asks(&template, json!({"trace": "sample"}));
    let said = say(&mut command(asked, dir.path())).refused(1);
    assert!(said.contains("hand work to each other") && said.contains("--trace off"), "{said}");
}

#[test]
fn threads_with_a_loop_each_are_all_workers() {
    if !installed("python3") {
        return;
    }
    let (_file, template) = program(LOOPS);
    let mut server = Server::start(asks(&template, json!({"trace": "sample"})));
    assert_eq!(server.ready.visibility, Visibility::Sampled);
    assert_eq!(server.ready.worker_tids.len(), 2, "{:?}", server.ready);
    let family = server.family();
    let is_main = |worker: u32| family.contains(&worker);
    assert!(!server.workers().any(is_main), "a main thread only waits: {:?}", server.ready);
    server.stop().ended_well();
}
