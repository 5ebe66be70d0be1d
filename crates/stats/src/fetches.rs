//! Fetches of one arm: the share that failed, with intervals; and their times to completion as a survival
//! curve, how many are not yet done at an age.
//!
//! The curve is that of Kaplan and Meier (1958). A fetch that hit its cap is censored: it was not done by
//! its true age, and would have been done nobody knows when. One that failed otherwise will never be done;
//! it stays among those who wait, to the end (the subdistribution of Fine and Gray 1999). Leaving it out
//! would make a proxy look fast that resets what it cannot serve.

use records::Micros;

use crate::sample::{Numbers, z_critical};
use crate::{Confidence, Interval};

/// So many of so many; never of none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count {
    failed: u64,
    attempts: u64,
}

impl Count {
    /// `None`: there was no attempt, or more failed than were made.
    pub fn new(failed: u64, attempts: u64) -> Option<Self> {
        (attempts > 0 && failed <= attempts).then_some(Self { failed, attempts })
    }

    /// The share that failed.
    fn share(self) -> f64 {
        self.failed as f64 / self.attempts as f64
    }
}

/// A share with its interval at 95 %, all within 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShareInterval {
    /// The share seen.
    pub share: f64,
    /// Where it may be.
    pub interval: Interval,
}

/// Wilson's score interval (1927) of one run's failed share.
///
/// It takes fetches for independent, which those of one run are not: it says how far this run may
/// be from what it would have shown with endless fetches, not how runs differ. For several runs use
/// [`share_over_rounds`].
pub fn wilson(count: Count) -> ShareInterval {
    let (n, share) = (count.attempts as f64, count.share());
    let z = z_critical(Confidence::USUAL.alpha());
    let shrink = 1.0 + z * z / n;
    let centre = (share + z * z / (2.0 * n)) / shrink;
    let reach = z / shrink * (share * (1.0 - share) / n + z * z / (4.0 * n * n)).sqrt();
    ShareInterval::around(share, Interval { low: centre - reach, high: centre + reach })
}

/// The mean of the runs' shares, each run counting once, with the honest interval: the smallest that holds
/// Student's interval over runs and Wilson's over all fetches. Where runs differ the first is the wider;
/// where no fetch failed in any, runs show no difference at all, and the second says how much that
/// is worth. `None` without a run; of one run it is Wilson's, and says nothing of other runs.
pub fn share_over_rounds(runs: &[Count]) -> Option<ShareInterval> {
    let total = |part: fn(&Count) -> u64| runs.iter().map(part).fold(0, u64::saturating_add);
    let all = Count::new(total(|run| run.failed), total(|run| run.attempts))?;
    let mut interval = wilson(all).interval;
    let over_runs = Numbers::Paired(runs.iter().map(|run| run.share()).collect());
    if let Some(over) = over_runs.interval(Confidence::USUAL.alpha()) {
        let (low, high) = (interval.low.min(over.low), interval.high.max(over.high));
        interval = Interval { low, high };
    }
    Some(ShareInterval::around(over_runs.effect(), interval))
}

impl ShareInterval {
    /// At 0 and 1 the ends are exact; rounding must not move the share out of its interval.
    fn around(share: f64, Interval { low, high }: Interval) -> Self {
        let interval = Interval { low: low.clamp(0.0, share), high: high.clamp(share, 1.0) };
        Self { share, interval }
    }
}

/// One fetch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Observation {
    /// How old it became.
    pub age: Micros,
    /// How it ended then.
    pub ending: Ending,
}

/// How a fetch ended, as far as its time tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// Where it goes down, ascending.
    pub steps: Vec<Step>,
    /// The greatest age that any fetch reached: nothing is known beyond.
    pub known_until: Micros,
}

/// One age at which fetches were done.
#[derive(Clone, Copy, Debug, PartialEq)]
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
