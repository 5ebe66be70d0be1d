//! A server of the user's own: a small program in Python, and the file of the documentation, which describes
//! it.

use std::fs;

use records::{Bytes, SessionEnd, Visibility};
use serde_json::json;
use servers::{Given, ServerOptions};
use testkit::{await_gone, installed, script};

use crate::support::{Server, asks};

/// Answers `/bytes/N` with N bytes, as one thread with an epoll. Writes its log in the form that its
/// configuration has.
const PROGRAM: &str = "\
#!/usr/bin/python3
import selectors, shlex, socket, sys, time
if sys.argv[1:] == ['--version']:
    sys.exit('tiny/1.2.0 (a server)')
conf = dict(line.split(' ', 1) for line in open(sys.argv[1]).read().splitlines() if line)
file, form = shlex.split(conf['log'])
log = open(file, 'a')
host, port = conf['listen'].split(':')
listener = socket.create_server((host, int(port)), backlog=int(conf['backlog']))
poll = selectors.EpollSelector()
poll.register(listener, selectors.EVENT_READ)
while True:
    poll.select()
    stream, (host, port) = listener.accept()
    begin = time.time()
    with stream:
        request = stream.recv(65536).decode().split('\\r\\n')[0]
        size = int(request.split(' ')[1].rsplit('/', 1)[1])
        head = f'HTTP/1.1 200 OK\\r\\nContent-Length: {size}\\r\\nConnection: close\\r\\n\\r\\n'
        stream.sendall(head.encode() + b'x' * size)
    took = 1000 * (time.time() - begin)
    line = form
    for place, value in zip('apsbtder', [host, port, 200, size, begin, took, 'ok', request]):
        line = line.replace('%' + place, str(value))
    print(line, file=log, flush=True)
";

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/proxies.md");

#[test]
fn a_server_is_run_and_told_of_as_its_file_says() {
    if !installed("python3") {
        return;
    }
    let dir = tempfile::TempDir::new().expect("a directory");
    let program = script(dir.path(), "tiny.py", PROGRAM);
    let page = fs::read_to_string(PAGE).expect("the page");
    let text = page.split_once("```toml\n").and_then(|(_, rest)| rest.split_once("```"));
    let (text, _) = text.expect("an example");
    let (here, commands) = (format!("[\"{}\"]", program.display()), "[\"tiny\"]");
    assert!(text.contains(commands), "{text}");
    let file = dir.path().join("tiny.toml");
    fs::write(&file, text.replace(commands, &here)).expect("written");
    let given = Given { server_file: Some(file), ..Given::default() };
    let asked = asks("tiny", json!({"workers": 1, "backlog": 77}));
    let mut server = Server::start(ServerOptions { given, ..asked });
    let program = server.ready.program.clone().expect("it is named");
    assert_eq!((program.name.as_str(), program.version.as_str()), ("tiny", "tiny 1.2.0"));
    assert_eq!(server.ready.visibility, Visibility::LogOnly);
    assert_eq!(server.ready.worker_tids.len(), 1, "its one thread that polls");
    let queue = net::sock_diag::SockDiag::open().expect("the kernel").listeners(server.addr());
    assert!(queue.expect("it tells").iter().all(|queue| queue.limit == 77), "its configuration");

    let (port, body) = server.fetch("70000");
    assert_eq!(body, 70_000);
    let family = server.family();
    let session = server.sessions().remove(&port).expect("its session");
    await_gone(family);
    assert_eq!(session.request, "GET /bytes/70000 HTTP/1.1");
    assert_eq!((session.status, session.end), (200, SessionEnd::Completed));
    assert_eq!(session.body_bytes, Bytes(70_000));
    assert!(server.file("access.log").contains(" status=200 body_bytes_sent=70000 "));
    assert!(server.file("server.toml").contains("mark = \"tiny/\""), "the run says what it was");
}
