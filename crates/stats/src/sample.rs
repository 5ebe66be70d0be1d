//! One metric of two arms in numbers: what changed, by how much, and whether chance does as much.
//!
//! Rounds of a campaign are pairs: both trials had the same minute of the host, and what it did to
//! the whole round cancels. Rounds of different days are two samples, whatever their numbers.
//!
//! Invariants: no answer depends on the order of rounds (of pairs, or of values within an arm), to
//! the last bit; swapped arms negate it. Finite in, finite out.

use serde::Serialize;
use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::{Metric, Reading};

/// What the trials of two arms have to do with each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Design {
    /// Those at the same place are of one round.
    Paired,
    /// Nothing: they are of different days.
    Apart,
}

/// One metric of two arms, where the metric reckons.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Numbers {
    /// B minus A, by round.
    Paired(Vec<f64>),
    /// The values of each arm.
    Apart { a: Vec<f64>, b: Vec<f64> },
}

/// From where to where.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// Which way the rounds went, counting those only that moved by more than the floor. Of rounds that
/// are not paired, each of one arm is held against each of the other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Votes {
    /// Rounds in which B was higher.
    pub up: u32,
    /// Rounds in which B was lower.
    pub down: u32,
    /// Rounds that moved less than the floor.
    pub still: u32,
}

impl Interval {
    /// Whether zero lies outside.
    pub(crate) const fn excludes_zero(self) -> bool {
        self.low > 0.0 || self.high < 0.0
    }

    /// Whether all of it lies closer to zero than `floor`.
    pub(crate) const fn is_within(self, floor: f64) -> bool {
        self.low > -floor && self.high < floor
    }

    /// How far the further end is from `centre`.
    pub(crate) const fn reach(self, centre: f64) -> f64 {
        (self.high - centre).max(centre - self.low)
    }
}

impl Numbers {
    /// Of these readings; of pairs, those at the same place are of one round.
    ///
    /// Two percentiles beyond the cap do not differ, as far as anybody knows; one of them is taken
    /// for its bound, so that a difference is at least the one reckoned with.
    pub(crate) fn of(design: Design, a: &[Reading], b: &[Reading], metric: &Metric) -> Self {
        let reckoned = |reading: &Reading| metric.reckoned(reading.value());
        match design {
            Design::Paired => {
                let difference = |(a, b): (&Reading, &Reading)| match (a.is_bound(), b.is_bound()) {
                    (true, true) => 0.0,
                    _ => reckoned(b) - reckoned(a),
                };
                Self::Paired(a.iter().zip(b).map(difference).collect())
            }
            Design::Apart => {
                let bounds = a.iter().chain(b).filter(|reading| reading.is_bound());
                let cap = bounds.map(reckoned).reduce(f64::min);
                let value = |reading: &Reading| match cap {
                    Some(cap) if reading.is_bound() => cap,
                    _ => reckoned(reading),
                };
                let [a, b] = [a, b].map(|arm| arm.iter().map(value).collect());
                Self::Apart { a, b }
            }
        }
    }

    /// The mean change from A to B.
    pub(crate) fn effect(&self) -> f64 {
        match self {
            Self::Paired(differences) => mean(differences),
            Self::Apart { a, b } => mean(b) - mean(a),
        }
    }

    /// Its interval: Student's (1908), of two samples Welch's (1947). `None` of fewer than two
    /// rounds.
    pub(crate) fn interval(&self, alpha: f64) -> Option<Interval> {
        let (error, degrees) = self.standard_error()?;
        let (centre, reach) = (self.effect(), error * t_critical(alpha, degrees));
        Some(Interval { low: centre - reach, high: centre + reach })
    }

    /// Two-sided p-value of the same tests.
    pub(crate) fn p(&self) -> Option<f64> {
        let (error, degrees) = self.standard_error()?;
        let centre = self.effect();
        Some(if error > 0.0 {
            t_two_sided(centre / error, degrees)
        } else if centre == 0.0 {
            1.0
        } else {
            0.0
        })
    }

    fn standard_error(&self) -> Option<(f64, f64)> {
        match self {
            Self::Paired(differences) => {
                Some((variance_of_mean(differences)?.sqrt(), (differences.len() - 1) as f64))
            }
            Self::Apart { a, b } => {
                let (of_a, of_b) = (variance_of_mean(a)?, variance_of_mean(b)?);
                let (n, m) = ((a.len() - 1) as f64, (b.len() - 1) as f64);
                let both = of_a + of_b;
                let degrees = if both > 0.0 {
                    both.powi(2) / (of_a * of_a / n + of_b * of_b / m)
                } else {
                    n + m
                };
                // Squares of the smallest numbers vanish.
                Some((both.sqrt(), if degrees.is_finite() { degrees } else { n.min(m) }))
            }
        }
    }

    /// The largest mean change that there could be, whichever arm each value were of.
    pub(crate) fn largest_effect(&self) -> f64 {
        match self {
            Self::Paired(differences) => {
                mean(&differences.iter().map(|d| d.abs()).collect::<Vec<_>>())
            }
            Self::Apart { a, b } => {
                let mut all: Vec<f64> = a.iter().chain(b).copied().collect();
                all.sort_by(f64::total_cmp);
                let apart = |at: usize| {
                    let (low, high) = all.split_at(at);
                    mean(high) - mean(low)
                };
                apart(a.len()).max(apart(b.len()))
            }
        }
    }

    /// Which way they went.
    pub(crate) fn votes(&self, floor: f64) -> Votes {
        match self {
            Self::Paired(differences) => Votes::count(differences.iter().copied(), floor),
            Self::Apart { a, b } => {
                Votes::count(a.iter().flat_map(|a| b.iter().map(move |b| b - a)), floor)
            }
        }
    }
}

impl Votes {
    fn count(differences: impl Iterator<Item = f64>, floor: f64) -> Self {
        differences.fold(Self::default(), |mut votes, difference| {
            if difference >= floor {
                votes.up += 1;
            } else if difference <= -floor {
                votes.down += 1;
            } else {
                votes.still += 1;
            }
            votes
        })
    }

    /// Whether at least two rounds in three of those that moved went the way of `effect`.
    pub(crate) const fn agree_with(self, effect: f64) -> bool {
        let (with, against) =
            if effect > 0.0 { (self.up, self.down) } else { (self.down, self.up) };
        with > 0 && with >= 2 * against
    }
}

/// The mean; 0 of nothing. The same to the last bit in any order, and negated with the signs.
pub(crate) fn mean(values: &[f64]) -> f64 {
    let side = |sign: f64| sum(values.iter().map(|value| (value * sign).max(0.0)));
    if values.is_empty() { 0.0 } else { (side(1.0) - side(-1.0)) / values.len() as f64 }
}

/// The variance of the mean; `None` of fewer than two.
fn variance_of_mean(values: &[f64]) -> Option<f64> {
    let n = values.len();
    if n < 2 {
        return None;
    }
    let centre = mean(values);
    Some(sum(values.iter().map(|value| (value - centre).powi(2))) / (n - 1) as f64 / n as f64)
}

/// A sum that the order of its parts does not change.
fn sum(parts: impl Iterator<Item = f64>) -> f64 {
    let mut parts: Vec<f64> = parts.collect();
    parts.sort_by(f64::total_cmp);
    parts.into_iter().sum()
}

/// The median; `None` of nothing.
pub(crate) fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (lower, upper) = middle(&sorted)?;
    Some(f64::midpoint(lower, upper))
}

/// The same of whole numbers; of an even count the middle of the two in the middle, rounded down.
pub fn median_whole(values: impl IntoIterator<Item = u64>) -> Option<u64> {
    let mut sorted: Vec<u64> = values.into_iter().collect();
    sorted.sort_unstable();
    let (lower, upper) = middle(&sorted)?;
    Some(u64::midpoint(lower, upper))
}

/// The two in the middle; of an odd count the same one twice.
fn middle<T: Copy>(sorted: &[T]) -> Option<(T, T)> {
    let lower = sorted.get(sorted.len().checked_sub(1)? / 2)?;
    Some((*lower, *sorted.get(sorted.len() / 2)?))
}

/// The point of Student's t that is exceeded with probability `alpha / 2`; 0 without a degree of
/// freedom.
fn t_critical(alpha: f64, degrees: f64) -> f64 {
    student(degrees).map_or(0.0, |t| t.inverse_cdf(1.0 - alpha / 2.0))
}

/// Probability of a |t| as large; 1 without a degree of freedom.
fn t_two_sided(t: f64, degrees: f64) -> f64 {
    student(degrees).map_or(1.0, |dist| (2.0 * dist.sf(t.abs())).min(1.0))
}

fn student(degrees: f64) -> Option<StudentsT> {
    StudentsT::new(0.0, 1.0, degrees).ok()
}
