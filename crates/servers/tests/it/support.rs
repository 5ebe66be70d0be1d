//! A server role, and an origin whose connections stay.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read, Write, repeat};
use std::net::{SocketAddr, TcpStream};
use std::ops::{Deref, DerefMut};
use std::path::Path;
use std::process::Command;

use net::role::RoleOptions;
use records::{Arm, Micros, Session};
use serde_json::Value;
use servers::{Given, ServerOptions};
use tempfile::TempDir;
use testkit::{Process, body, listen, pick, read_head, until};

/// Answers `ok` to anything; with a fault, which it then has, to `/health` alone. It leaves its id and what it
/// was told in files. Told no port it listens where it likes, and on another that answers nothing.
pub(crate) const SERVER: &str = "\
#!/usr/bin/python3
import http.server, os, signal, socket, sys, time
fault = os.environ.get('FAULT')
class H(http.server.BaseHTTPRequestHandler):
    def log_message(self, *args):
        pass
    def do_GET(self):
        if fault == 'mute':
            time.sleep(600)
        self.send_response(200 if fault is None or self.path == '/health' else 404)
        self.send_header('Content-Length', '2')
        self.end_headers()
        self.wfile.write(b'ok')
if sys.argv[2:] == ['daemon']:
    # As daemon(3) does it, and once more.
    for _ in range(2):
        if os.fork():
            os._exit(0)
        os.setsid()
open('argv', 'w').write(repr(sys.argv[2:4]))
open('pid', 'w').write(str(os.getpid()))
if fault == 'dies':
    sys.exit('no module named app')
if fault == 'silent':
    print('waiting for a database', file=sys.stderr, flush=True)
    time.sleep(600)
if fault == 'deaf':
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
if fault == 'loud':
    for _ in range(1 << 14):
        print('x' * 0xffff)
if not sys.argv[1:]:
    mute = socket.create_server(('127.0.0.1', 0))
host, _, port = ''.join(sys.argv[1:2]).rpartition(':')
at = (host or '127.0.0.1', 0 if fault == 'elsewhere' else int(port or 0))
http.server.ThreadingHTTPServer(at, H).serve_forever()
";

/// The options of a role without an origin, of an arm of the defaults with `changes`.
pub(crate) fn asks(proxy: &str, changes: Value) -> ServerOptions {
    let mut arm = serde_json::to_value(Arm::default()).expect("finite numbers");
    (arm["proxy"], arm["trace"]) = (proxy.into(), "off".into());
    // The mirror's own, which would be asked of another.
    arm["rcvbuf"] = Value::Null;
    if let (Some(arm), Value::Object(changes)) = (arm.as_object_mut(), changes) {
        arm.extend(changes);
    }
    ServerOptions {
        arm: serde_json::from_value(arm).expect("an arm"),
        given: Given::default(),
        upstream: None,
        listen: ([127, 0, 0, 1], 0).into(),
        dir: "".into(),
        access_log: "".into(),
        hold: Micros(10_000),
        pin: None,
        role: RoleOptions::default(),
    }
}

/// A role that is up, and the directory it works in.
pub(crate) struct Server {
    process: Process,
    pub(crate) dir: TempDir,
}

impl Server {
    /// A server before an origin of ours.
    pub(crate) fn start(options: ServerOptions) -> Self {
        let dir = TempDir::new().expect("a directory");
        let options = ServerOptions { upstream: Some(origin()), ..options };
        let process = Process::start(&mut command(options, dir.path()));
        Self { process, dir }
    }

    /// Asks for `size` bytes, and waits for the line of that; returns our port and the body's length.
    pub(crate) fn fetch(&self, size: &str) -> (u16, usize) {
        let mut stream = self.connect();
        let port = stream.local_addr().expect("connected").port();
        request(&mut stream, size);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        assert!(answer.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&answer));
        self.await_logged(port);
        (port, body(&answer).len())
    }

    /// Waits until a request from that port is in the access log.
    pub(crate) fn await_logged(&self, port: u16) {
        let line = format!(" port={port} ");
        until("a line of the log", || self.file("access.log").contains(&line).then_some(()));
    }

    /// Has it end, and takes what it tells of sessions: one from each port.
    pub(crate) fn sessions(&mut self) -> BTreeMap<u16, Session> {
        let told = self.stop().ended_well().records();
        let mut sessions = BTreeMap::new();
        for session in told.into_iter().filter_map(pick!(Session)) {
            let twice = sessions.insert(session.client_port, session);
            assert_eq!(twice, None, "once each");
        }
        sessions
    }

    /// Every process of the program: the role's descendants.
    pub(crate) fn family(&self) -> Vec<u32> {
        testkit::family(self.id())
    }

    /// The workers' own processes, or their threads.
    pub(crate) fn workers(&self) -> impl Iterator<Item = u32> {
        self.ready.worker_tids.iter().map(|tid| u32::try_from(*tid).expect("an id"))
    }

    pub(crate) fn file(&self, name: &str) -> String {
        fs::read_to_string(self.dir.path().join(name)).unwrap_or_default()
    }
}

impl Deref for Server {
    type Target = Process;

    fn deref(&self) -> &Process {
        &self.process
    }
}

impl DerefMut for Server {
    fn deref_mut(&mut self) -> &mut Process {
        &mut self.process
    }
}

/// A role that works in `dir`, as a command does.
pub(crate) fn command(options: ServerOptions, dir: &Path) -> Command {
    let (dir, access_log) = (dir.to_owned(), dir.join("access.log"));
    let options = ServerOptions { dir, access_log, ..options };
    let mut command = Command::new(env!("CARGO_BIN_EXE_servers"));
    let text = serde_json::to_string(&options).expect("plain paths");
    command.args(["run", &text]).current_dir(&options.dir);
    command
}

pub(crate) fn request(stream: &mut TcpStream, size: &str) {
    let text =
        format!("GET /bytes/{size} HTTP/1.1\r\nHost: turnstile\r\nConnection: close\r\n\r\n");
    stream.write_all(text.as_bytes()).expect("the proxy reads");
}

/// An origin that answers `GET /bytes/<n>` with n bytes; unlike ours it lives in this process.
pub(crate) fn origin() -> SocketAddr {
    let (listener, addr) = listen();
    testkit::serve(listener, |_, stream| serve(stream));
    addr
}

fn serve(mut stream: TcpStream) {
    loop {
        let head = read_head(&stream);
        if head.is_empty() {
            return;
        }
        if head.contains("/bytes/never") {
            // Until the proxy gives up.
            let _ = stream.read(&mut [0]);
            return;
        }
        let size = head.split(['/', ' ']).nth(3).and_then(|n| n.parse().ok()).unwrap_or(0);
        let answer = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: a/b\r\ncontent-length: {size}\r\ndate: x\r\n\r\n"
        );
        if stream.write_all(answer.as_bytes()).is_err() {
            return;
        }
        if io::copy(&mut repeat(b'x').take(size), &mut stream).is_err() {
            return;
        }
        if head.contains("HTTP/1.0") || head.to_lowercase().contains("connection: close") {
            return;
        }
    }
}
