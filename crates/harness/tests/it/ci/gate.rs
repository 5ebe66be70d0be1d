//! What a check ends with: refused before any trial, inconclusive, cut short, each with the code that is
//! documented. A foreign proxy whose fairness was removed turns the gate red, ten times of ten; the same with
//! it stays green. That it does so once, the examples of the documentation show (`docs`).

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::process::Command;

use serde_json::Value;
use testkit::{Running, Signal};

use crate::ci::support::{GATE, Place, Proxy, SHORT, conclusive, exec, in_turn, say};

fn refused(place: &Place, words: &[&str]) -> (Option<i32>, String) {
    let said = say(place.command("turnstile").arg("check").args(words));
    assert_eq!(said.stdout, "", "{words:?}: {}", said.all());
    assert!(!place.path().join("runs").exists(), "{words:?} began a trial");
    (said.code(), said.stderr)
}

#[test]
fn usage_is_two_and_says_what_would_do() {
    let place = Place::new(Proxy::Fair);
    for (words, says) in [
        (vec![], "nothing to check"),
        (vec!["--threshold", "p98<100ms"], "there is no figure \"p98\"; these are: failed_share"),
        (vec!["--threshold", "p99<100"], "a time, as 100ms"),
        (vec!["--threshold", "failed_share<=5ms"], "a share from 0 to 1"),
        (vec!["--threshold", "p99"], "write it as p99<100ms"),
        (vec!["--fail-on", "healthy"], "[possible values: starved, degraded]"),
        (vec!["--threshold", "p99<1s", "--rounds", "0"], "1..=1000"),
        (vec!["--threshold", "p99<1s", "--attempts", "0"], "1..=100"),
        (vec!["--save-baseline", "base.json", "--rounds", "2"], "3 rounds or more"),
        (vec!["--threshold", "p99<1s", "--cross-host"], "--baseline"),
        (
            vec!["--threshold", "p99<1s", "--junit", "nowhere/check.xml"],
            "--junit nowhere/check.xml",
        ),
        (vec!["--save-baseline", "/dev/null"], "--save-baseline /dev/null: it is no regular file"),
        (vec!["--save-baseline", "target"], "--save-baseline target: it is a directory"),
        (vec!["--threshold", "p99<1s", "--", "--rcvbuf", "much"], "--rcvbuf"),
        (vec!["--threshold", "p99<1s", "--", "--json"], "unexpected argument '--json'"),
        (vec!["--threshold", "p99<1s", "--", "--proxy", "exec:./none --on {listen}"], "none"),
    ] {
        let (code, stderr) = refused(&place, &words);
        assert_eq!(code, Some(2), "{words:?}: {stderr}");
        assert!(stderr.contains(says), "{words:?}: {stderr}");
    }
}

#[test]
fn a_baseline_that_is_not_there_is_twelve() {
    let place = Place::new(Proxy::Fair);
    let (code, stderr) = refused(&place, &["--baseline", "none.json"]);
    assert_eq!(code, Some(12), "{stderr}");
    assert!(stderr.contains("there is no baseline none.json"), "{stderr}");
}

#[test]
fn a_file_that_is_no_baseline_is_two() {
    let place = Place::new(Proxy::Fair);
    for (text, says) in [
        ("", "is empty"),
        ("{\"schema_version\": 1, \"verdict\": \"healthy\"}", "is no baseline, or torn"),
        ("{\"kind\": \"turnstile baseline\", \"schema_ver", "is no baseline, or torn"),
        ("[1, 2]", "is no baseline, or torn"),
    ] {
        fs::write(place.path().join("base.json"), text).expect("write");
        let (code, stderr) = refused(&place, &["--baseline", "base.json"]);
        assert_eq!(code, Some(2), "{text:?}: {stderr}");
        assert!(stderr.contains(says), "{text:?}: {stderr}");
    }
}

#[test]
fn what_a_proxy_does_not_show_is_eleven() {
    let _turn = in_turn();
    let place = Place::new(Proxy::Fair);
    let unknown = ["--threshold", "longest_step<10ms", "--threshold", "early_closes<=0"];
    let mut command = place.check(&[unknown.as_slice(), &["--attempts", "1"]].concat());
    let said = say(command.args(["--trace", "off"]));
    assert_eq!(said.code(), Some(11), "{}", said.all());
    assert!(said.stdout.contains("longest_step<10ms cannot be told"), "{}", said.stdout);
    // A proxy without a log is not one without early closes.
    assert!(said.stdout.contains("early_closes<=0 cannot be told"), "{}", said.stdout);
}

#[test]
fn a_run_that_proves_nothing_is_tried_again_and_eleven() {
    let _turn = in_turn();
    let place = Place::new(Proxy::Fair);
    // Too few fetches for a conclusion, whatever the host does.
    let words =
        ["--threshold", "p99<1s", "--attempts", "2", "--", "--idle", "1s", "--duration", "1s"];
    let proxy = ["--trace", "off", "--proxy", &exec()];
    let said = say(place.command("turnstile").arg("check").args(words).args(proxy));
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
    // Without `timeout` between: the signal must reach the check itself.
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("turnstile"));
    command.current_dir(place.path()).arg("check").args(GATE);
    command.args(["--rounds", "5", "--json", "--"]).args(SHORT).args(["--proxy", &exec()]);
    let mut check = Running::start(&mut command);
    let mut lines = std::iter::from_fn(|| check.complaint());
    assert!(lines.any(|line| line.starts_with("trial 2/5")), "it ended before the second trial");
    let said = check.stop();
    assert_eq!(said.status.signal(), Some(Signal::TERM.as_raw()), "{}", said.all());
    let check: Value = serde_json::from_str(&said.stdout).expect("JSON");
    assert_eq!(check["interrupted"], "SIGTERM");
    assert_eq!(check["outcome"], "inconclusive");
    assert_eq!(check["trials"].as_array().map(Vec::len), Some(1), "{}", said.stdout);
    assert_eq!(crate::ci::schema::faults(&check), Vec::<String>::new());
}

/// As the figures of the page were made: traced, where that can be.
const PUBLISHED: [&str; 4] = ["--idle=1.5s", "--duration=2.5s", "--arrivals=20/s", "--trace=auto"];

#[test]
#[ignore = "ten times each: five minutes; --nocapture shows the counts"]
fn ten_of_ten() {
    let _turn = in_turn();
    let mut counts = Vec::new();
    for (proxy, wanted) in [(Proxy::Fair, 0), (Proxy::Unfair, 10)] {
        let place = Place::new(proxy);
        let mut codes = Vec::new();
        for time in 1..=10 {
            let check = || say(place.check(&GATE).args(PUBLISHED));
            let Some(said) = conclusive(check) else {
                codes.push(Some(11));
                continue;
            };
            println!("{proxy:?} {time}: exit {:?}: {}", said.code(), found(&said.stdout));
            codes.push(said.code());
        }
        let as_wanted = codes.iter().filter(|code| **code == Some(wanted)).count();
        println!("{proxy:?}: {as_wanted} of 10 with exit {wanted}; all: {codes:?}");
        counts.push(as_wanted);
    }
    assert_eq!(counts, [10, 10]);
}

/// The lines of thresholds, in one.
fn found(stdout: &str) -> String {
    let lines = stdout.lines().filter(|line| line.contains('<') && !line.starts_with(' '));
    lines
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect::<Vec<_>>()
        .join("; ")
}
