//! The log-rank test, stratified by round: do the fetches of one arm end sooner?
//!
//! At each age at which any fetch of a round was done it compares how many of A's were done with
//! how many would have been if the arms were alike, and adds up (Mantel 1966). Fetches that failed
//! wait to the end in both arms, which makes it Gray's test (1988) for data whose censoring times
//! are all known.
//!
//! Not for: the verdict. Its textbook p-value takes the fetches of a run for independent.

use records::Micros;
use serde::{Deserialize, Serialize};

use crate::compare::student_p;
use crate::tail::normal_above;
use crate::{Ending, Observation};

#[cfg(test)]
mod tests;

/// The fetches of one round.
#[derive(Clone, Copy, Debug)]
pub struct Stratum<'a> {
    /// Of arm A.
    pub a: &'a [Observation],
    /// Of arm B.
    pub b: &'a [Observation],
}

/// What the test says.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LogRank {
    /// Fetches of A that were done.
    pub observed_a: f64,
    /// How many of them would have been done by then if the arms were alike: fewer than observed
    /// means that A is done sooner.
    pub expected_a: f64,
    /// Variance of their difference, fetches being independent.
    pub variance: f64,
    /// Chi-squared with one degree of freedom; 0 when nothing can be compared.
    pub chi_squared: f64,
    /// p-value of `chi_squared`: of fetches as if each were a run of its own. Too small by as much
    /// as fetches of a run are alike.
    pub p_fetches: f64,
    /// p-value with the run as the unit: Student's t over the rounds' differences of observed and
    /// expected; `None` of fewer than two rounds.
    pub p_rounds: Option<f64>,
}

/// Compares A and B within each round, and adds up over rounds. Never fails: without fetches, or
/// without completions, it finds no difference.
pub fn log_rank(rounds: &[Stratum<'_>]) -> LogRank {
    let scores: Vec<Score> = rounds.iter().map(|round| Score::of(round)).collect();
    let sum = |part: fn(&Score) -> f64| scores.iter().map(part).sum::<f64>();
    let (observed_a, expected_a) = (sum(|s| s.observed), sum(|s| s.expected));
    let variance = sum(|s| s.variance);
    let chi_squared =
        if variance > 0.0 { (observed_a - expected_a).powi(2) / variance } else { 0.0 };
    let by_round: Vec<f64> = scores.iter().map(|s| s.observed - s.expected).collect();
    LogRank {
        observed_a,
        expected_a,
        variance,
        chi_squared,
        p_fetches: (2.0 * normal_above(chi_squared.sqrt())).min(1.0),
        p_rounds: student_p(&by_round),
    }
}

struct Score {
    observed: f64,
    expected: f64,
    variance: f64,
}

impl Score {
    fn of(round: &Stratum<'_>) -> Self {
        let (a, b) = (Ages::of(round.a), Ages::of(round.b));
        let mut times: Vec<Micros> = a.done.iter().chain(&b.done).copied().collect();
        times.sort_unstable();
        times.dedup();
        let mut score = Self { observed: 0.0, expected: 0.0, variance: 0.0 };
        for at in times {
            let (waiting_a, waiting) = (a.waiting(at), a.waiting(at) + b.waiting(at));
            let (done_a, done) = (a.done_at(at), a.done_at(at) + b.done_at(at));
            let share = waiting_a / waiting;
            score.observed += done_a;
            score.expected += done * share;
            if waiting > 1.0 {
                score.variance += done * share * (1.0 - share) * (waiting - done) / (waiting - 1.0);
            }
        }
        score
    }
}

/// The ages of one arm, sorted.
struct Ages {
    all: usize,
    done: Vec<Micros>,
    gone: Vec<Micros>,
}

impl Ages {
    fn of(fetches: &[Observation]) -> Self {
        let completed = fetches.iter().filter(|fetch| fetch.ending == Ending::Completed);
        let mut done: Vec<Micros> = completed.map(|fetch| fetch.age).collect();
        let mut gone: Vec<Micros> = fetches.iter().filter_map(Observation::waits_until).collect();
        done.sort_unstable();
        gone.sort_unstable();
        Self { all: fetches.len(), done, gone }
    }

    fn waiting(&self, at: Micros) -> f64 {
        (self.all - self.gone.partition_point(|until| *until < at)) as f64
    }

    fn done_at(&self, at: Micros) -> f64 {
        let from = self.done.partition_point(|age| *age < at);
        let to = self.done.partition_point(|age| *age <= at);
        (to - from) as f64
    }
}
