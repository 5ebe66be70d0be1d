use records::{ArmRow, Bytes, BytesPerSec, Micros, Verdict};

use super::{arms, arms_markdown};
use crate::text::Style;

fn rows() -> Vec<ArmRow> {
    vec![
        ArmRow {
            name: "mirror, drain".to_owned(),
            trials: 10,
            verdicts: [(Verdict::Starved, 9), (Verdict::Inconclusive, 1)].into(),
            attempts: 800,
            tried: 800,
            failed: 440,
            early_closes: Some(33),
            p50: Micros(996_000),
            p90: Micros(1_001_000),
            p99: Micros(1_004_000),
            max: Micros(1_010_000),
            slow_rate: BytesPerSec(Bytes::mib(900).0),
            longest_turn: Some(Micros(3_570_000)),
            cpu_per_gb: Some(Micros(870_000)),
            ..ArmRow::default()
        },
        ArmRow { name: "caddy | own".to_owned(), ..ArmRow::default() },
    ]
}

#[test]
fn the_table_fits_a_terminal() {
    insta::assert_snapshot!(arms(&rows(), Style::Plain));
    assert!(arms(&rows(), Style::Plain).lines().all(|line| line.chars().count() <= 100));
}

#[test]
fn markdown_has_as_many_cells_in_each_row() {
    let text = arms_markdown(&rows());
    let cells = |line: &str| line.replace("\\|", "").matches('|').count();
    let counts: Vec<usize> = text.lines().map(cells).collect();
    assert!(counts.iter().all(|count| *count == 15), "{text}");
    assert!(text.contains("| 440/800 | 33 |"), "{text}");
    assert!(text.contains("| caddy \\| own | - | 0 |"), "{text}");
    assert!(text.contains("| - | - | - | - | - | - | - | - |"), "no log is no zero: {text}");
}

#[test]
fn names_that_begin_alike_can_be_told_apart() {
    let row = |name: &str| ArmRow { name: name.to_owned(), ..ArmRow::default() };
    let rows = [row("nginx 1.17.4 unbuffered"), row("nginx 1.17.4 without files"), row("nginx")];
    let text = arms(&rows, Style::Plain);
    let first_words: Vec<_> =
        text.lines().skip(2).map(|line| line.split("  ").next().unwrap_or_default()).collect();
    assert_eq!(
        first_words,
        ["nginx 1.17.4", "unbuffered", "nginx 1.17.4", "without files", "nginx"]
    );
}
