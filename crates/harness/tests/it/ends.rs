//! Ctrl-C, SIGTERM and SIGKILL: partial results, and nobody left; roles that die, and places that cannot be
//! written.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use records::{Manifest, Phase, Role, Side, Verdict};
use testkit::{Signal, await_gone};

use crate::support::{
    Running, Runs, SHORT, in_turn, is_gone, kill, pid_of, say, summary, turnstile,
};

/// What the documentation promises for the end of all children.
const PROMISED: Duration = Duration::from_secs(2);

fn interrupt(phase: Phase, more: &[&str], signal: Signal) -> Manifest {
    let _turn = in_turn();
    let runs = Runs::new();
    let mut command = runs.trial(&["--duration", "50s"]);
    let mut running = Running::start(command.args(more));
    runs.await_phase(&mut running, phase);
    running.signal(signal);
    let run = running.finish();

    assert_eq!(run.status.signal(), Some(signal.as_raw()), "{}", run.stderr);
    let manifest = runs.manifest().expect("a manifest");
    let name = if signal == Signal::INT { "SIGINT" } else { "SIGTERM" };
    assert_eq!(manifest.interrupted.as_deref(), Some(name));
    assert_eq!(manifest.faults, []);
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
    assert!(took < PROMISED, "children were gone after {took:?}");
    assert!(run.stdout.contains("INCONCLUSIVE"), "{}", run.stdout);
    assert!(runs.dir().expect("a run").join("summary.json").exists());
    runs.assert_nobody_left();
    manifest
}

#[test]
fn a_control_group_goes_with_its_run() {
    if !rustix::process::geteuid().is_root() {
        return testkit::skip("control groups need root");
    }
    let withheld = ["--reuseport", "--cpu-quota", "40", "--neighbours", "2"];
    let manifest = interrupt(Phase::Measure, &withheld, Signal::TERM);
    let proxy = manifest.processes.iter().find(|process| process.role == Role::Proxy);
    let command = proxy.expect("a proxy").command.join(" ");
    let (_, rest) = command.split_once("\"cgroup\":\"").expect("it was told its group");
    let (procs, _) = rest.split_once('"').expect("a path");
    let group = Path::new(procs).parent().expect("a directory");
    assert!(group.parent().is_some_and(Path::exists), "{}", group.display());
    assert!(!group.exists(), "{}", group.display());
}

#[test]
fn a_signal_cuts_a_trial_short_and_leaves_what_there_is() {
    interrupt(Phase::Setup, &[], Signal::INT);
    interrupt(Phase::Measure, &["--reuseport"], Signal::TERM);
}

#[test]
fn sigusr1_ends_a_phase_and_not_the_trial() {
    let _turn = in_turn();
    let runs = Runs::new();
    let mut running = Running::start(&mut runs.trial(&["--idle", "50s", "--duration", "50s"]));
    for phase in [Phase::Idle, Phase::Measure] {
        runs.await_phase(&mut running, phase);
        running.signal(Signal::USR1);
    }
    let run = running.finish().ended_well();
    let manifest = runs.manifest().expect("a manifest");
    assert_eq!((manifest.interrupted, manifest.faults), (None, Vec::new()));
    let phases: Vec<Phase> = manifest.phases.iter().map(|span| span.phase).collect();
    assert_eq!((phases.len(), phases.last()), (6, Some(&Phase::Teardown)), "{phases:?}");
    for span in &manifest.phases {
        let took = span.end_ns.expect("its own end").since(span.start_ns);
        assert!(took < Duration::from_secs(25), "{:?} took {took:?}", span.phase);
    }
    // Too few fetches for a conclusion, and that is what is said.
    assert!(run.stdout.contains("INCONCLUSIVE  only"), "{}", run.stdout);
    runs.assert_nobody_left();
}

#[test]
fn nobody_outlives_a_killed_harness() {
    let _turn = in_turn();
    let runs = Runs::new();
    let mut running = Running::start(&mut runs.trial(&["--duration", "50s", "--reuseport"]));
    let manifest = runs.await_phase(&mut running, Phase::Measure);
    assert!(!is_gone(pid_of(&manifest, Role::Proxy)), "it runs");
    running.signal(Signal::KILL);
    await_gone(manifest.processes.iter().map(|process| process.pid));
    assert_eq!(running.finish().status.signal(), Some(9));
}

/// Kills one role under load: the run proves nothing, says whose fault it was, and leaves nobody.
fn kill_in_measure(role: Role, side: Side) {
    let _turn = in_turn();
    let runs = Runs::new();
    // Longer than the test needs: what ends it is the death.
    let mut running = Running::start(&mut runs.trial(&["--duration", "50s", "--json"]));
    let manifest = runs.await_phase(&mut running, Phase::Measure);
    kill(pid_of(&manifest, role), Signal::KILL);
    let run = running.finish();

    assert_eq!(run.code(), Some(1), "{}", run.stderr);
    let says = format!("the {role} role ended unasked (signal: 9 (SIGKILL))");
    assert!(run.stderr.contains(&says), "{}", run.stderr);
    let summary = summary(&run);
    assert_eq!(summary.verdict, Verdict::Inconclusive);
    let reasons = summary.verdict_reasons;
    assert!(reasons[0].contains(&says) && reasons[0].contains("measure"), "{reasons:?}");

    let manifest = runs.manifest().expect("a manifest");
    assert_eq!(manifest.faults[0].side, side);
    assert_eq!(manifest.faults[0].phase, Phase::Measure);
    let phases = manifest.phases.iter().map(|span| (span.phase, span.end_ns.is_some()));
    let last: Vec<_> = phases.rev().take(2).collect();
    assert_eq!(last, [(Phase::Teardown, true), (Phase::Measure, false)]);
    runs.assert_nobody_left();
}

#[test]
fn a_dead_role_proves_nothing() {
    kill_in_measure(Role::Origin, Side::Origin);
    kill_in_measure(Role::Proxy, Side::Proxy);
    kill_in_measure(Role::Slow, Side::Slow);
    kill_in_measure(Role::Fast, Side::Fast);
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
