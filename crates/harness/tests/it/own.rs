//! A server of one's own, without an origin: work of kinds that are no download, and a death under load.

use std::path::PathBuf;

use records::{Cause, Phase, Role, Side, Summary, Verdict, Visibility};
use tempfile::TempDir;
use testkit::script;

use crate::support::{Runs, in_turn, installed, say};

/// One thread, one request at a time.
const SERVER: &str = "\
#!/usr/bin/python3
import http.server, os, sys, time
class H(http.server.BaseHTTPRequestHandler):
    def log_message(self, *args):
        pass
    def do_PUT(self):
        left = int(self.headers['Content-Length'])
        while left > 0:
            left -= len(self.rfile.read1(min(left, 1 << 16)))
        self.answer()
    def do_GET(self):
        if self.path == '/compute':
            until = time.process_time() + 0.1
            while time.process_time() < until:
                pass
        if self.path == '/die':
            sys.stderr.write('out of luck\\n')
            os._exit(3)
        self.answer()
    def answer(self):
        self.send_response(204)
        self.end_headers()
http.server.HTTPServer(('127.0.0.1', int(os.environ['PORT'])), H).serve_forever()
";

/// The server, in a directory of its own.
fn server() -> (TempDir, PathBuf) {
    let dir = TempDir::new().expect("a directory");
    let program = script(dir.path(), "server.py", SERVER);
    (dir, program)
}

fn words(slow: &str) -> [&str; 8] {
    ["--env", "PORT={port}", "--fetch-path", "/health", "--slow-path", slow, "--slow=2", "--json"]
}

#[test]
fn what_computes_or_takes_an_upload_holds_the_fetches_and_is_told() {
    if !installed("python3") {
        return;
    }
    let (dir, program) = server();
    let file = dir.path().join("big");
    std::fs::File::create(&file).and_then(|file| file.set_len(16 << 20)).expect("a sparse file");
    let upload = ["--slow-body", file.to_str().expect("a plain path")];
    for (slow, more, least) in [("/compute", &[][..], 0), ("PUT /up", &upload, 1 << 20)] {
        let _turn = in_turn();
        let runs = Runs::new();
        let command = ["--server", program.to_str().expect("a plain path")];
        let run = say(runs.trial(&command).args(words(slow)).args(more)).ended_well();
        let summary: Summary = serde_json::from_str(&run.stdout).expect("a summary");
        let manifest = runs.manifest().expect("a manifest");
        assert!(manifest.processes.iter().all(|process| process.role != Role::Origin), "{slow}");
        assert_eq!((manifest.faults.len(), manifest.workers), (0, Some(1)), "{slow}");
        assert!(summary.slow.completed > 0 && summary.slow.broken == 0, "{:?}", summary.slow);
        // Others on this host may be to blame for more; a step is seen whatever they do.
        if summary.visibility == Visibility::Traced && summary.verdict == Verdict::Starved {
            let held = summary.causes.iter().any(|share| share.cause == Cause::HeldByStep);
            assert!(held, "{slow}: {:?}", summary.causes);
            let longest = summary.proxy.workers.iter().map(|worker| worker.longest_step_us).max();
            assert!(longest.is_some_and(|step| step >= 50_000), "{slow}: {longest:?}");
        }
        let records = records::RunRecords::load(&runs.dir().expect("a run")).expect("whole");
        if summary.visibility == Visibility::Traced {
            let largest = records.holds.iter().max_by_key(|hold| hold.end_ns.since(hold.start_ns));
            assert!(largest.is_some_and(|hold| hold.bytes.0 >= least), "{slow}: {largest:?}");
        }
        runs.assert_nobody_left();
    }
}

#[test]
fn one_that_dies_under_load_proves_nothing_and_is_quoted() {
    if !installed("python3") {
        return;
    }
    let _turn = in_turn();
    let (_dir, program) = server();
    let runs = Runs::new();
    let command = ["--server", program.to_str().expect("a plain path")];
    let run = say(runs.trial(&command).args(words("/die")));
    assert_eq!(run.code(), Some(1), "{}", run.stderr);
    assert!(run.stderr.contains("exit status: 3"), "{}", run.stderr);
    assert!(run.stderr.contains("its last words: out of luck"), "{}", run.stderr);
    let summary: Summary = serde_json::from_str(&run.stdout).expect("a summary");
    assert_eq!(summary.verdict, Verdict::Inconclusive);
    let faults = runs.manifest().expect("a manifest").faults;
    let faults: Vec<_> = faults.iter().map(|fault| (fault.side, fault.phase)).collect();
    assert_eq!(faults, [(Side::Proxy, Phase::Load)], "{faults:?}");
    let output = runs.dir().expect("a run").join("proxy").join("output.log");
    assert_eq!(std::fs::read_to_string(output).expect("it is kept"), "out of luck\n");
    runs.assert_nobody_left();
}
