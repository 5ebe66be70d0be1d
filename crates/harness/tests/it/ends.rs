//! Ctrl-C, SIGTERM and SIGKILL: partial results, and nobody left; roles and servers that die, and places that
//! cannot be written.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use records::{Manifest, Phase, Role, Side, Verdict};
use testkit::Signal;

use crate::support::{
    Running, Runs, SHORT, family, in_turn, installed, is_gone, is_root, kill, pid_of, say, summary,
    turnstile,
};

/// What the documentation promises for the end of all children.
const PROMISED: Duration = Duration::from_secs(2);
/// A trial that is longer than any test: what ends it is the signal.
const LONG: [&str; 2] = ["--duration", "50s"];
/// A tracer takes seconds to come and to go.
const NGINX: [&str; 3] = ["--proxy", "nginx", "--trace=off"];
/// One that has nobody to tell it to go.
const TRACED: [&str; 2] = ["--proxy", "nginx"];

/// Ends a trial of these options by `signal` in `phase`: whatever the end, nobody is left; who may tell what
/// there is, tells it. What its manifest says at the end.
fn cut_short(options: &[&str], phase: Phase, signal: Signal) -> Manifest {
    let _turn = in_turn();
    let runs = Runs::new();
    let mut running = Running::start(runs.trial(&LONG).args(options));
    let began = runs.await_phase(&mut running, phase);
    let all = family(running.id());
    let masters = if options.contains(&"nginx") { 3 } else { 0 };
    let named = all.iter().filter(|pid| is_named(**pid, "nginx")).count();
    assert!(named >= masters, "a master and two workers: {all:?}");
    running.signal(signal);
    let run = running.finish();
    assert_eq!(run.status.signal(), Some(signal.as_raw()), "{}", run.stderr);
    runs.await_nobody(&all);
    assert!(began.processes.iter().all(|process| is_gone(process.pid)));

    let manifest = runs.manifest().expect("a manifest");
    let name = match signal {
        Signal::KILL => None,
        Signal::INT => Some("SIGINT"),
        _ => Some("SIGTERM"),
    };
    assert_eq!(manifest.interrupted.as_deref(), name);
    assert_eq!(manifest.faults, []);
    if name.is_none() {
        return manifest;
    }
    let phases: Vec<_> =
        manifest.phases.iter().map(|span| (span.phase, span.end_ns.is_some())).collect();
    let [.., (cut, false), (Phase::Teardown, true)] = phases.as_slice() else {
        panic!("no phase was cut short: {phases:?}");
    };
    // A setup is over in no time: the signal may well meet the next phase.
    assert!(*cut == phase || phase == Phase::Setup, "{phases:?}");
    assert!(phase == Phase::Setup || manifest.processes.len() > 2, "{:?}", manifest.processes);
    let teardown = manifest.phases.last().expect("a phase");
    let took = teardown.end_ns.expect("its end").since(teardown.start_ns);
    assert!(took < PROMISED || masters > 0, "children were gone after {took:?}");
    assert!(run.stdout.contains("INCONCLUSIVE"), "{}", run.stdout);
    assert!(masters == 0 || run.stdout.contains("\nserver    nginx"), "{}", run.stdout);
    assert!(runs.dir().expect("a run").join("summary.json").exists());
    manifest
}

fn is_named(pid: u32, name: &str) -> bool {
    let comm = Path::new("/proc").join(pid.to_string()).join("comm");
    fs::read_to_string(comm).is_ok_and(|comm| comm.trim_end() == name)
}

#[test]
fn a_signal_cuts_a_trial_short_and_nobody_outlives_it() {
    cut_short(&[], Phase::Setup, Signal::INT);
    cut_short(&["--reuseport"], Phase::Measure, Signal::TERM);
    cut_short(&["--reuseport"], Phase::Measure, Signal::KILL);
    if installed("nginx") {
        cut_short(&NGINX, Phase::Measure, Signal::TERM);
        cut_short(&TRACED, Phase::Measure, Signal::KILL);
    }
}

#[test]
fn a_control_group_goes_with_its_run() {
    if !is_root("a control group") {
        return;
    }
    let withheld = ["--reuseport", "--cpu-quota", "40", "--neighbours", "2"];
    let manifest = cut_short(&withheld, Phase::Measure, Signal::TERM);
    let proxy = manifest.processes.iter().find(|process| process.role == Role::Proxy);
    let command = proxy.expect("a proxy").command.join(" ");
    let (_, rest) = command.split_once("\"cgroup\":\"").expect("it was told its group");
    let (procs, _) = rest.split_once('"').expect("a path");
    let group = Path::new(procs).parent().expect("a directory");
    assert!(group.parent().is_some_and(Path::exists), "{}", group.display());
    assert!(!group.exists(), "{}", group.display());
}

/// Kills one of a trial under load: the run proves nothing, says whose fault it was, and leaves nobody.
fn kill_under_load(options: &[&str], whom: Role, side: Side) {
    let _turn = in_turn();
    let runs = Runs::new();
    let mut running = Running::start(runs.trial(&LONG).arg("--json").args(options));
    let manifest = runs.await_phase(&mut running, Phase::Measure);
    let all = family(running.id());
    // Of nginx a worker: its master would start another, which would have been under no load.
    let worker = all.iter().copied().filter(|pid| is_named(*pid, "nginx")).max();
    kill(worker.unwrap_or_else(|| pid_of(&manifest, whom)), Signal::KILL);
    let run = running.finish();

    assert_eq!(run.code(), Some(1), "{}", run.stderr);
    let summary = summary(&run);
    assert_eq!(summary.verdict, Verdict::Inconclusive);
    if worker.is_none() {
        let says = format!("the {whom} role ended unasked (signal: 9 (SIGKILL))");
        assert!(run.stderr.contains(&says), "{}", run.stderr);
        let reasons = summary.verdict_reasons;
        assert!(reasons[0].contains(&says) && reasons[0].contains("measure"), "{reasons:?}");
    }
    let manifest = runs.manifest().expect("a manifest");
    assert_eq!((manifest.faults[0].side, manifest.faults[0].phase), (side, Phase::Measure));
    let phases = manifest.phases.iter().map(|span| (span.phase, span.end_ns.is_some()));
    let last: Vec<_> = phases.rev().take(2).collect();
    assert_eq!(last, [(Phase::Teardown, true), (Phase::Measure, false)]);
    runs.await_nobody(&all);
}

#[test]
fn a_dead_role_proves_nothing() {
    kill_under_load(&[], Role::Origin, Side::Origin);
    kill_under_load(&[], Role::Proxy, Side::Proxy);
    kill_under_load(&[], Role::Slow, Side::Slow);
    kill_under_load(&[], Role::Fast, Side::Fast);
    if installed("nginx") {
        kill_under_load(&NGINX, Role::Proxy, Side::Proxy);
    }
}

#[test]
fn a_runs_directory_that_cannot_be_made_is_named() {
    // Nobody may make a directory in /proc, not even root.
    let mut command = turnstile();
    command.args(SHORT).args(["--runs-dir", "/proc/turnstile/runs"]);
    let said = say(&mut command).refused(1);
    for part in ["/proc/turnstile/runs", "--runs-dir"] {
        assert!(said.contains(part), "{said}");
    }
}

#[test]
fn a_disk_that_fills_up_ends_the_run_with_whole_records() {
    let _turn = in_turn();
    let runs = Runs::new();
    // The next best thing to a full disk for who may not mount one: no file may grow beyond some
    // KiB, and the signal that tells of it is ignored, so that write(2) fails (EFBIG).
    let limited = "trap '' XFSZ; ulimit -f 24; exec \"$0\" \"$@\"";
    let mut command = Command::new("sh");
    let trial = runs.trial(&["--arrivals", "200/s", "--fetch-size", "1KiB", "--slow", "0"]);
    command.args(["-c", limited]).arg(trial.get_program()).args(trial.get_args());
    let said = say(&mut command).refused(1);

    let dir = runs.dir().expect("a run directory");
    for part in [&*dir.display().to_string(), "make room", "--runs-dir"] {
        assert!(said.contains(part), "{said}");
    }
    for entry in fs::read_dir(&dir).expect("read_dir") {
        let path = entry.expect("entry").path();
        assert_ne!(path.extension(), Some("part".as_ref()), "half a document stays");
        if path.extension() == Some("ndjson".as_ref()) {
            let text = fs::read_to_string(&path).expect("read");
            assert!(text.is_empty() || text.ends_with('\n'), "{} is torn", path.display());
        }
    }
    runs.assert_nobody_left();
    // What is there can be read, and is not taken for a whole run.
    let report = say(turnstile().args(["report", "--json"]).arg(&dir));
    assert_eq!(summary(&report).verdict, Verdict::Inconclusive);
    assert_eq!(runs.manifest().expect("a manifest").faults[0].side, Side::Host);
}
