//! One metric of two arms over rounds: how much it changed, and whether that counts.

use serde::Serialize;
use strum::{Display, IntoStaticStr};

use crate::rule::RULE;
use crate::sample::{Design, Numbers, mean};
use crate::{Direction, Interval, Metric, Reading, Scale, Votes};

/// The word for a pair of arms: what became of B against A.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Display, IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "lowercase")]
pub enum Change {
    /// No change that counts was shown, by rounds that could have shown one.
    #[strum(to_string = "no change")]
    NoChange,
    /// B is better.
    Improved,
    /// B is worse.
    Regressed,
    /// The rounds prove nothing.
    Inconclusive,
}

impl Change {
    /// The word used in reports.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// Why a metric says what it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Finding {
    /// It counts: beyond the floor, beyond chance, and the rounds agree.
    Higher,
    /// The same, downwards.
    Lower,
    /// The whole interval lies within the floor: a change that counts is excluded.
    Excluded,
    /// The change is smaller than the floor; the interval reaches beyond it.
    BelowFloor,
    /// Chance does as much: the interval holds zero, or one metric of so many does so.
    WithinChance,
    /// Fewer than two in three of the rounds that moved went the way of the mean.
    RoundsDisagree,
    /// The interval is so wide that a change everybody would notice could not have been shown.
    TooWide,
    /// It moved, and the control moved the same way by more than half as many floors.
    ControlMoved,
    /// In every round both arms lie beyond the cap: the metric has no say.
    BeyondCap,
    /// Too few rounds have this metric in both arms.
    TooFewRounds,
}

impl Finding {
    /// Whether the metric changed.
    pub const fn is_change(self) -> bool {
        matches!(self, Self::Higher | Self::Lower)
    }

    /// Said of "the metric ...".
    pub const fn text(self) -> &'static str {
        match self {
            Self::Higher => "is higher",
            Self::Lower => "is lower",
            Self::Excluded => "did not change by as much as counts",
            Self::BelowFloor => "changed less than counts",
            Self::WithinChance => "changed no more than chance does",
            Self::RoundsDisagree => "changed one way in some rounds and the other way in others",
            Self::TooWide => "varies too much to show a change",
            Self::ControlMoved => "moved, but so did the host without load",
            Self::BeyondCap => "lies beyond the cap in both arms",
            Self::TooFewRounds => "is known in too few rounds",
        }
    }
}

/// One metric over the usable rounds. Effects and ends of intervals are B minus A, or the factor
/// B over A, as the metric's [`Scale`] says.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MetricComparison {
    /// What was compared.
    pub metric: Metric,
    /// Rounds that have it in both arms; of two samples, of the one that has fewer.
    pub rounds: u32,
    /// Whether A knows it in so many usable rounds that B should.
    pub expected: Expected,
    /// Mean of A over rounds, in the metric's unit; geometric where ratios are compared.
    pub a: Option<f64>,
    /// The same of B.
    pub b: Option<f64>,
    /// Mean change over rounds.
    pub effect: Option<f64>,
    /// Its interval, at the confidence of the settings, of this metric alone. Absent: fewer than two
    /// rounds, or so wide that they tell nothing (more than a factor of 100 to a side).
    pub interval: Option<Interval>,
    /// Which way the rounds went.
    pub votes: Votes,
    /// p-value of Student's or Welch's test, of this metric alone.
    pub p: Option<f64>,
    /// The same for the whole family of metrics (Holm): what the verdict is made by.
    pub p_family: Option<f64>,
    /// Why the metric says what it says.
    pub finding: Finding,
}

/// Whether a metric is there to be missed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Expected {
    /// A knows it.
    Yes,
    /// A does not: nobody could say what became of it.
    No,
}

impl MetricComparison {
    /// What became of B against A, by this metric.
    pub const fn change(&self) -> Change {
        use {Direction::*, Finding::*};
        match (self.finding, self.metric.direction) {
            (Higher, HigherIsBetter) | (Lower, LowerIsBetter) => Change::Improved,
            (Higher | Lower, _) => Change::Regressed,
            (Excluded | BelowFloor | WithinChance | RoundsDisagree, _) => Change::NoChange,
            (TooWide | ControlMoved | BeyondCap | TooFewRounds, _) => Change::Inconclusive,
        }
    }

    /// The smallest change that these rounds could have shown, in the shape of `effect`: a
    /// difference, or a factor above 1; never below the floor. `None`: none within reason.
    pub fn smallest_shown(&self) -> Option<f64> {
        let (effect, interval) = (self.effect?, self.interval?);
        let (reach, floor) = match self.metric.scale {
            Scale::Difference => (interval.reach(effect), self.metric.absolute_floor),
            Scale::Ratio => (
                (interval.high / effect).max(effect / interval.low).min(f64::MAX),
                1.0 + self.metric.relative_floor,
            ),
        };
        Some(reach.max(floor))
    }

    /// Whether nobody knows what became of a metric that was asked for. One that lies beyond the cap in
    /// both arms is known to be as bad as it can be, and one that A does not know is not missed.
    pub fn is_unknown(&self) -> bool {
        match self.finding {
            Finding::TooWide | Finding::ControlMoved => true,
            Finding::TooFewRounds => self.expected == Expected::Yes,
            _ => false,
        }
    }
}

/// One metric before it is held against chance in its family.
pub(crate) struct Measured {
    /// What it will be: the finding is open.
    told: MetricComparison,
    numbers: Numbers,
    /// The finding, where the metric cannot be compared.
    settled: Option<Finding>,
}

impl Measured {
    /// One metric by its readings in A and in B; of pairs, where both have one. So many rounds of each
    /// are `needed`.
    pub(crate) fn new(
        metric: &Metric,
        design: Design,
        [a, b]: [&[Reading]; 2],
        expected: Expected,
        [of_a, of_b]: [usize; 2],
    ) -> Self {
        let numbers = Numbers::of(design, a, b, metric);
        let mean_of = |arm: &[Reading]| {
            let values: Vec<f64> = arm.iter().map(|r| metric.reckoned(r.value())).collect();
            (!values.is_empty()).then(|| metric.said(mean(&values)))
        };
        let settled = if a.len() < of_a || b.len() < of_b {
            Some(Finding::TooFewRounds)
        } else {
            let all_bounds = a.iter().chain(b).all(|reading| reading.is_bound());
            all_bounds.then_some(Finding::BeyondCap)
        };
        let (rounds, effect) = (a.len().min(b.len()), numbers.effect());
        let told = numbers
            .interval(1.0 - RULE.confidence)
            .filter(|interval| interval.reach(effect) <= metric.untold());
        let told = MetricComparison {
            metric: *metric,
            rounds: u32::try_from(rounds).unwrap_or(u32::MAX),
            expected,
            a: mean_of(a),
            b: mean_of(b),
            effect: (rounds > 0).then(|| metric.said(effect)),
            interval: told.map(|interval| Interval {
                low: metric.said(metric.possible(interval.low)),
                high: metric.said(metric.possible(interval.high)),
            }),
            votes: numbers.votes(metric.floor()),
            p: numbers.p(),
            p_family: None,
            finding: Finding::TooFewRounds,
        };
        Self { told, numbers, settled }
    }

    /// The p-value that this metric brings into a family; `None` when it could raise no alarm
    /// whichever arm each reading were of, so that it need not be guarded against (after
    /// Tarone 1990).
    pub(crate) fn p_at_stake(&self) -> Option<f64> {
        let could = self.settled != Some(Finding::TooFewRounds)
            && self.numbers.largest_effect() >= self.told.metric.floor();
        if could { self.told.p } else { None }
    }

    /// How many floors it moved, with the sign of worse (above zero) or better.
    pub(crate) fn floors_worse(&self) -> f64 {
        let floors = self.numbers.effect() / self.told.metric.floor();
        match self.told.metric.direction {
            Direction::LowerIsBetter => floors,
            Direction::HigherIsBetter => -floors,
        }
    }

    fn finding(&self, p_family: Option<f64>) -> Finding {
        let interval = match (self.numbers.interval(1.0 - RULE.confidence), self.settled) {
            (Some(interval), None) => interval,
            (Some(_), Some(settled)) => return settled,
            (None, _) => return Finding::TooFewRounds,
        };
        let MetricComparison { metric, a, b, votes, .. } = &self.told;
        let (effect, floor) = (self.numbers.effect(), metric.floor());
        // On either scale.
        let differ = a.zip(*b).is_some_and(|(a, b)| (b - a).abs() >= metric.absolute_floor);
        let alpha = 1.0 - RULE.family_confidence;
        let by_chance = !interval.excludes_zero() || p_family.is_none_or(|p| p > alpha);
        let doubt = if effect.abs() < floor || !differ {
            Finding::BelowFloor
        } else if by_chance {
            Finding::WithinChance
        } else if !votes.agree_with(effect) {
            Finding::RoundsDisagree
        } else if effect > 0.0 {
            return Finding::Higher;
        } else {
            return Finding::Lower;
        };
        if interval.is_within(floor) {
            Finding::Excluded
        } else if interval.reach(effect) > metric.widest() {
            Finding::TooWide
        } else {
            doubt
        }
    }

    /// The comparison, by the p-value that the metric has in its family.
    pub(crate) fn conclude(&self, p_family: Option<f64>) -> MetricComparison {
        MetricComparison { p_family, finding: self.finding(p_family), ..self.told.clone() }
    }
}
