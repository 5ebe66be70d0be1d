use std::collections::{BTreeMap, BTreeSet};

use records::{ArmSpec, Outcome as FetchOutcome, Recording, Side, Visibility};

use crate::text::{Style, annotations, check, check_markdown, junit, open_metrics};
use analysis::guard::baseline::{Accepted, Baseline, BaselineHost, Conditions, Origin, Today};
use analysis::guard::check::{Asked, Check, Save};
use analysis::guard::figures;
use analysis::guard::rounds::Ran;
use analysis::summarise;
use testkit::fixture::Run;

fn trial(failed: u64) -> Ran {
    let outcomes =
        [(80 - failed, FetchOutcome::Ok, 20_000), (failed, FetchOutcome::TimeoutNoByte, 1_000_500)];
    ran(&Run::loaded(&outcomes))
}

fn ran(run: &Run) -> Ran {
    let dir = "trials/01-1-check/x".into();
    Ran::of(dir, 0, summarise(&run.records), run.records.clone())
}

/// A trial in which this side died.
fn spoilt(side: Side) -> Ran {
    let mut run = Run::loaded(&[(80, FetchOutcome::Ok, 20_000)]);
    run.fault(side, "it ended unasked");
    ran(&run)
}

fn baseline() -> Baseline {
    let summary = trial(0).summary;
    let rounds = (0..5).map(|_| figures::trial(&summary)).collect();
    let made = Today { rounds, wanted: 5, sights: BTreeSet::from([Visibility::Own]) };
    let host = BaselineHost { kernel: "6.1".into(), cpu_model: "x".into(), cpus: 2 };
    let origin = Origin {
        host,
        arm: summary.arm,
        idle_us: records::Micros(3_000_000),
        measure_us: records::Micros(8_000_000),
        hold_us: records::Micros(10_000),
        conditions: Conditions {
            recording: Recording::Full,
            allowed_cpus: vec![0, 1],
            sysctls: BTreeMap::new(),
        },
    };
    Baseline { saved_at: "2026-11-21T08:00:00Z".into(), ..Baseline::new(origin, None, made) }
}

fn checked(failed: u64, rounds: usize, against: bool) -> Check {
    let saved = against.then(baseline);
    of((0..rounds).map(|_| trial(failed)).collect(), rounds, saved)
}

fn of(trials: Vec<Ran>, rounds: usize, saved: Option<Baseline>) -> Check {
    let thresholds =
        ["failed_share<=0.01", "p99<100ms", "p99<5s"].map(|text| text.parse().expect("one"));
    let baseline = saved.as_ref().map(|saved| (saved, "base.json".into(), Accepted::Nothing));
    let asked = Asked {
        thresholds: &thresholds,
        fail_on: None,
        baseline,
        save: Save::No,
        rounds,
        attempts: 3,
    };
    let args = ["--proxy", "exec:./p --listen {listen} | %"].map(str::to_owned).to_vec();
    let arm = ArmSpec { name: "check".to_owned(), args };
    Check::of(asked, arm, "runs/x-check".into(), &trials, None)
}

#[test]
fn a_breach_is_told() {
    let text = check(&checked(40, 1, false), Style::Plain);
    insta::assert_snapshot!("breached", text);
}

#[test]
fn a_regression_is_told() {
    let text = check(&checked(40, 5, true), Style::Plain);
    insta::assert_snapshot!("regressed", text);
    assert!(text.lines().all(|line| line.chars().count() <= 110), "{text}");
}

#[test]
fn a_pass_is_told_and_colour_changes_nothing_else() {
    let text = check(&checked(0, 5, true), Style::Plain);
    insta::assert_snapshot!("passed", text);
    let coloured = check(&checked(0, 5, true), Style::Colour);
    let plain: String = strip(&coloured);
    let trimmed = |text: &str| {
        text.lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>().join("\n")
    };
    assert_eq!(trimmed(&plain), trimmed(&text));
}

fn strip(text: &str) -> String {
    let mut parts = text.split('\u{1b}');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |all, part| all + part.split_once('m').map_or("", |(_, rest)| rest))
}

#[test]
fn markdown_has_whole_tables() {
    let text = check_markdown(&checked(40, 5, true));
    assert!(text.starts_with("### turnstile check: breached\n"), "{text}");
    for line in text.lines().filter(|line| line.starts_with('|')) {
        assert!(line.ends_with('|'), "{line}");
    }
    assert!(text.contains("{listen} \\| %"), "a column's end is escaped: {text}");
}

#[test]
fn junit_has_a_case_for_each_gate() {
    let xml = junit(&checked(40, 5, true));
    assert_eq!(xml.matches("classname=\"turnstile.threshold\"").count(), 3, "{xml}");
    assert_eq!(xml.matches("classname=\"turnstile.baseline\"").count(), 7, "{xml}");
    assert!(xml.contains("name=\"failed_share&lt;=0.01\""), "{xml}");
    let said = |tag: &str| xml.matches(tag).count();
    let counts = format!("failures=\"{}\" errors=\"{}\"", said("<failure "), said("<error "));
    assert_eq!(said(&counts), 2, "of all and of the one suite: {xml}");
    assert!(said("<failure ") > 0 && said("<error ") > 0, "{xml}");
    // The harness reads no XML: each tag that is opened is closed by its own name.
    let mut open = Vec::new();
    for tag in xml.split('<').skip(1).map(|rest| rest.split('>').next().expect("a tag")) {
        match tag.strip_prefix('/') {
            Some(name) => assert_eq!(open.pop(), Some(name), "{xml}"),
            None if tag.ends_with(['/', '?']) => {}
            None => open.push(tag.split(' ').next().expect("a name")),
        }
    }
    assert!(open.is_empty(), "{xml}");
    let green = junit(&checked(0, 1, false));
    assert!(green.contains("failures=\"0\" errors=\"0\""), "{green}");
}

#[test]
fn a_metric_that_was_lost_is_told_in_every_form() {
    let mut blind = trial(0);
    for worker in &mut blind.summary.proxy.workers {
        worker.longest_step_us = 0;
    }
    let lost = of(vec![blind; 5], 5, Some(baseline()));
    assert_eq!(lost.exit_code, 11);
    let said = "longest_step is known in the baseline, and not today";
    let text = check(&lost, Style::Plain);
    assert!(text.contains(said), "{text}");
    assert!(text.contains("of 2026-11-21T08:00:00Z: inconclusive"), "{text}");
    let markdown = check_markdown(&lost);
    assert!(markdown.contains(said) && markdown.contains("**inconclusive**"), "{markdown}");
    let xml = junit(&lost);
    let case = xml.split("<testcase").find(|case| case.contains("name=\"longest_step\""));
    assert!(case.is_some_and(|case| case.contains("<error")), "{xml}");
    assert!(!xml.contains("<failure"), "{xml}");
}

#[test]
fn a_pass_at_a_later_attempt_is_marked_in_every_form() {
    let flaky = of(vec![spoilt(Side::Origin), trial(0)], 1, None);
    assert_eq!(flaky.exit_code, 0);
    let text = check(&flaky, Style::Plain);
    assert!(text.starts_with("check       passed (flaky) (exit 0)\n"), "{text}");
    assert!(text.contains("1 of 1 conclusive, 2 trials, 1 of them tried again"), "{text}");
    let markdown = check_markdown(&flaky);
    assert!(markdown.starts_with("### turnstile check: passed (flaky)\n"), "{markdown}");
    let xml = junit(&flaky);
    assert_eq!(xml.matches("<flakyError").count(), 3, "in each of three cases: {xml}");
    assert!(xml.contains("failures=\"0\" errors=\"0\""), "{xml}");
    assert!(annotations(&flaky).starts_with("::warning title=turnstile check%3A passed (flaky)::"));
    assert!(open_metrics(&flaky).contains("turnstile_check_retried_trials 1\n"));
    let json: serde_json::Value = serde_json::from_str(&crate::text::json(&flaky)).expect("JSON");
    assert_eq!(json["rounds"]["retried"], 1);
}

#[test]
fn a_proxy_that_died_is_told_in_every_form() {
    let down = of(vec![spoilt(Side::Proxy), trial(0), trial(0)], 3, None);
    assert_eq!(down.exit_code, 10);
    let said = "the proxy failed in trial 1: it ended unasked (in the measure phase)";
    assert!(check(&down, Style::Plain).contains(said));
    assert!(check_markdown(&down).contains(said));
    assert!(annotations(&down).contains(said));
    let xml = junit(&down);
    let case = xml.split("<testcase").find(|case| case.contains("name=\"the proxy stays up\""));
    assert!(case.is_some_and(|case| case.contains("<failure")), "{xml}");
}

#[test]
fn what_could_not_be_written_is_told_in_every_form() {
    let mut unwritten = checked(0, 5, true);
    let error = "failed to write the JUnit report to check.xml: no space left";
    unwritten.could_not_write(error.to_owned());
    let text = check(&unwritten, Style::Plain);
    assert!(text.starts_with("check       passed (exit 1)\n"), "{text}");
    assert!(text.contains(error), "{text}");
    assert!(check_markdown(&unwritten).contains(error));
    let xml = junit(&unwritten);
    assert!(xml.contains("classname=\"turnstile.check\"") && xml.contains(error), "{xml}");
    let told = format!("::error title=turnstile check%3A passed::{error}\n");
    assert!(annotations(&unwritten).ends_with(&told));
}

#[test]
fn annotations_are_one_line_for_each_reason() {
    let text = annotations(&checked(40, 1, false));
    assert!(
        text.lines().all(|line| line.starts_with("::error title=turnstile check%3A breached::"))
    );
    let green = annotations(&checked(0, 1, false));
    assert_eq!(green, "::notice title=turnstile check%3A passed::everything held\n");
}

#[test]
fn open_metrics_is_well_formed() {
    let text = open_metrics(&checked(40, 5, true));
    assert!(text.ends_with("# EOF\n"));
    assert!(text.contains("turnstile_check_passed 0\n"), "{text}");
    let exact = "turnstile_failed_share_ratio{trial=\"1\",verdict=\"starved\",bound=\"exact\"} 0.5";
    assert!(text.contains(exact), "{text}");
    assert!(text.contains("bound=\"lower\""), "{text}");
    let mut typed = BTreeSet::new();
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            let name = rest.split(' ').next().unwrap_or_default();
            assert!(typed.insert(name.to_owned()), "{name} stands in one block");
        } else if let Some(rest) = line.strip_prefix("# UNIT ") {
            let (name, unit) = rest.split_once(' ').expect("name and unit");
            assert!(name.ends_with(&format!("_{unit}")), "{line}");
        } else if !line.starts_with('#') {
            let (name, value) = line.rsplit_once(' ').expect("a value");
            value.parse::<f64>().expect("a number");
            assert!(typed.contains(name.split('{').next().unwrap_or_default()), "{line}");
        }
    }
}
