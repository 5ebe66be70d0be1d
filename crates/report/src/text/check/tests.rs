use std::collections::{BTreeMap, BTreeSet};

use records::{ArmSpec, Outcome as FetchOutcome, Recording, Side, Visibility};

use crate::text::{Style, annotations, check, check_markdown, junit};
use analysis::guard::baseline::{Baseline, BaselineHost, Conditions, Origin, Today};
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
    let baseline = saved.as_ref().map(|saved| (saved, "base.json".into(), None));
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

/// A check as people and CI systems read it.
fn forms(told: &Check) -> String {
    let text = check(told, Style::Plain);
    assert!(text.lines().all(|line| line.chars().count() <= 110), "{text}");
    [text, check_markdown(told), annotations(told), junit(told)].join("\n")
}

#[test]
fn checks_are_told_in_every_form() {
    let mut blind = trial(0);
    for worker in &mut blind.summary.proxy.workers {
        worker.longest_step_us = 0;
    }
    let mut unwritten = checked(0, 5, true);
    unwritten.could_not_write("failed to write the JUnit report to check.xml: no space".to_owned());
    for (name, told, exit_code) in [
        ("breached", checked(40, 1, false), 10),
        ("regressed", checked(40, 5, true), 10),
        ("passed", checked(0, 5, true), 0),
        ("lost", of(vec![blind; 5], 5, Some(baseline())), 11),
        ("flaky", of(vec![spoilt(Side::Origin), trial(0)], 1, None), 0),
        ("down", of(vec![spoilt(Side::Proxy), trial(0), trial(0)], 3, None), 10),
        ("unwritten", unwritten, 1),
    ] {
        assert_eq!(told.exit_code, exit_code, "{name}");
        insta::assert_snapshot!(name, forms(&told));
        are_closed(&junit(&told));
        let coloured = check(&told, Style::Colour);
        let mut parts = coloured.split('\u{1b}');
        let first = parts.next().unwrap_or_default().to_owned();
        let plain =
            parts.fold(first, |all, part| all + part.split_once('m').map_or("", |(_, rest)| rest));
        let trimmed = |text: &str| text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n");
        assert_eq!(trimmed(&plain), trimmed(&check(&told, Style::Plain)), "colour adds no word");
    }
}

/// The harness reads no XML: each tag that is opened is closed by its own name.
fn are_closed(xml: &str) {
    let mut open = Vec::new();
    for tag in xml.split('<').skip(1).map(|rest| rest.split('>').next().expect("a tag")) {
        match tag.strip_prefix('/') {
            Some(name) => assert_eq!(open.pop(), Some(name), "{xml}"),
            None if tag.ends_with(['/', '?']) => {}
            None => open.push(tag.split(' ').next().expect("a name")),
        }
    }
    assert!(open.is_empty(), "{xml}");
}
