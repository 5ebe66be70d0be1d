//! Roles that die, and places that cannot be written.

use std::fs;
use std::process::Command;

use records::{Phase, Role, Side, Summary, Verdict};
use testkit::Signal;

use crate::support::{Running, Runs, SHORT, in_turn, kill, pid_of, say, turnstile};

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
    let summary: Summary = serde_json::from_str(&run.stdout).expect("a summary");
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
fn a_dead_origin_proves_nothing() {
    kill_in_measure(Role::Origin, Side::Origin);
}

#[test]
fn a_dead_proxy_proves_nothing() {
    kill_in_measure(Role::Proxy, Side::Proxy);
}

#[test]
fn a_dead_slow_client_proves_nothing() {
    kill_in_measure(Role::Slow, Side::Slow);
}

#[test]
fn a_dead_fast_client_proves_nothing() {
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
    let summary: Summary = serde_json::from_str(&report.stdout).expect("a summary");
    assert_eq!(summary.verdict, Verdict::Inconclusive);
    assert_eq!(runs.manifest().expect("a manifest").faults[0].side, Side::Host);
}
