//! A host that is kept busy: the rule must not say anything else than `Inconclusive`.

use rand::RngExt;
use stats::{Change, Reading, Round};

use crate::host::{Source, rounds};
use crate::noise::{chance, normal};
use crate::tally::{Tally, judged};

/// What the harness finds unfit is left out; this much of it makes the pair inconclusive. The bounds
/// stand five standard deviations of 100 draws and more below the shares in `docs/statistics.md`.
#[test]
fn busy_trials_that_are_told_so() {
    for (unfit, at_least) in [(1.0, 1.0), (0.9, 0.98), (0.7, 0.9), (0.5, 0.8)] {
        for count in [5, 10, 20] {
            let (a, b) = (Source::new("busy", "reuseport"), Source::new("busy", "fionread"));
            let mut chance = chance(4);
            let tally = Tally::by(|| {
                let mut drawn = rounds(&a, &b, count, &mut chance);
                for round in &mut drawn {
                    for trial in [&mut round.a, &mut round.b] {
                        let unfit = chance.random_bool(unfit);
                        trial.inconclusive = unfit.then(|| "a busy host".to_owned());
                    }
                }
                judged(&drawn)
            });
            println!("| {unfit} of trials told unfit | {count} | {} |", tally.row());
            let silent = tally.share(Change::Inconclusive);
            assert!(silent >= at_least, "{unfit}, {count} rounds: {}", tally.row());
        }
    }
}

/// Other work that comes and goes, and that no trial was told unfit for: the control strays, and
/// what is left varies. `sigma` is of all times of a trial at once, its baseline included.
#[test]
fn busy_trials_that_are_not() {
    for sigma in [0.5, 1.0, 1.5] {
        for (a, b) in [("fionread", "fionread"), ("reuseport", "fionread")] {
            for count in [5, 10] {
                let (left, right) = (Source::new("quiet", a), Source::new("quiet", b));
                let mut chance = chance(5);
                let tally = Tally::by(|| {
                    let mut drawn = rounds(&left, &right, count, &mut chance);
                    for Round { a, b, .. } in &mut drawn {
                        for trial in [a, b] {
                            let factor = (sigma * normal(&mut chance)).exp();
                            let slow = |reading: Reading| {
                                if reading.is_bound() {
                                    Ok(reading)
                                } else {
                                    Reading::exact(reading.value() * factor)
                                }
                            };
                            trial.control = trial.control.map(|c| slow(c).unwrap());
                            for name in ["p50", "p90", "p99", "longest_step"] {
                                let reading = trial.readings.get_mut(name).unwrap();
                                *reading = slow(*reading).unwrap();
                            }
                        }
                    }
                    judged(&drawn)
                });
                println!("| {a} | {b} | {sigma} | {count} | {} |", tally.row());
                assert!(
                    a != b
                        || tally.share(Change::Improved) + tally.share(Change::Regressed) <= 0.08
                );
                if sigma > 1.0 {
                    assert!(tally.share(Change::Inconclusive) > 0.5, "{}", tally.row());
                }
            }
        }
    }
}
