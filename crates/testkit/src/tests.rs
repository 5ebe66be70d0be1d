//! What other tests rely upon, with a shell in the place of a role.

use std::os::unix::process::ExitStatusExt;
use std::process::Command;
use std::time::Duration;
use std::{env, fs};

use records::{Effective, Ready, Record, Role};

use super::*;
use crate::host::state;
use crate::wait::in_turn_by;

const MOMENT: Duration = Duration::from_millis(5);

fn shell(script: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", script]);
    command
}

/// Prints a ready line, then does as `script` says.
fn role(script: &str) -> Command {
    let ready = Ready::new(Role::Slow, 1, Effective::default());
    let line = Record::Ready(ready).to_line().expect("a line");
    shell(&format!("echo '{}'; {script}", line.trim_end()))
}

#[test]
#[should_panic(expected = "waited in vain for the end of \"sleep\" \"60\"")]
fn what_does_not_end_is_named() {
    Running::start(Command::new("sleep").arg("60")).finish_within(MOMENT);
}

#[test]
fn nobody_outlives_a_test_and_descendants_are_known() {
    let running = Running::start(&mut shell("sh -c 'sleep 60; :' & wait"));
    let all = until("three generations", || {
        let family = family(running.id());
        (family.len() == 2).then_some(family)
    });
    let id = running.id();
    assert!(all.iter().chain([&id]).all(|pid| !is_gone(*pid)), "they run");
    drop(running);
    assert_eq!(state(id), None, "killed and reaped");
    // Only who is ours ends with us.
    all.iter().for_each(|pid| kill(*pid, Signal::KILL));
    await_gone(all);
}

#[test]
fn half_a_line_of_a_process_that_was_killed_is_no_record() {
    let said = Process::start(&mut role("printf '{\"record\":'; kill -9 $$")).finish();
    assert_eq!((said.code(), said.records()), (None, vec![]));
}

/// This test again, in a process of its own with more variables, started by a shell after `first`.
fn again(test: &str, first: &str, vars: &[(&str, &str)]) -> Command {
    let mut command = shell(&format!("{first} exec \"$0\" \"$@\""));
    command.arg(env::current_exe().expect("this binary"));
    command.args(["--exact", &format!("tests::{test}"), "--nocapture"]);
    command.env(AGAIN, "1").env_remove("CI").envs(vars.iter().copied());
    command
}

const AGAIN: &str = "TURNSTILE_TEST_AGAIN";

fn is_again() -> bool {
    env::var_os(AGAIN).is_some()
}

#[test]
fn what_is_not_there_is_skipped_and_in_ci_it_is_a_failure() {
    const TEST: &str = "what_is_not_there_is_skipped_and_in_ci_it_is_a_failure";
    if is_again() {
        assert!(installed("sh") && !installed("no-such-program-as-this"));
        return;
    }
    for (ci, fails) in [(None, false), (Some(("CI", "true")), true), (Some(("CI", "")), false)] {
        let said = say(&mut again(TEST, "", ci.as_slice()));
        assert_eq!(said.status.success(), !fails, "{}", said.all());
        let word = if fails { "and in CI it must be" } else { "skipped: " };
        assert!(said.stderr.contains(word), "{}", said.all());
    }
}

#[test]
fn signals_that_the_tests_ignore_end_what_they_start() {
    const TEST: &str = "signals_that_the_tests_ignore_end_what_they_start";
    if is_again() {
        for signal in [Signal::HUP, Signal::INT, Signal::QUIT, Signal::TERM] {
            kill(std::process::id(), signal);
            let mut sleep = Running::start(Command::new("sleep").arg("60"));
            assert_eq!(sleep.end(signal).status.signal(), Some(signal.as_raw()));
            kill(std::process::id(), signal);
        }
        return;
    }
    // As of what a script starts by `nohup cargo test &`.
    say(&mut again(TEST, "trap '' HUP INT QUIT TERM;", &[])).ended_well();
}

#[test]
fn one_test_of_all_processes_has_its_turn() {
    const TEST: &str = "one_test_of_all_processes_has_its_turn";
    if is_again() {
        note("waits");
        let _turn = in_turn();
        return note("has it");
    }
    // A place of its own: the tests of others have their turns meanwhile.
    let dir = tempfile::tempdir().expect("a directory");
    let vars = [("TMPDIR", dir.path().to_str().expect("a plain path"))];
    let said_by = |process: &Running, word: &str| {
        while process.complaint().expect("it runs") != word {}
    };
    let ours = in_turn_by(dir.path());
    let mut waits = Running::start(&mut again(TEST, "", &vars));
    said_by(&waits, "waits");
    let line = format!("-> FLOCK  ADVISORY  WRITE {} ", waits.id());
    until("a test that waits for its turn", || {
        fs::read_to_string("/proc/locks").ok()?.contains(&line).then_some(())
    });
    // Who was lent a turn does not wait.
    let mut lent = again(TEST, "", &vars);
    ours.lend(&mut lent);
    say(&mut lent).ended_well();
    assert!(!waits.has_ended());
    drop(ours);
    said_by(&waits, "has it");
    waits.finish().ended_well();
}

#[test]
fn what_is_wrong_is_found() {
    let faulty = serde_json::json!({
        "schema_version": 2, "version": "0", "outcome": "fine", "exit_code": 0, "reasons": [],
        "arm": {"name": 1}, "rounds": {"wanted": 0, "conclusive": 0, "attempts": 1},
        "thresholds": {}, "records": "x",
        "trials": [{"trial": 1, "else": true, "dir": "x", "verdict": "healthy", "reason": "",
                    "figures": {"p99": {"about": 1.0}}}]
    });
    let faults = schema::faults(schema::CHECK, &faulty).join("\n");
    for place in [
        "$.schema_version: const",
        "$.outcome: enum",
        "$.reasons: minItems",
        "$.arm: required",
        "$.arm.name: type",
        "$.rounds.wanted: minimum",
        "$.thresholds: type",
        "$.trials[0].figures.p99.about: not in the schema",
        "$.trials[0].else: not in the schema",
    ] {
        assert!(faults.contains(place), "{place} is not among\n{faults}");
    }
}
