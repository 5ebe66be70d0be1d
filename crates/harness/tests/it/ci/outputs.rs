//! Every form of output of one check that is breached.

use serde_json::Value;

use crate::ci::schema;
use crate::ci::support::{Place, Proxy, busy, in_turn, say};

#[test]
fn a_breach_is_told_in_every_form() {
    let _turn = in_turn();
    let place = Place::new(Proxy::Fair);
    // No fetch takes so little: whatever the host does, a conclusive run breaches it.
    let gate = [
        "--threshold",
        "p50<1us",
        "--threshold",
        "failed_share<=1",
        "--json",
        "--quiet",
        "--junit",
        "check.xml",
        "--markdown",
        "check.md",
        "--openmetrics",
        "check.prom",
    ];
    let mut command = place.check(&gate);
    let said = say(command.env("GITHUB_ACTIONS", "true").env("GITHUB_STEP_SUMMARY", "summary.md"));
    // A busy host proves nothing; that is told in the same forms.
    let (word, level, begins) = match said.code() {
        Some(10) => ("breached", "error", "p50<1us breached: "),
        Some(11) if busy(&said) => ("inconclusive", "warning", "p50<1us cannot be told: "),
        _ => panic!("{}", said.all()),
    };

    let check: Value = serde_json::from_str(&said.stdout).expect("nothing but JSON");
    assert_eq!(schema::faults(&check), Vec::<String>::new());
    assert_eq!(check["outcome"], word);
    assert_eq!(check["exit_code"].as_i64(), said.code().map(i64::from));
    let records = check["records"].as_str().expect("a directory");
    let filed: Value =
        serde_json::from_str(&place.read(&format!("{records}/check.json"))).expect("JSON");
    assert_eq!(filed, check);
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
    assert!(markdown.contains("| `p50<1us` |"), "{markdown}");
    let junit = place.read("check.xml");
    assert!(junit.contains("tests=\"2\""), "{junit}");
    assert!(junit.contains(if word == "breached" { "<failure" } else { "<error" }), "{junit}");
    let metrics = place.read("check.prom");
    assert!(metrics.contains("turnstile_check_passed 0\n"), "{metrics}");
    assert!(
        metrics.contains("turnstile_threshold_met{threshold=\"p50<1us\",outcome="),
        "{metrics}"
    );
    assert!(metrics.ends_with("# EOF\n"), "{metrics}");
}

#[test]
fn what_cannot_be_written_is_told_by_all_that_can() {
    let _turn = in_turn();
    let place = Place::new(Proxy::Fair);
    let gate = [
        "--threshold",
        "failed_share<=1",
        "--attempts",
        "1",
        "--json",
        "--quiet",
        "--junit",
        "/dev/full",
        "--markdown",
        "check.md",
    ];
    let mut command = place.check(&gate);
    let said = say(command.env("GITHUB_STEP_SUMMARY", "nowhere/summary.md"));
    // It is the same on a busy host, which proves nothing.
    assert_eq!(said.code(), Some(1), "{}", said.all());
    let check: Value = serde_json::from_str(&said.stdout).expect("nothing but JSON");
    assert_eq!(schema::faults(&check), Vec::<String>::new());
    assert_eq!(check["exit_code"], 1);
    let errors = check["errors"].as_array().expect("errors");
    assert_eq!(errors.len(), 1, "a step summary is no file that was asked for: {errors:?}");
    let error = errors[0].as_str().expect("words");
    assert!(error.starts_with("failed to write the JUnit report to /dev/full: "), "{error}");
    let records = check["records"].as_str().expect("a directory");
    let filed = place.read(&format!("{records}/check.json"));
    assert_eq!(serde_json::from_str::<Value>(&filed).expect("JSON"), check);
    assert!(place.read("check.md").contains(error), "{}", place.read("check.md"));
    assert!(said.stderr.contains(error), "{}", said.stderr);
    assert!(said.stderr.contains("failed to write the step summary"), "{}", said.stderr);
}
