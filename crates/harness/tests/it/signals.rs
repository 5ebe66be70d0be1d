//! Ctrl-C, SIGTERM and SIGKILL: partial results, and nobody left.

use std::os::unix::process::ExitStatusExt;
use std::time::Duration;

use records::{Phase, Role};
use testkit::{Signal, await_gone};

use crate::support::{Running, Runs, in_turn, is_gone, pid_of};

/// What the documentation promises for the end of all children.
const PROMISED: Duration = Duration::from_secs(2);

fn interrupt(phase: Phase, more: &[&str], signal: Signal) {
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
    assert!(run.stdout.contains("inconclusive"), "{}", run.stdout);
    assert!(runs.dir().expect("a run").join("summary.json").exists());
    runs.assert_nobody_left();
}

#[test]
fn ctrl_c_at_once() {
    interrupt(Phase::Setup, &[], Signal::INT);
}

#[test]
fn ctrl_c_while_idle() {
    interrupt(Phase::Idle, &[], Signal::INT);
}

#[test]
fn ctrl_c_while_the_load_starts() {
    // A placement that takes long: all downloads on one of many workers.
    let far_fetched = ["--reuseport", "--workers", "64", "--slow", "200", "--place", "one-worker"];
    interrupt(Phase::Load, &far_fetched, Signal::INT);
}

#[test]
fn ctrl_c_under_load() {
    interrupt(Phase::Measure, &["--reuseport"], Signal::INT);
}

#[test]
fn sigterm_under_load() {
    interrupt(Phase::Measure, &[], Signal::TERM);
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
    let [Phase::Setup, Phase::Idle, Phase::Load, Phase::Measure, Phase::Drain, Phase::Teardown] =
        phases[..]
    else {
        panic!("{phases:?}");
    };
    for span in &manifest.phases {
        let took = span.end_ns.expect("its own end").since(span.start_ns);
        assert!(took < Duration::from_secs(25), "{:?} took {took:?}", span.phase);
    }
    // Too few fetches for a conclusion, and that is what is said.
    assert!(run.stdout.contains("inconclusive: only"), "{}", run.stdout);
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
