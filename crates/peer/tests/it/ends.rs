//! However a peer ends, nothing of its program is left.

use std::io::Read;
use std::process::Stdio;

use records::Record;
use rustix::process::Signal;
use serde_json::json;

use crate::support::{
    PATIENCE, Peer, arm, await_gone, command, installed, origin, request, script, signal,
};

fn leaves_nothing(proxy: &str, with: Signal) {
    let mut peer = Peer::start(&arm(proxy, json!({})), &[]);
    // Sessions that are open do not hold it up.
    let mut stream = peer.connect();
    request(&mut stream, "900000000");
    stream.read_exact(&mut [0; 1000]).expect("it begins");
    let family = peer.family();
    assert!(!family.is_empty());
    peer.end(with);
    await_gone(&family);
}

#[test]
fn nginx_ends_with_its_peer() {
    if installed("nginx") {
        for with in [Signal::TERM, Signal::INT, Signal::KILL] {
            leaves_nothing("nginx", with);
        }
    }
}

#[test]
fn the_others_end_with_their_peer() {
    for (proxy, program) in
        [("haproxy", "haproxy"), ("caddy", "caddy"), ("apache", "apache2"), ("h2o", "h2o")]
    {
        if installed(program) {
            for with in [Signal::TERM, Signal::KILL] {
                leaves_nothing(proxy, with);
            }
        }
    }
}

#[test]
fn a_worker_that_hears_nothing_ends_as_well() {
    if installed("nginx") {
        let mut peer = Peer::start(&arm("nginx", json!({})), &[]);
        let family = peer.family();
        // A stopped process hears no SIGTERM, as one in a step without an end.
        for tid in &peer.ready.worker_tids {
            signal(u32::try_from(*tid).expect("a pid"), Signal::STOP);
        }
        let (status, _) = peer.end(Signal::TERM);
        assert!(status.success(), "{status}");
        await_gone(&family);
    }
}

#[test]
fn a_program_that_ends_unasked_ends_its_peer() {
    if installed("nginx") {
        let dir = tempfile::TempDir::new().expect("a directory");
        let mut child = command(&arm("nginx", json!({})), dir.path(), origin(), &[])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("a peer");
        let mut out = std::io::BufReader::new(child.stdout.take().expect("its output"));
        let mut line = String::new();
        std::io::BufRead::read_line(&mut out, &mut line).expect("a line");
        let Ok(Record::Ready(ready)) = Record::from_line(&line) else { panic!("{line}") };
        let worker = u32::try_from(ready.worker_tids[0]).expect("a pid");
        signal(worker, Signal::KILL);
        let output = child.wait_with_output().expect("it ends");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains("a worker of it ended unasked"), "{said}");
    }
}

/// Any command: a script that becomes nginx would do; here a tiny server of its own.
#[test]
fn a_command_is_run_with_its_places_filled_in() {
    if !installed("python3") {
        return;
    }
    let dir = tempfile::TempDir::new().expect("a directory");
    let server = script(
        dir.path(),
        "server.py",
        "#!/usr/bin/python3\n\
         import http.server, sys\n\
         class H(http.server.BaseHTTPRequestHandler):\n\
         \x20   def do_GET(self):\n\
         \x20       self.send_response(200)\n\
         \x20       self.send_header('Content-Length', '1')\n\
         \x20       self.end_headers()\n\
         \x20       self.wfile.write(b'x')\n\
         host, port = sys.argv[1].rsplit(':', 1)\n\
         assert sys.argv[2:4] == ['two words', '3'], sys.argv\n\
         http.server.ThreadingHTTPServer((host, int(port)), H).serve_forever()\n",
    );
    let template =
        format!("exec:{} {{listen}} 'two words' {{workers}} {{origin}}", server.display());
    let mut peer = Peer::start(&arm(&template, json!({"workers": 3})), &[]);
    assert_eq!(peer.ready.sight, records::Sight::ClientsOnly);
    assert_eq!(peer.ready.worker_tids.len(), 1, "its one thread that polls");
    let family = peer.family();
    peer.end(Signal::TERM);
    await_gone(&family);
    let _ = PATIENCE;
}
