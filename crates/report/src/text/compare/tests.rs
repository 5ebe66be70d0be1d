use std::path::Path;

use records::{ArmRow, Outcome};

use super::{comparison, comparison_markdown, digits};
use crate::text::Style;
use analysis::guard::rounds::Ran;
use analysis::guard::{Comparison, arm_row};
use analysis::summarise;
use testkit::fixture::Run;

fn arm(name: &str, failed: u64, us: u64) -> (String, Vec<Ran>) {
    let told = |round: u32| {
        let us = us + 700 * u64::from(round);
        let outcomes =
            [(80 - failed, Outcome::Ok, us), (failed, Outcome::TimeoutNoByte, 1_000_500)];
        let run = Run::loaded(&outcomes);
        Ran::of("x".into(), round, summarise(&run.records), run.records)
    };
    (name.to_owned(), (0..5).map(told).collect())
}

fn told() -> (Comparison, Vec<ArmRow>) {
    let arms = [arm("drain", 40, 400_000), arm("fionread", 0, 80_000)];
    let row = |(name, told): &(String, Vec<Ran>)| {
        let summaries: Vec<_> = told.iter().map(|told| &told.summary).collect();
        arm_row(name, &summaries)
    };
    let rows = arms.iter().map(row).collect();
    (Comparison::of(&arms), rows)
}

#[test]
fn a_pair_is_told_with_every_metric() {
    let (compared, rows) = told();
    let text = comparison(&compared, &rows, Path::new("runs/x-compare"), Style::Plain);
    insta::assert_snapshot!(text);
    assert!(text.lines().all(|line| line.chars().count() <= 110), "{text}");
}

#[test]
fn markdown_has_whole_tables() {
    let (compared, rows) = told();
    let text = comparison_markdown(&compared, &rows);
    assert!(text.contains("**fionread against drain: improved**"), "{text}");
    // Each figure once: the table of arms leaves to the metrics what they tell.
    assert_eq!(text.matches("p50").count(), 2, "its row, and the reason: {text}");
    for line in text.lines().filter(|line| line.starts_with('|')) {
        assert!(line.ends_with('|'), "{line}");
    }
}

#[test]
fn a_factor_keeps_to_its_column() {
    for (factor, said) in [
        (0.0, "<0.01"),
        (0.005, "0.01"),
        (1.0, "1.00"),
        (12.34, "12.3"),
        (9_999.4, "9999"),
        (2.5e7, ">9999"),
        (f64::INFINITY, ">9999"),
    ] {
        assert_eq!(digits(factor), said);
    }
}
