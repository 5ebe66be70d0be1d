//! A server of one's own that does not do what it should: each fault has its message, with the program's last
//! words, and leaves nothing running. What a server's role says when it cannot do what it should.

use std::fs;

use serde_json::{Value, json};
use servers::{Given, ServerOptions};
use tempfile::TempDir;
use testkit::{Process, await_gone, family, installed, listen, say, script};

use crate::proxies::each;
use crate::support::{asks, command, origin};

/// Answers `ok` to `/health` and 404 to anything else, unless it has the fault it is told.
const SERVER: &str = "\
#!/usr/bin/python3
import http.server, os, signal, sys, time
class H(http.server.BaseHTTPRequestHandler):
    def log_message(self, *args):
        pass
    def do_GET(self):
        if os.environ.get('FAULT') == 'mute':
            time.sleep(600)
        self.send_response(200 if self.path == '/health' else 404)
        self.send_header('Content-Length', '2')
        self.end_headers()
        self.wfile.write(b'ok')
open('pid', 'w').write(str(os.getpid()))
port, fault = int(sys.argv[1]), os.environ.get('FAULT')
if fault == 'dies':
    sys.exit('no module named app')
if fault == 'silent':
    print('waiting for a database', file=sys.stderr, flush=True)
    time.sleep(600)
if fault == 'elsewhere':
    port = 0
if fault == 'deaf':
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
if fault == 'loud':
    for _ in range(1 << 14):
        print('x' * 0xffff)
http.server.ThreadingHTTPServer(('127.0.0.1', port), H).serve_forever()
";

/// The program with that fault, asked for `/health` as fetches would be, with `changes`; and its directory.
fn server(fault: &str, changes: Value) -> (TempDir, std::process::Command) {
    let dir = TempDir::new().expect("a directory");
    let program = script(dir.path(), "server.py", SERVER);
    let mut asked = json!({
        "env": [format!("FAULT={fault}")], "fetch_path": "/health", "ready_within_us": 1_500_000,
    });
    if let (Some(asked), Value::Object(changes)) = (asked.as_object_mut(), changes) {
        asked.extend(changes);
    }
    let asked = asks(&format!("exec:{} {{port}}", program.display()), asked);
    let command = command(asked, dir.path());
    (dir, command)
}

#[test]
fn one_that_is_told_no_port_is_found_where_it_listens() {
    if !installed("python3") {
        return;
    }
    // Beside a port that answers nothing.
    let text = SERVER.replace("int(sys.argv[1])", "0").replace(
        "http.server.Threading",
        "import socket; mute = socket.create_server(('127.0.0.1', 0)); http.server.Threading",
    );
    let dir = TempDir::new().expect("a directory");
    let program = script(dir.path(), "server.py", &text);
    let asked = asks(&format!("exec:{}", program.display()), json!({"fetch_path": "/health"}));
    let mut process = Process::start(&mut command(asked, dir.path()));
    let family = family(process.id());
    process.stop().ended_well();
    await_gone(family);
}

#[test]
fn a_server_that_is_never_ready_is_told_with_what_keeps_it() {
    if !installed("python3") {
        return;
    }
    let none = || json!({});
    let cases: [(_, _, &[&str]); 6] = [
        ("silent", none(), &["ready within 1.5", "refused", "its last words: waiting for a data"]),
        ("elsewhere", none(), &["does not answer on", "it listens on 127.0.0.1:", "{port}"]),
        ("", json!({"ready_path": "/nothing"}), &["answered 404 to GET /nothing", "--ready-path"]),
        ("", json!({"fetch_path": null}), &["answered 404 to GET /bytes/1", "--fetch-path"]),
        ("mute", none(), &["server.py ready within", "does not answer on"]),
        ("dies", none(), &["it ended unasked (exit status: 1)", "words: no module named app"]),
    ];
    for (fault, changes, says) in cases {
        let (dir, mut command) = server(fault, changes);
        let said = say(&mut command).refused(1);
        let last = said.lines().last().unwrap_or_default();
        for part in says {
            assert!(last.contains(part), "{fault}: no {part:?} in {said}");
        }
        let pid = fs::read_to_string(dir.path().join("pid")).expect("it began");
        await_gone([pid.parse().expect("a number")]);
    }
}

#[test]
fn one_that_is_deaf_or_loud_is_served_and_ended() {
    if !installed("python3") {
        return;
    }
    for (fault, kept) in [("deaf", 0..=0), ("loud", 16 << 20..=17 << 20)] {
        let (dir, mut command) = server(fault, json!({"ready_within_us": 60_000_000}));
        let mut process = Process::start(&mut command);
        let family = family(process.id());
        assert!(!family.is_empty());
        process.stop().ended_well();
        await_gone(family);
        let output = fs::metadata(dir.path().join("output.log")).expect("it is kept").len();
        assert!(kept.contains(&output), "{fault}: {output} bytes");
    }
}

#[test]
fn what_cannot_be_is_a_matter_of_usage() {
    for (changes, says) in [
        (json!({"fetch_path": "POST /health"}), "--ready-path"),
        (json!({"proxy": "exec:./nowhere {port}"}), "./nowhere"),
        (json!({"server_dir": "/nowhere"}), "/nowhere"),
    ] {
        let (_dir, mut command) = server("", changes);
        let said = say(&mut command).refused(2);
        assert!(said.contains(says), "no {says:?} in {said}");
    }
}

#[test]
fn what_a_proxy_cannot_do_is_refused_by_its_name() {
    let (_taken, taken) = listen();
    let upstream = Some(origin());
    let asks = |proxy, changes| ServerOptions { upstream, ..asks(proxy, changes) };
    let nginx = || asks("nginx", json!({}));
    let given = Given { proxy_bin: Some("/none/nginx".into()), ..Given::default() };
    let nobody = "127.0.0.1:1".parse().ok();
    let bad = |proxy| asks(proxy, json!({"directives": ["no_such_thing on;"]}));
    for (asked, code, says) in [
        // A toggle that means nothing is a usage error.
        (asks("nginx", json!({"rcvbuf": 40_960})), 2, ["--rcvbuf 40960", "--netns"]),
        (ServerOptions { given, ..nginx() }, 2, ["/none/nginx", ""]),
        (ServerOptions { upstream: nobody, ..nginx() }, 1, ["answered 502", "127.0.0.1:1"]),
        (ServerOptions { listen: taken, ..nginx() }, 1, [&taken.to_string(), ""]),
        // In the program's own words.
        (bad("nginx"), 1, ["its last words", "no_such_thing"]),
        (bad("haproxy"), 1, ["its last words", "no_such_thing"]),
        (bad("apache"), 1, ["its last words", "no_such_thing"]),
    ] {
        each(&[asked.arm.server.kind.name()], |proxy| {
            let dir = TempDir::new().expect("a directory");
            let said = say(&mut command(asked.clone(), dir.path())).refused(code);
            let last = said.lines().last().unwrap_or_default();
            assert!(says.iter().all(|part| last.contains(part)), "{proxy}: no {says:?} in {said}");
        });
    }
}
