//! Foreign proxies in the mirror's place; the effect in nature, in nginx of two releases, where
//! `scripts/build-nginx.sh` has built them; and a server of one's own, without an origin: work of kinds that are
//! no download, a death under load, a stall by itself.

use std::fs;

use analysis::Analysis;
use records::RunRecords;
use records::{
    Cause, CaveatCode, Holder, Manifest, Outcome, Phase, Record, Role, Side, Summary, Verdict,
    Visibility,
};
use rustix::fs::{CWD, Mode, mkfifoat};
use testkit::{NEVER_POLLS, Process, free_addr, is_root, script, skip};

use crate::support::{
    Running, Runs, Said, family, in_turn, installed, is_gone, note, say, share, summary, those_of,
    turnstile,
};

/// What is left of a trial that ended well.
struct Done {
    runs: Runs,
    summary: Summary,
    manifest: Manifest,
}

/// Whether other work on this host had the workers' CPUs.
fn is_busy(summary: &Summary) -> bool {
    summary.caveats.iter().any(|caveat| caveat.code == CaveatCode::BusyHost)
}

/// Runs a trial to its end, and once more or twice where other work on this host spoils it.
fn trial(more: &[&str]) -> Done {
    let mut attempt = 1;
    loop {
        let done = once(more);
        let Summary { idle, measure, verdict, verdict_reasons, .. } = &done.summary;
        let proves = *verdict != Verdict::Inconclusive;
        // What is left to look at at last does not depend on it.
        if idle.outcomes.failed() + measure.outcomes.failed() == 0 && (proves || attempt == 3) {
            if !proves {
                note(&format!("this host has other work: {verdict_reasons:?}"));
            }
            return done;
        }
        assert!(is_busy(&done.summary) && attempt < 3, "{more:?}, {attempt}: {verdict_reasons:?}");
        attempt += 1;
    }
}

/// Runs a trial to its end, and looks for what it leaves behind.
fn once(more: &[&str]) -> Done {
    let runs = Runs::new();
    let mut running = Running::start(runs.trial(more).arg("--json"));
    runs.await_phase(&mut running, Phase::Measure);
    let all = family(running.id());
    let run = running.finish();
    assert_eq!(run.code(), Some(0), "{more:?}: {}", run.stderr);
    let left: Vec<_> = all.iter().filter(|pid| !is_gone(**pid)).collect();
    assert!(all.len() >= 3 && left.is_empty(), "of {all:?} are left {left:?}");
    assert_eq!(those_of(runs.path()), []);
    Done { summary: summary(&run), manifest: runs.records().manifest, runs }
}

/// A proxy with a driver does the usual trial as the mirror would.
fn relays(kind: &str, configuration: &str) {
    let Done { runs, manifest, summary } = trial(&["--proxy", kind]);
    let program = manifest.program.as_ref().expect("a program");
    assert_eq!((program.name.as_str(), summary.program.as_ref()), (kind, Some(program)));
    let seen = manifest.visibility;
    assert!(seen != Visibility::Own && seen != Visibility::ClientsOnly, "{kind}: {seen:?}");
    assert_eq!((manifest.faults.len(), seen), (0, summary.visibility));
    assert!(summary.slow.bytes.0 > 0 && summary.slow.broken == 0, "{:?}", summary.slow);
    assert!(summary.proxy.cpu_us.is_some_and(|used| used.0 > 0), "{kind} used CPU");
    // Every fetch under load has its line with the answer that it got; our own probes have none.
    let attempts = summary.measure.attempts;
    let counts: Vec<_> = summary.proxy.status_counts.clone().into_iter().collect();
    assert_eq!(counts, [(200, attempts)], "{kind}");
    assert!(attempts >= 20, "{attempts}");
    // A reader can run it by hand.
    let dir = runs.dir().expect("a run");
    let text = fs::read_to_string(dir.join("proxy").join(configuration)).expect("its file");
    assert!(text.contains("127.0.0.1:"), "{text}");
    let report = say(turnstile().args(["report", "-v"]).arg(dir));
    assert!(report.stdout.contains(&*program.path.display().to_string()), "{}", report.stdout);
}

#[test]
fn each_takes_the_mirrors_place() {
    for (kind, program, configuration) in [
        ("nginx", "nginx", "nginx.conf"),
        ("haproxy", "haproxy", "haproxy.cfg"),
        ("caddy", "caddy", "Caddyfile"),
        ("apache", "apache2", "apache.conf"),
        ("h2o", "h2o", "h2o.yaml"),
    ] {
        let _turn = in_turn();
        if installed(program) {
            relays(kind, configuration);
        }
    }
}

#[test]
fn a_command_that_dies_is_the_proxys_fault_and_orders_no_terminal_about() {
    let _turn = in_turn();
    let runs = Runs::new();
    let says = r#"printf "\033]0;mine\007\033[2Jno luck\n" >&2; exit 7"#;
    let run = say(&mut runs.trial(&["--server", &format!("sh -c '{says}' {{listen}}")]));
    assert_eq!(run.code(), Some(1), "{}", run.stderr);
    assert!(run.stderr.contains("its last words: ]0;mine[2Jno luck"), "{}", run.stderr);
    assert!(run.stdout.starts_with("INCONCLUSIVE"), "{}", run.stdout);
    assert!(!run.stdout.contains("it told of itself"), "it told of nothing: {}", run.stdout);
    assert!(!(run.stderr + &run.stdout).contains(['\u{1b}', '\u{7}']));
    assert_eq!(those_of(runs.path()), []);
}

#[test]
fn one_that_runs_already_is_left_as_it_is() {
    let _turn = in_turn();
    // Nobody but us looks for a port in these milliseconds.
    let origin = free_addr().to_string();
    let fair = ["--read-policy", "fionread"];
    let words = ["proxy", "--listen", "127.0.0.1:0", "--upstream", &origin];
    let mut proxy = Process::start(turnstile().args(words).args(fair));

    let at = format!("url:{}", proxy.addr());
    let Done { runs, manifest, summary, .. } = trial(&["--proxy", &at, "--origin-listen", &origin]);
    assert_eq!((manifest.program, manifest.visibility), (None, Visibility::ClientsOnly));
    assert!(manifest.processes.iter().all(|process| process.role != Role::Proxy));
    assert_eq!(summary.proxy.workers.len(), 0);
    let report = say(turnstile().args(["report", "-v"]).arg(runs.dir().expect("a run")));
    assert!(report.stdout.contains("its workers were seen by clients alone"), "{}", report.stdout);
    assert!(!report.stdout.contains("0 logged as 200"), "there is no log: {}", report.stdout);
    assert!(report.stdout.contains("log       none that we could read"), "{}", report.stdout);
    assert!(!report.stdout.contains("what their clients saw"), "no table: {}", report.stdout);
    // Nobody asked the kernel about workers that nobody knows.
    let hidden = &summary.late.hidden;
    let clients = "of this proxy only its clients tell";
    let by_workers = hidden.iter().filter(|hidden| hidden.cause != Cause::BacklogOverflow);
    assert!(by_workers.clone().count() == 8, "{hidden:?}");
    assert!(by_workers.clone().all(|hidden| hidden.reason == clients), "{hidden:?}");
    assert!(!is_gone(proxy.id()), "it is not ours to end");
    let relayed =
        |record: &Record| matches!(record, Record::Session(session) if session.status == 200);
    assert!(proxy.stop().records().iter().any(relayed), "it did relay");
}

/// A server that is inside one step from the first byte of a download to the end of the run: nobody
/// accepts a fetch, and it is known who would have.
#[test]
fn a_server_that_never_polls_again_is_held_by_its_download() {
    let _turn = in_turn();
    if !installed("python3") || !is_root("a trace") {
        return;
    }
    let runs = Runs::new();
    let command = format!("exec:python3 {NEVER_POLLS} {{listen}}");
    let words = ["--proxy", &command, "--slow=1", "--slow-size=4GiB", "--trace=probe", "--json"];
    let run = say(&mut runs.trial(&words)).ended_well();
    let (summary, records) = (summary(&run), runs.records());

    let quiet = !is_busy(&summary);
    let reasons = &summary.verdict_reasons;
    assert!(!quiet || summary.verdict == Verdict::Starved, "{reasons:?}");
    assert_eq!(summary.measure.outcomes.count(Outcome::Ok), 0, "{:?}", summary.measure.outcomes);
    // On a busy host it is held, and without a CPU while it is held.
    let held = share(&summary, Cause::HeldByStep);
    let known = held + share(&summary, Cause::OffCpuRunnable);
    assert!(known > 0.8 && held > 0.2, "{:?}", summary.causes);
    if quiet {
        assert_eq!(summary.causes[0].cause, Cause::HeldByStep, "{:?}", summary.causes);
    }
    let port = records.dialed.last().expect("a download").client_port;
    let hold = records.holds.iter().max_by_key(|hold| hold.length_us()).expect("a hold");
    assert_eq!(hold.client_port, port, "{hold:?}");
    let [worker] = summary.proxy.workers.as_slice() else { panic!("{:?}", summary.proxy) };
    assert_eq!(worker.longest_step_us, hold.length_us().0);
    assert!(hold.length_us() >= records.manifest.measure_us, "{hold:?}");
    let longest = records.holds.iter().position(|other| other == hold).expect("it is one");
    assert_eq!(Analysis::of(&records).holder(longest), Some(Holder::Download(0)));
}

/// A log that nobody reads is told at once, and not as a proxy that was not ready in time.
#[test]
fn a_log_that_nobody_reads_is_named() {
    let _turn = in_turn();
    let runs = Runs::new();
    let fifo = tempfile::tempdir().expect("a directory");
    let path = fifo.path().join("log");
    mkfifoat(CWD, &path, Mode::RUSR | Mode::WUSR).expect("a FIFO");
    let mut trial = runs.trial(&[]);
    let said = say(trial.arg("--access-log").arg(&path));
    assert!(said.all().contains("it is a FIFO that nobody reads"), "{}", said.all());
    assert!(!said.all().contains("was not ready"), "{}", said.all());
}

/// For trials whose end alone is looked at: a tracer takes seconds to come and to go.
const UNTRACED: &str = "--trace=off";

/// The last release that reads for as long as there is something, and the first that does not.
const RELEASES: [&str; 2] = ["1.17.4", "1.17.5"];

#[test]
fn nginx_starved_until_1_17_5() {
    let _turn = in_turn();
    let own = assert_cmd::cargo::cargo_bin!("turnstile");
    let target = own.ancestors().nth(2).expect("the directory of builds").join("nginx");
    let builds = RELEASES.map(|release| target.join(release).join("nginx"));
    if !builds.iter().all(|build| build.is_file()) {
        return skip(format_args!("first: scripts/build-nginx.sh {}", RELEASES.join(" ")));
    }
    // What else runs on this host decides nothing here: it may take three trials.
    for _ in 0..3 {
        let [before, since] = builds.each_ref().map(|build| {
            let (runs, build) = (Runs::new(), build.display().to_string());
            let words = ["--proxy", "nginx", "--proxy-bin", &build, "--reuseport", "--slow=4"];
            let more = ["--json", "--duration=1500ms", UNTRACED];
            summary(&say(runs.trial(&words).args(more)).ended_well())
        });
        if [&before, &since].iter().any(|of| of.verdict == Verdict::Inconclusive) {
            continue;
        }
        assert_eq!(before.verdict, Verdict::Starved, "{:?}", before.verdict_reasons);
        assert_ne!(since.verdict, Verdict::Starved, "{:?}", since.verdict_reasons);
        let [before, since] = [before, since].map(|of| of.measure.outcomes.failed());
        assert!(before >= 5 && since == 0, "failed: {before} and {since}");
        return;
    }
    skip("others keep this host's CPUs busy");
}

/// One thread, one request at a time; with STALL it stands still so long every other second.
const SERVER: &str = "\
#!/usr/bin/python3
import http.server, os, sys, time
STALL = float(os.environ.get('STALL', 0))
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
class S(http.server.HTTPServer):
    request_queue_size = 128
    stalled = time.monotonic()
    def service_actions(self):
        if STALL and time.monotonic() > self.stalled + 1:
            time.sleep(STALL)
            self.stalled = time.monotonic()
S(('127.0.0.1', int(os.environ['PORT'])), H).serve_forever()
";

/// A trial of that server without an origin, whose slow requests are `slow`, to its end.
fn own(slow: &str, more: &[&str]) -> (Runs, Said) {
    let dir = tempfile::tempdir().expect("a directory");
    let program = script(dir.path(), "server.py", SERVER).display().to_string();
    let runs = Runs::new();
    let words = ["--server", &program, "--env", "PORT={port}", "--fetch-path", "/health", "--json"];
    let run = say(runs.trial(&words).args(["--slow=2", "--slow-path", slow]).args(more));
    runs.assert_nobody_left();
    (runs, run)
}

#[test]
fn what_computes_or_takes_an_upload_holds_the_fetches_and_is_told() {
    let _turn = in_turn();
    if !installed("python3") {
        return;
    }
    let file = tempfile::NamedTempFile::new().expect("a file");
    file.as_file().set_len(16 << 20).expect("a sparse file");
    let upload = ["--slow-body", file.path().to_str().expect("a plain path")];
    for (slow, more, least) in [("/compute", &[][..], 0), ("PUT /up", &upload, 1 << 20)] {
        let (runs, run) = own(slow, more);
        let summary = summary(&run.ended_well());
        let RunRecords { manifest, holds, .. } = runs.records();
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
        if summary.visibility == Visibility::Traced {
            let largest = holds.iter().max_by_key(|hold| hold.end_ns.since(hold.start_ns));
            assert!(largest.is_some_and(|hold| hold.bytes.0 >= least), "{slow}: {largest:?}");
        }
    }
}

#[test]
fn one_that_dies_under_load_proves_nothing_and_is_quoted() {
    let _turn = in_turn();
    if !installed("python3") {
        return;
    }
    let (runs, run) = own("/die", &[]);
    assert_eq!(run.code(), Some(1), "{}", run.stderr);
    assert!(run.stderr.contains("exit status: 3"), "{}", run.stderr);
    assert!(run.stderr.contains("its last words: out of luck"), "{}", run.stderr);
    assert_eq!(summary(&run).verdict, Verdict::Inconclusive);
    let faults = runs.manifest().expect("a manifest").faults;
    let faults: Vec<_> = faults.iter().map(|fault| (fault.side, fault.phase)).collect();
    assert_eq!(faults, [(Side::Proxy, Phase::Load)], "{faults:?}");
    let output = runs.dir().expect("a run").join("proxy").join("output.log");
    assert_eq!(fs::read_to_string(output).expect("it is kept"), "out of luck\n");
}

#[test]
fn a_server_that_stalls_by_itself_proves_nothing_and_is_explained() {
    let _turn = in_turn();
    if !installed("python3") {
        return;
    }
    // A stall and a half in each phase.
    let lengths = ["--idle=3s", "--duration=500ms", "--arrivals=24/s", "--env", "STALL=0.8"];
    let (runs, run) = own("/health", &lengths);
    let summary = summary(&run.ended_well());

    assert_eq!(summary.verdict, Verdict::Inconclusive, "{:?}", summary.verdict_reasons);
    let says = "a server that stalls by itself is no baseline";
    let reasons = &summary.verdict_reasons;
    assert!(reasons.iter().any(|reason| reason.ends_with(says)), "{reasons:?}");

    let late = &summary.late;
    assert_eq!(late.phase, Phase::Idle);
    // Those of the first 0.6 s of 0.8, at 24 a second.
    assert!((8..=40).contains(&late.fetches), "{late:?}");
    let first = summary.causes.first().expect("what the time went to").cause;
    // The summary's own is of the load.
    let visibility = runs.manifest().expect("a manifest").visibility;
    let explained = match visibility {
        Visibility::Traced => Cause::OffCpuBlocked,
        _ => Cause::Unexplained,
    };
    assert_eq!(first, explained, "{visibility:?}: {:?}", summary.causes);

    let told = say(turnstile().arg("explain").arg(runs.dir().expect("a run"))).ended_well();
    let says = format!("{} fetches without any load, which is no baseline", late.fetches);
    let text = told.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains(&says), "{}", told.stdout);
}
