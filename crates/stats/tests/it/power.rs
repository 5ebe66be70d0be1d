//! Arms that differ: it must be seen, and in the right direction.

use rand::rngs::ChaCha8Rng;
use stats::{Change, Confidence, Metric, Reading, Round, Seed, Settings, Trial, judge};

use crate::host::{Source, rounds};
use crate::noise::{chance, normal};
use crate::tally::{FAST, TIMES, Tally};

#[test]
fn power_between_real_arms() {
    let pairs = [
        ("reuseport", "fionread"),
        ("shared", "fionread"),
        ("reuseport", "rcvbuf"),
        ("fionread", "quota"),
        ("rcvbuf", "quota"),
        ("reuseport", "shared"),
    ];
    for (a, b) in pairs {
        for count in [5, 10, 20] {
            let (left, right) = (Source::new("quiet", a), Source::new("quiet", b));
            let mut chance = chance(2);
            let tally = Tally::of(*TIMES, || rounds(&left, &right, count, &mut chance));
            println!("| {a} | {b} | {count} | {} |", tally.row());
            let starved = a == "shared" || (a == "reuseport" && b != "shared");
            let expected = if starved {
                0.999
            } else if count >= 10 && b == "quota" {
                0.95
            } else {
                0.0
            };
            let improved = tally.share(Change::Improved);
            assert!(improved >= expected, "{a} -> {b}, {count} rounds: {}", tally.row());
            assert!(tally.share(Change::Regressed) <= 0.03, "{a} -> {b}: {}", tally.row());
        }
    }
}

#[test]
fn power_of_a_factor() {
    for moved in [Moved::P90, Moved::AllPercentiles] {
        for sigma in [0.3, 0.4, 0.5] {
            for factor in [1.5, 1.75, 2.0, 3.0, 4.0] {
                let mut chance = chance(3);
                let tally = Tally::of(*TIMES, || twenty(factor, moved, sigma, &mut chance));
                println!("| {moved:?} | {sigma} | {factor} | {} |", tally.row());
                let found = tally.share(Change::Regressed);
                if factor >= 2.0 || sigma < 0.4 || (factor >= 1.75 && sigma < 0.5) {
                    assert!(found >= 0.75, "{moved:?} {sigma} {factor}: {}", tally.row());
                }
                assert!(tally.share(Change::Improved) <= 0.02, "{sigma} {factor}");
            }
        }
    }
}

/// The bound: what Student's test finds that looks at p90 alone, knows of no other metric, and
/// raises a false alarm in one of twenty. No rule that guards against more can find more.
#[test]
fn power_at_best() {
    let settings = Settings { family_confidence: Confidence::new(0.95).unwrap(), ..*FAST };
    let p90 = &Metric::of_a_trial()[2..3];
    for sigma in [0.3, 0.4, 0.5] {
        for factor in [1.5, 1.75, 2.0] {
            let mut chance = chance(3);
            let found = (0..*TIMES)
                .filter(|time| {
                    let rounds = twenty(factor, Moved::P90, sigma, &mut chance);
                    let judgement = judge(&rounds, p90, None, Seed(u64::from(*time)), &settings);
                    judgement.change == Change::Regressed
                })
                .count();
            println!(
                "| p90 alone, 95 % | {sigma} | {factor} | {:.3} |",
                found as f64 / f64::from(*TIMES)
            );
        }
    }
}

/// What the factor is put on.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Moved {
    P90,
    AllPercentiles,
}

fn twenty(factor: f64, moved: Moved, sigma: f64, chance: &mut ChaCha8Rng) -> Vec<Round> {
    let mut trial = |factor| lognormal(factor, moved, sigma, chance);
    (1..=20).map(|number| Round { number, a: trial(1.0), b: trial(factor) }).collect()
}

/// A trial whose percentiles share four fifths of a run's noise; a longest step has its own.
fn lognormal(factor: f64, moved: Moved, sigma: f64, chance: &mut ChaCha8Rng) -> Trial {
    let common = normal(chance);
    let mut noise = |shared: f64| {
        let own = normal(chance);
        (sigma * (shared.sqrt() * common + (1.0 - shared).sqrt() * own)).exp()
    };
    let others = if moved == Moved::P90 { 1.0 } else { factor };
    let readings = [
        ("failed_share", 0.0),
        ("p50", 40e3 * others * noise(0.8)),
        ("p90", 80e3 * factor * noise(0.8)),
        ("p99", 120e3 * others * noise(0.8)),
        ("longest_step", 40e3 * noise(0.0)),
        ("slow_bytes_per_sec", 8e8 * noise(0.5).cbrt()),
    ];
    let exact = |value: f64| Reading::exact(value).unwrap();
    Trial {
        inconclusive: None,
        control: Some(exact(5e3 * (0.15 * normal(chance)).exp())),
        readings: readings.map(|(name, value)| (name.to_owned(), exact(value))).into(),
    }
}
