use records::{ArmRow, Bytes, BytesPerSec, Micros, Verdict};

use super::digits;
use crate::text::{ASIDE, Style, arms, arms_markdown};

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

fn two_rows() -> Vec<ArmRow> {
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
    let lines = arms(&two_rows()).without(&ASIDE).lines(Style::Plain);
    assert!(lines.iter().all(|line| line.chars().count() <= 100), "{lines:#?}");
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn a_table_of_arms_has_as_many_cells_in_each_row() {
    let text = arms_markdown(&two_rows());
    let cells = |line: &str| line.replace("\\|", "").matches('|').count();
    let counts: Vec<usize> = text.lines().map(cells).collect();
    assert!(counts.iter().all(|count| *count == 15), "{text}");
    assert!(text.contains("| 440/800 | 33 |"), "{text}");
    assert!(text.contains("| caddy \\| own | - | 0 |"), "{text}");
    assert!(text.contains("| - | - | - | - | - | - | - | - |"), "no log is no zero: {text}");
}
