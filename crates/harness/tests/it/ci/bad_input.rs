//! What cannot be checked is refused before any trial runs, with the code that is documented.

use std::fs;

use crate::ci::support::{Place, Proxy, in_turn, say};

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
        (vec!["--threshold", "p99<1s", "--", "--json"], "does not belong to an arm"),
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
    let proxy = ["--trace", "off", "--proxy", &crate::ci::support::exec()];
    let said = say(place.command("turnstile").arg("check").args(words).args(proxy));
    assert_eq!(said.code(), Some(11), "{}", said.all());
    assert!(said.stderr.contains("attempt 2"), "{}", said.stderr);
    assert!(said.stdout.contains("rounds      0 of 1 conclusive, 2 trials"), "{}", said.stdout);
    assert!(said.stdout.contains("trials are inconclusive; trial 2: only"), "{}", said.stdout);
}
