//! What a check ends with: refused before any trial, inconclusive, cut short, breached, each with the code
//! that is documented and in every form of output. That an unfair proxy turns it red, and a fair one does not, the
//! examples of the documentation show (`docs`).

use std::fs;
use std::os::unix::process::ExitStatusExt;

use serde_json::Value;
use testkit::{Running, Signal, schema};

use crate::ci::{GATE, Place, Proxy, busy, in_turn, say};
use crate::support::document;

/// The message of a check with these options, refused with that code before any trial.
fn refused(place: &Place, words: &str, code: i32) -> String {
    let words = words.split(' ').filter(|word| !word.is_empty());
    let said = say(place.command("turnstile").arg("check").args(words)).refused(code);
    assert!(!place.path().join("runs").exists(), "{said}");
    said
}

#[test]
fn a_baseline_that_is_not_there_is_twelve_and_a_file_that_is_none_is_two() {
    let place = Place::new(Proxy::Fair);
    let said = refused(&place, "--baseline base.json", 12);
    assert!(said.contains("there is no baseline base.json"), "{said}");
    for (text, says) in [
        ("", "is empty"),
        ("{\"schema_version\": 1, \"verdict\": \"healthy\"}", "is no baseline, or torn"),
        ("{\"kind\": \"turnstile baseline\", \"schema_ver", "is no baseline, or torn"),
        ("[1, 2]", "is no baseline, or torn"),
    ] {
        fs::write(place.path().join("base.json"), text).expect("write");
        let said = refused(&place, "--baseline base.json", 2);
        assert!(said.contains(says), "{text:?}: {said}");
    }
}

#[test]
fn what_a_proxy_does_not_show_is_eleven() {
    let _turn = in_turn();
    let place = Place::new(Proxy::Fair);
    let gate = "--threshold longest_step<10ms --threshold early_closes<=0 --attempts 1";
    let said = say(&mut place.check(gate));
    assert_eq!(said.code(), Some(11), "{}", said.all());
    // A proxy without a log is not one without early closes.
    for threshold in ["longest_step<10ms", "early_closes<=0"] {
        let line = said.stdout.lines().find(|line| line.starts_with(threshold));
        assert!(line.is_some_and(|line| line.ends_with("? unknown")), "{}", said.stdout);
    }
}

#[test]
fn a_run_that_proves_nothing_is_tried_again_and_eleven() {
    let _turn = in_turn();
    let place = Place::new(Proxy::Fair);
    // Too few fetches for a conclusion, whatever the host does.
    let few = ["--duration", "200ms"];
    let said = say(place.check("--threshold p99<1s --attempts 2").args(few));
    assert_eq!(said.code(), Some(11), "{}", said.all());
    assert!(said.stderr.contains("attempt 2"), "{}", said.stderr);
    assert!(said.stdout.contains("rounds      0 of 1 conclusive, 2 trials"), "{}", said.stdout);
    assert!(said.stdout.contains("trials are inconclusive; trial 2: only"), "{}", said.stdout);
}

/// SIGTERM in the second round: what was done is told, and the check dies by the signal.
#[test]
fn what_was_done_is_told() {
    let _turn = in_turn();
    let place = Place::new(Proxy::Fair);
    let mut check = Running::start(&mut place.check(&format!("{GATE} --rounds 5 --json")));
    let mut lines = std::iter::from_fn(|| check.complaint());
    assert!(lines.any(|line| line.starts_with("round 2/5")), "it ended before the second trial");
    let said = check.stop();
    assert_eq!(said.status.signal(), Some(Signal::TERM.as_raw()), "{}", said.all());
    let check: Value = serde_json::from_str(&said.stdout).expect("JSON");
    assert_eq!(check["interrupted"], "SIGTERM");
    assert_eq!(check["outcome"], "inconclusive");
    assert_eq!(check["trials"].as_array().map(Vec::len), Some(1), "{}", said.stdout);
    assert_eq!(schema::faults(schema::CHECK, &check), Vec::<String>::new());
}

#[test]
fn a_breach_is_told_in_every_form() {
    let _turn = in_turn();
    let place = Place::new(Proxy::Fair);
    // No fetch takes so little: whatever the host does, a conclusive run breaches it.
    let gate = "--threshold p50<1us --threshold failed_share<=1 --json --quiet --junit check.xml \
                --markdown check.md";
    let mut command = place.check(gate);
    let said = say(command.env("GITHUB_ACTIONS", "true").env("GITHUB_STEP_SUMMARY", "summary.md"));
    // A busy host proves nothing; that is told in the same forms.
    let (word, level, begins) = match said.code() {
        Some(10) => ("breached", "error", "p50<1us breached: "),
        Some(11) if busy(&said) => ("inconclusive", "warning", "p50<1us cannot be told: "),
        _ => panic!("{}", said.all()),
    };

    let check: Value = serde_json::from_str(&said.stdout).expect("nothing but JSON");
    assert_eq!(schema::faults(schema::CHECK, &check), Vec::<String>::new());
    assert_eq!(check["outcome"], word);
    assert_eq!(check["exit_code"].as_i64(), said.code().map(i64::from));
    let records = check["records"].as_str().expect("a directory");
    assert_eq!(Some(&check), document(&place.path().join(records).join("check.json")).as_ref());
    for trial in check["trials"].as_array().expect("trials") {
        let dir = trial["dir"].as_str().expect("a directory");
        assert!(place.path().join(records).join(dir).join("summary.json").is_file(), "{dir}");
    }

    let reasons = check["reasons"].as_array().expect("reasons");
    assert_eq!(said.stderr.lines().count(), reasons.len(), "{}", said.stderr);
    let annotation = format!("::{level} title=turnstile check%3A {word}::{begins}");
    assert!(said.stderr.starts_with(&annotation), "{}", said.stderr);
    let markdown = place.read("check.md");
    assert_eq!(place.read("summary.md"), markdown);
    assert!(markdown.contains("| p50<1us |"), "{markdown}");
    let junit = place.read("check.xml");
    assert!(junit.contains("tests=\"2\""), "{junit}");
    assert!(junit.contains(if word == "breached" { "<failure" } else { "<error" }), "{junit}");
}

#[test]
fn what_cannot_be_written_is_told_by_all_that_can() {
    let _turn = in_turn();
    let place = Place::new(Proxy::Fair);
    let gate = "--threshold failed_share<=1 --attempts 1 --json --quiet --junit /dev/full \
                --markdown check.md";
    let mut command = place.check(gate);
    let said = say(command.env("GITHUB_STEP_SUMMARY", "nowhere/summary.md"));
    // It is the same on a busy host, which proves nothing.
    assert_eq!(said.code(), Some(1), "{}", said.all());
    let check: Value = serde_json::from_str(&said.stdout).expect("nothing but JSON");
    assert_eq!(schema::faults(schema::CHECK, &check), Vec::<String>::new());
    assert_eq!(check["exit_code"], 1);
    let errors = check["errors"].as_array().expect("errors");
    assert_eq!(errors.len(), 1, "a step summary is no file that was asked for: {errors:?}");
    let error = errors[0].as_str().expect("words");
    assert!(error.starts_with("failed to write the JUnit report to /dev/full: "), "{error}");
    let records = check["records"].as_str().expect("a directory");
    assert_eq!(Some(&check), document(&place.path().join(records).join("check.json")).as_ref());
    assert!(place.read("check.md").contains(error), "{}", place.read("check.md"));
    assert!(said.stderr.contains(error), "{}", said.stderr);
    assert!(said.stderr.contains("failed to write the step summary"), "{}", said.stderr);
}
