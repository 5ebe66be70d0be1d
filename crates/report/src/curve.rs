//! Latency as a percentile curve and as a survival curve. Timeouts stay in both at their true age.

use records::{Fetch, Micros, Outcome};
use serde::Serialize;
use stats::{Curve, Ending, Observation};

/// So many points are enough for any figure; beyond, those near each other are left out.
const POINTS: usize = 400;

/// Latencies by rank.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LatencyCurve {
    /// How many fetches.
    pub fetches: usize,
    /// Ascending in both.
    pub points: Vec<LatencyPoint>,
}

/// A latency, and up to which share of fetches it holds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LatencyPoint {
    /// Share of fetches that took at most so long, above 0 to 1.
    pub share: f64,
    /// Start to end.
    pub us: u64,
    /// Whether this one did not end `ok`: its time is no latency but when it was given up.
    pub failed: bool,
}

/// A point of the survival curve: from here on, so much is not yet done.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SurvivalPoint {
    /// The age.
    pub us: u64,
    /// Share not yet done after it.
    pub remaining: f64,
}

impl LatencyCurve {
    pub(crate) fn of<'a>(fetches: impl Iterator<Item = &'a Fetch>) -> Self {
        let mut all: Vec<(u64, bool)> =
            fetches.map(|fetch| (fetch.total_us.0, fetch.outcome != Outcome::Ok)).collect();
        all.sort_unstable();
        let count = all.len();
        // Near the tail every rank is kept; before it, so many as can be told apart.
        let spacing = |rank: usize| ((count - rank) / (POINTS / 4)).max(1);
        let mut points = Vec::new();
        let mut rank = 0;
        while let Some(&(us, failed)) = all.get(rank) {
            points.push(LatencyPoint { share: (rank + 1) as f64 / count as f64, us, failed });
            rank += spacing(rank);
        }
        Self { fetches: count, points }
    }
}

pub(crate) fn survival<'a>(fetches: impl Iterator<Item = &'a Fetch>) -> Vec<SurvivalPoint> {
    let observations: Vec<Observation> = fetches
        .map(|fetch| Observation { age: fetch.total_us, ending: ending(fetch.outcome) })
        .collect();
    points(&Curve::new(&observations))
}

/// Points of a curve, as many as a figure needs; none of a curve of no fetch.
pub(crate) fn points(curve: &Curve) -> Vec<SurvivalPoint> {
    if curve.known_until == Micros(0) {
        return Vec::new();
    }
    let every = curve.steps.len().div_ceil(POINTS).max(1);
    let last = curve.steps.len().saturating_sub(1);
    let mut points = vec![SurvivalPoint { us: 0, remaining: 1.0 }];
    for (place, step) in curve.steps.iter().enumerate() {
        if place % every == 0 || place == last {
            points.push(SurvivalPoint { us: step.at.0, remaining: step.remaining });
        }
    }
    let Micros(end) = curve.known_until;
    if let Some(&SurvivalPoint { remaining, us }) = points.last()
        && end > us
    {
        points.push(SurvivalPoint { us: end, remaining });
    }
    points
}

/// As the statistics take it: a cap and a fault of the client's own host are censored.
const fn ending(outcome: Outcome) -> Ending {
    match outcome {
        Outcome::Ok => Ending::Completed,
        Outcome::LocalError => Ending::Censored,
        other if other.is_censored() => Ending::Censored,
        _ => Ending::Failed,
    }
}
