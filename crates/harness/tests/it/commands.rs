//! Everything but runs: help, usage errors, doctor, report, roles, completions, the manual.

use std::collections::BTreeSet;

use serde_json::{Map, Value};
use testkit::listen;

use crate::support::{Running, say, turnstile};

#[test]
fn help_is_complete() {
    let help = say(turnstile().arg("--help")).ended_well();
    assert!(help.stdout.lines().all(|line| line.chars().count() <= 100), "{}", help.stdout);
    insta::assert_snapshot!("help", help.stdout);
    let run = say(turnstile().args(["run", "--help"]));
    assert!(run.stdout.ends_with("2 usage.\n"), "{}", run.stdout);
}

/// What to test comes first, then the load; the rest is behind `--help`.
#[test]
fn the_short_help_fits_a_screen() {
    let help = say(turnstile().arg("-h").env("COLUMNS", "80"));
    let lines: Vec<&str> = help.stdout.lines().collect();
    assert!(lines.len() <= 50, "{} lines", lines.len());
    assert!(lines.iter().all(|line| line.chars().count() <= 80), "{}", help.stdout);
    insta::assert_snapshot!("short_help", help.stdout);
}

#[test]
fn every_command_has_examples() {
    for command in [
        "report",
        "demo",
        "who",
        "init",
        "doctor",
        "origin",
        "proxy",
        "slow",
        "fast",
        "completions",
        "man",
    ] {
        let help = say(turnstile().args([command, "--help"])).ended_well();
        assert!(
            help.stdout.contains(&format!("Examples:\n  turnstile {command}")),
            "{}",
            help.stdout
        );
    }
}

#[test]
fn bad_options_say_what_would_do() {
    for (words, says) in [
        ("--duration 1ms", "a phase has 100ms to 1h"),
        ("run --slow-size 2XB", "write it as 40960, 64KiB, 3MiB or 2GiB"),
        ("proxy", "--upstream"),
        ("slow nowhere", "write it as 127.0.0.1:8000"),
        ("nonsense", "unrecognized subcommand"),
        ("slow 192.0.2.1:80", "slow: 192.0.2.1:80 is not on this host: add --allow-remote"),
        ("fast 192.0.2.1:80", "fast: 192.0.2.1:80 is not on this host: add --allow-remote"),
        ("--proxy url:192.0.2.1:80", "url:192.0.2.1:80 is not on this host's loopback"),
        ("check --threshold p99<1s -- --proxy url:192.0.2.1:80", "not on this host's loopback"),
        ("--cpus proxy=0", "with --pin"),
    ] {
        let said = say(turnstile().args(words.split(' '))).refused(2);
        assert!(said.contains(says), "{words}: {said}");
    }
}

#[test]
fn a_busy_port_is_named() {
    let (_taken, addr) = listen();
    let addr = addr.to_string();
    for mode in [None, Some("--reuseport")] {
        let words = ["proxy", "--upstream", "127.0.0.1:9", "--listen", &addr];
        let said = say(turnstile().args(words).args(mode)).refused(1);
        assert!(said.contains(&format!("cannot listen on {addr}")), "{said}");
        assert!(said.contains("choose another port"), "{said}");
    }
}

#[test]
fn no_message_orders_a_terminal_about() {
    for (words, code) in [(["report", "no\u{1b}[2Jrun"], 1), (["case", "no\u{1b}[2Jcase"], 2)] {
        let said = say(turnstile().args(words)).refused(code);
        assert!(said.contains("[2J") && !said.contains('\u{1b}'), "{said:?}");
    }
}

#[test]
fn doctor_answers_every_question() {
    let said = say(turnstile().args(["doctor", "--json"])).ended_well();
    let findings: Vec<Map<String, Value>> = serde_json::from_str(&said.stdout).expect("JSON");
    let words = |key: &'static str| {
        findings.iter().map(move |finding| finding[key].as_str().expect("a word"))
    };
    let checks: Vec<_> = words("check").collect();
    insta::assert_snapshot!("doctor_checks", checks.join("\n"));
    let levels: BTreeSet<_> = words("level").collect();
    assert!(levels.is_subset(&BTreeSet::from(["ok", "note", "problem"])), "{levels:?}");
    assert!(words("finding").chain(words("meaning")).all(|text| !text.is_empty()));
}

#[test]
fn completions_and_the_manual_know_the_toggles() {
    for words in [["completions", "bash"].as_slice(), &["completions", "zsh"], &["man"]] {
        let said = say(turnstile().args(words)).ended_well();
        let text = said.stdout.replace("\\-", "-");
        for option in ["--reuseport", "--read-policy", "--slow-size", "--cap"] {
            assert!(text.contains(option), "{words:?} lacks {option}");
        }
    }
}

#[test]
fn a_reader_that_has_gone_is_no_error() {
    let said = Running::unheard(turnstile().args(["completions", "bash"])).finish();
    assert_eq!((said.code(), said.stderr.as_str()), (Some(0), ""));
}
