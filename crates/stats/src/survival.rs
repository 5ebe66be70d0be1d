//! Times to completion as a survival curve: how many fetches are not yet done at an age.
//!
//! Kaplan and Meier (1958). A fetch that hit its cap is censored: it was not done by its true age,
//! and would have been done nobody knows when. One that failed otherwise will never be done; it
//! stays among those who wait, to the end (the subdistribution of Fine and Gray 1999). Leaving it
//! out would make a proxy look fast that resets what it cannot serve.

use records::Micros;
use serde::Serialize;

#[cfg(test)]
pub(crate) mod tests;

/// One fetch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Observation {
    /// How old it became.
    pub age: Micros,
    /// How it ended then.
    pub ending: Ending,
}

/// How a fetch ended, as far as its time tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// It was done.
    Completed,
    /// Nobody waited longer: the cap, or an error of the client's own host. All that is known is
    /// that it was not done by then.
    Censored,
    /// It will never be done: refused, reset, closed early, a bad status.
    Failed,
}

impl Observation {
    /// Until when it is among those who wait; `None` for ever.
    pub(crate) const fn waits_until(&self) -> Option<Micros> {
        match self.ending {
            Ending::Completed | Ending::Censored => Some(self.age),
            Ending::Failed => None,
        }
    }
}

/// The share of fetches not yet done, by age.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Curve {
    /// Where it goes down, ascending.
    pub steps: Vec<Step>,
    /// The greatest age that any fetch reached: nothing is known beyond.
    pub known_until: Micros,
}

/// One age at which fetches were done.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Step {
    /// The age.
    pub at: Micros,
    /// Fetches that waited until then, or longer.
    pub waiting: u64,
    /// Those of them that were done at that age.
    pub completed: u64,
    /// Share not yet done after it.
    pub remaining: f64,
}

/// A point of the curve.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Quantile {
    /// By this age.
    At(Micros),
    /// Not by this age, the greatest that is known: beyond the cap.
    Beyond(Micros),
}

impl Curve {
    /// The curve of these fetches, in any order. Without any it is empty, and known until 0.
    pub fn new(fetches: &[Observation]) -> Self {
        let mut done: Vec<Micros> = Vec::new();
        let mut gone: Vec<Micros> = Vec::new();
        for fetch in fetches {
            gone.extend(fetch.waits_until());
            if fetch.ending == Ending::Completed {
                done.push(fetch.age);
            }
        }
        done.sort_unstable();
        gone.sort_unstable();
        let mut remaining = 1.0;
        let steps = done
            .chunk_by(|left, right| left == right)
            .filter_map(|same| {
                let at = *same.first()?;
                // Those censored at this very age still waited at it.
                let waiting = fetches.len() - gone.partition_point(|until| *until < at);
                remaining *= 1.0 - same.len() as f64 / waiting as f64;
                Some(Step { at, waiting: waiting as u64, completed: same.len() as u64, remaining })
            })
            .collect();
        let known_until = fetches.iter().map(|fetch| fetch.age).max().unwrap_or_default();
        Self { steps, known_until }
    }

    /// The share not yet done at `age`.
    pub fn remaining(&self, age: Micros) -> f64 {
        let after = self.steps.partition_point(|step| step.at <= age);
        after
            .checked_sub(1)
            .and_then(|last| self.steps.get(last))
            .map_or(1.0, |step| step.remaining)
    }

    /// The age by which `per_mille` of all fetches are done: 500 is p50, 900 p90, 990 p99. More
    /// than 1000 counts as 1000.
    pub fn quantile(&self, per_mille: u16) -> Quantile {
        let wanted = 1.0 - f64::from(per_mille.min(1000)) / 1000.0;
        // A product of shares misses a round number by its last bits.
        self.steps
            .iter()
            .find(|step| step.remaining <= wanted + 1e-9)
            .map_or(Quantile::Beyond(self.known_until), |step| Quantile::At(step.at))
    }
}
