//! A peer process, the lines it prints, an origin, and a look at what is left of a program.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use records::{Ready, Record, Session};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;

/// Nothing here takes longer than this unless it hangs.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// An arm of the defaults, with `changes`.
pub(crate) fn arm(proxy: &str, changes: Value) -> String {
    let mut arm = json!({
        "reuseport": false, "rcvbuf": null, "sndbuf": null, "listen_rcvbuf": null,
        "listen_sndbuf": null, "workers": 2, "read_policy": "drain", "buffer": 4096,
        "backlog": 511, "multi_accept": false, "slow": 4, "slow_size": 1 << 20, "sink": "trunc",
        "read_rate": null, "place": "spread", "arrivals": "10/s", "fetch_size": 1 << 16,
        "cap_us": 1_000_000, "pin": "auto", "proxy": proxy, "trace": "off",
    });
    if let (Some(arm), Value::Object(changes)) = (arm.as_object_mut(), changes) {
        arm.extend(changes);
    }
    arm.to_string()
}

/// Whether `program` is installed; else says so.
pub(crate) fn installed(program: &str) -> bool {
    let found = ["/usr/sbin", "/usr/bin", "/usr/local/bin", "/usr/local/sbin"]
        .iter()
        .any(|dir| Path::new(dir).join(program).exists());
    if !found {
        let why = "is not installed (scripts/install-peers.sh)";
        writeln!(std::io::stderr(), "skipped: {program} {why}").expect("heard");
    }
    found
}

pub(crate) struct Peer {
    child: Child,
    lines: Receiver<Record>,
    pub(crate) ready: Ready,
    pub(crate) dir: TempDir,
}

impl Peer {
    /// A peer before an origin of ours, once it is ready.
    pub(crate) fn start(arm: &str, args: &[&str]) -> Self {
        Self::spawn(arm, args, Stdio::inherit())
    }

    /// The same, and what it says on its standard error.
    pub(crate) fn heard(arm: &str, args: &[&str]) -> (Self, ChildStderr) {
        let mut peer = Self::spawn(arm, args, Stdio::piped());
        let said = peer.child.stderr.take().expect("its errors");
        (peer, said)
    }

    fn spawn(arm: &str, args: &[&str], stderr: Stdio) -> Self {
        let dir = TempDir::new().expect("a directory");
        let mut child = command(arm, dir.path(), origin(), args)
            .stdout(Stdio::piped())
            .stderr(stderr)
            .spawn()
            .expect("a peer");
        let out = BufReader::new(child.stdout.take().expect("its output"));
        let (tell, lines) = channel();
        thread::spawn(move || {
            for line in out.lines().map_while(Result::ok) {
                let record = Record::from_line(&line).expect("every line is a record");
                if tell.send(record).is_err() {
                    break;
                }
            }
        });
        match lines.recv_timeout(PATIENCE) {
            Ok(Record::Ready(ready)) => Self { child, lines, ready, dir },
            other => panic!("not ready: {other:?}"),
        }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn addr(&self) -> SocketAddr {
        self.ready.listen.expect("a proxy listens")
    }

    /// Asks for `size` bytes; returns our port and the body's length.
    pub(crate) fn fetch(&self, size: &str) -> (u16, usize) {
        let mut stream = self.connect();
        let port = stream.local_addr().expect("connected").port();
        request(&mut stream, size);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        assert!(answer.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&answer));
        let head = answer.windows(4).position(|four| four == b"\r\n\r\n").expect("a head");
        (port, answer.len() - head - 4)
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.addr()).expect("the proxy accepts");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        stream
    }

    /// The session of the client at `port`.
    pub(crate) fn await_session(&self, port: u16) -> Session {
        let until = Instant::now() + PATIENCE;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(left).expect("the session is told in time") {
                Record::Session(session) if session.client_port == port => return session,
                _ => {}
            }
        }
    }

    /// Every process of the program: the peer's descendants.
    pub(crate) fn family(&self) -> Vec<i32> {
        let mut family = vec![i32::try_from(self.pid()).expect("a pid")];
        let mut next = 0;
        while let Some(parent) = family.get(next).copied() {
            family.extend(children(parent));
            next += 1;
        }
        family.remove(0);
        family
    }

    pub(crate) fn file(&self, name: &str) -> String {
        fs::read_to_string(self.dir.path().join(name)).unwrap_or_default()
    }

    /// Sends `signal`; returns how it ended and what it said until then.
    pub(crate) fn end(&mut self, with: Signal) -> (ExitStatus, Vec<Record>) {
        signal(self.pid(), with);
        self.wait()
    }

    /// Waits for its end; returns how it ended and what it said until then.
    pub(crate) fn wait(&mut self) -> (ExitStatus, Vec<Record>) {
        let status = self.child.wait().expect("it ends");
        (status, self.lines.iter().collect())
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn command(arm: &str, dir: &Path, upstream: SocketAddr, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_peer"));
    command.args(["--arm", arm, "--upstream", &upstream.to_string(), "--dir"]).arg(dir).args(args);
    command.stdin(Stdio::null());
    command
}

pub(crate) fn signal(pid: u32, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(pid).expect("a pid")).expect("a pid");
    kill_process(pid, signal).expect("our own child");
}

pub(crate) fn request(stream: &mut TcpStream, size: &str) {
    let text =
        format!("GET /bytes/{size} HTTP/1.1\r\nHost: turnstile\r\nConnection: close\r\n\r\n");
    stream.write_all(text.as_bytes()).expect("the proxy reads");
}

/// Asks again and again until it is so.
pub(crate) fn until(what: &str, is_so: impl Fn() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < deadline, "waited in vain for {what}");
        thread::yield_now();
    }
}

/// Waits until none of `pids` is alive; says which is.
pub(crate) fn await_gone(pids: &[i32]) {
    let until = Instant::now() + PATIENCE;
    loop {
        let left: Vec<_> = pids.iter().filter(|pid| is_alive(**pid)).collect();
        if left.is_empty() {
            return;
        }
        assert!(Instant::now() < until, "still alive: {left:?}");
        thread::yield_now();
    }
}

pub(crate) fn is_alive(pid: i32) -> bool {
    stat(pid).is_some_and(|(state, _)| !"ZX".contains(&state))
}

fn children(parent: i32) -> Vec<i32> {
    let all = fs::read_dir("/proc").expect("proc").flatten();
    all.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|pid| stat(*pid).is_some_and(|(_, of)| of == parent.to_string()))
        .collect()
}

/// State and parent.
fn stat(pid: i32) -> Option<(String, String)> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, rest) = text.rsplit_once(") ")?;
    let mut fields = rest.split(' ').map(str::to_owned);
    Some((fields.next()?, fields.next()?))
}

/// An origin that answers `GET /bytes/<n>` with n bytes; unlike ours it lives in this process.
pub(crate) fn origin() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let addr = listener.local_addr().expect("bound");
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            thread::spawn(move || serve(stream));
        }
    });
    addr
}

fn serve(mut stream: TcpStream) {
    let part = vec![b'x'; 64 * 1024];
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
        let mut left: usize = size;
        while left > 0 {
            let some = left.min(part.len());
            if stream.write_all(&part[..some]).is_err() {
                return;
            }
            left -= some;
        }
        if head.contains("HTTP/1.0") || head.to_lowercase().contains("connection: close") {
            return;
        }
    }
}

fn read_head(mut stream: &TcpStream) -> String {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|got| got > 0) {
        head.push(byte[0]);
    }
    String::from_utf8_lossy(&head).into_owned()
}

/// A path for a script of a test.
pub(crate) fn script(dir: &Path, name: &str, text: &str) -> PathBuf {
    use std::os::unix::fs::PermissionsExt;
    let path = dir.join(name);
    fs::write(&path, text).expect("written");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("executable");
    path
}
