//! Times to completion as a survival curve: how many fetches are not yet done at an age.
//!
//! Kaplan and Meier (1958). A fetch that hit its cap is censored: it was not done by its true age,
//! and would have been done nobody knows when. One that failed otherwise will never be done; it
//! stays among those who wait, to the end (the subdistribution of Fine and Gray 1999). Leaving it
//! out would make a proxy look fast that resets what it cannot serve.

use records::Micros;
use serde::Serialize;

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
    /// Share not yet done after it.
    pub remaining: f64,
}

impl Curve {
    /// The curve of these fetches, in any order. Without any it is empty, and known until 0.
    pub fn new(fetches: &[Observation]) -> Self {
        let ages = |ended: fn(Ending) -> bool| {
            let all = fetches.iter().filter(|fetch| ended(fetch.ending)).map(|fetch| fetch.age);
            let mut ages: Vec<Micros> = all.collect();
            ages.sort_unstable();
            ages
        };
        let done = ages(|ending| ending == Ending::Completed);
        // Who failed waits for ever.
        let gone = ages(|ending| ending != Ending::Failed);
        let mut remaining = 1.0;
        let steps = done
            .chunk_by(|left, right| left == right)
            .filter_map(|same| {
                let at = *same.first()?;
                // Those censored at this very age still waited at it.
                let waiting = fetches.len() - gone.partition_point(|until| *until < at);
                remaining *= 1.0 - same.len() as f64 / waiting as f64;
                Some(Step { at, remaining })
            })
            .collect();
        let known_until = fetches.iter().map(|fetch| fetch.age).max().unwrap_or_default();
        Self { steps, known_until }
    }
}
