//! One metric of two arms over rounds: how much it changed, and whether that counts.

use serde::{Deserialize, Serialize};

use crate::difference::{mean, standard_error};
use crate::interval::over_rounds;
use crate::sign_flip::smallest;
use crate::tail::t_two_sided;
use crate::{Direction, Interval, Metric, Pair, Scale, Seed, Settings, Votes, sign_flip};

#[cfg(test)]
mod tests;

/// The word for a pair of arms: what became of B against A.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// No change that counts was shown, by rounds that could have shown one.
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
    pub const fn name(self) -> &'static str {
        match self {
            Self::NoChange => "no change",
            Self::Improved => "improved",
            Self::Regressed => "regressed",
            Self::Inconclusive => "inconclusive",
        }
    }

    /// The word for A against B.
    #[must_use]
    pub const fn mirrored(self) -> Self {
        match self {
            Self::Improved => Self::Regressed,
            Self::Regressed => Self::Improved,
            same => same,
        }
    }
}

impl std::fmt::Display for Change {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

/// Why a metric says what it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
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
    /// The interval is so wide that hardly any change could have been shown.
    TooWide,
    /// It moved, and the control moved the same way by more than half as many floors.
    ControlMoved,
    /// In every round both arms lie beyond the cap: the metric has no say.
    BeyondCap,
    /// Too few rounds have this metric in both arms.
    TooFewRounds,
}

impl Finding {
    /// What it means for a metric of which more, or less, is better.
    pub const fn change(self, direction: Direction) -> Change {
        match (self, direction) {
            (Self::Higher, Direction::HigherIsBetter) | (Self::Lower, Direction::LowerIsBetter) => {
                Change::Improved
            }
            (Self::Higher, Direction::LowerIsBetter) | (Self::Lower, Direction::HigherIsBetter) => {
                Change::Regressed
            }
            (Self::Excluded | Self::BelowFloor | Self::WithinChance | Self::RoundsDisagree, _) => {
                Change::NoChange
            }
            (Self::TooWide | Self::ControlMoved | Self::BeyondCap | Self::TooFewRounds, _) => {
                Change::Inconclusive
            }
        }
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
            Self::TooWide => "varies so much that hardly any change could be shown",
            Self::ControlMoved => "moved, but so did the host without load",
            Self::BeyondCap => "lies beyond the cap in both arms",
            Self::TooFewRounds => "is known in too few rounds",
        }
    }
}

/// One metric over the usable rounds. Effects and ends of intervals are B minus A, or the factor
/// B over A, as the metric's [`Scale`] says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// What was compared.
    pub metric: Metric,
    /// Rounds that have it in both arms.
    pub rounds: u32,
    /// Those in which both lie beyond the cap; they count as no difference.
    pub hidden: u32,
    /// Those in which one does: the difference is at least the one reckoned with.
    pub bounded: u32,
    /// Mean of A over rounds, in the metric's unit; geometric where ratios are compared.
    pub a: Option<f64>,
    /// The same of B.
    pub b: Option<f64>,
    /// Mean change over rounds.
    pub effect: Option<f64>,
    /// Its interval, at the confidence of the settings, of this metric alone.
    pub interval: Option<Interval>,
    /// Which way the rounds went.
    pub votes: Votes,
    /// Student's p-value of the differences, of this metric alone.
    pub p: Option<f64>,
    /// The same for the whole family of metrics (Holm): what the verdict is made by.
    pub p_family: Option<f64>,
    /// p-value of the sign-flip test, which assumes no distribution.
    pub p_signs: Option<f64>,
    /// Why the metric says what it says.
    pub finding: Finding,
}

impl Comparison {
    /// What became of B against A, by this metric.
    pub const fn change(&self) -> Change {
        self.finding.change(self.metric.direction())
    }

    /// The smallest change that these rounds could have shown, in the shape of `effect`: a
    /// difference, or a factor above 1.
    pub fn smallest_shown(&self) -> Option<f64> {
        let (effect, interval) = (self.effect?, self.interval?);
        Some(match self.metric.scale() {
            Scale::Difference => interval.reach(effect),
            Scale::Ratio => (interval.high / effect).max(effect / interval.low).min(f64::MAX),
        })
    }
}

/// Compares one metric by itself; of several at once use [`crate::judge`], which knows of chance
/// in numbers, and of the control.
pub fn compare(pairs: &[Pair], metric: &Metric, seed: Seed, settings: &Settings) -> Comparison {
    let measured = Measured::new(pairs, metric, seed, settings);
    let p_family = measured.p;
    measured.conclude(p_family, settings)
}

/// Everything about one metric but its part in a family.
pub(crate) struct Measured {
    metric: Metric,
    differences: Vec<f64>,
    hidden: u32,
    bounded: u32,
    a: Option<f64>,
    b: Option<f64>,
    effect: f64,
    interval: Option<Interval>,
    votes: Votes,
    p: Option<f64>,
    p_signs: Option<f64>,
}

impl Measured {
    pub(crate) fn new(pairs: &[Pair], metric: &Metric, seed: Seed, settings: &Settings) -> Self {
        let differences: Vec<f64> = pairs.iter().map(|pair| pair.difference(metric)).collect();
        let typical = |reading: fn(&Pair) -> f64| {
            let values: Vec<f64> =
                pairs.iter().map(|pair| metric.reckoned(reading(pair))).collect();
            (!values.is_empty()).then(|| metric.said(mean(&values)))
        };
        let count = |which: fn(&Pair) -> bool| {
            u32::try_from(pairs.iter().filter(|pair| which(pair)).count()).unwrap_or(u32::MAX)
        };
        Self {
            metric: metric.clone(),
            hidden: count(|pair| pair.is_hidden()),
            bounded: count(|pair| pair.a.is_bound() != pair.b.is_bound()),
            a: typical(|pair| pair.a.value()),
            b: typical(|pair| pair.b.value()),
            effect: mean(&differences),
            interval: over_rounds(&differences, settings, seed),
            votes: Votes::count(&differences, metric.floor()),
            p: student_p(&differences),
            p_signs: sign_flip(&differences, seed),
            differences,
        }
    }

    /// The p-value that this metric brings into a family; `None` when it could raise no alarm
    /// whichever arm each reading were of, so that it need not be guarded against (after
    /// Tarone 1990).
    pub(crate) fn p_at_stake(&self, settings: &Settings) -> Option<f64> {
        let sizes: Vec<f64> = self.differences.iter().map(|d| d.abs()).collect();
        let could = self.has_rounds(settings) && mean(&sizes) >= self.metric.floor();
        if could { self.p } else { None }
    }

    fn has_rounds(&self, settings: &Settings) -> bool {
        self.differences.len() >= settings.min_rounds()
    }

    /// How many floors it moved, with the sign of worse (above zero) or better.
    pub(crate) fn floors_worse(&self) -> f64 {
        let floors = self.effect / self.metric.floor();
        match self.metric.direction() {
            Direction::LowerIsBetter => floors,
            Direction::HigherIsBetter => -floors,
        }
    }

    pub(crate) fn finding(&self, p_family: Option<f64>, settings: &Settings) -> Finding {
        let Some(interval) = self.interval.filter(|_| self.has_rounds(settings)) else {
            return Finding::TooFewRounds;
        };
        if self.hidden as usize == self.differences.len() {
            return Finding::BeyondCap;
        }
        let floor = self.metric.floor();
        let alpha = settings.family_confidence.alpha();
        let by_chance = !interval.excludes_zero()
            || p_family.is_none_or(|p| p > alpha)
            || self.p_signs.is_none_or(|p| p > alpha.max(smallest(self.differences.len())));
        let doubt = if self.effect.abs() < floor || self.is_below_absolute_floor() {
            Finding::BelowFloor
        } else if by_chance {
            Finding::WithinChance
        } else if !self.votes.agree_with(self.effect) {
            Finding::RoundsDisagree
        } else if self.effect > 0.0 {
            return Finding::Higher;
        } else {
            return Finding::Lower;
        };
        if interval.is_within(floor) {
            Finding::Excluded
        } else if interval.reach(self.effect) > self.metric.widest() {
            Finding::TooWide
        } else {
            doubt
        }
    }

    fn is_below_absolute_floor(&self) -> bool {
        match (self.a, self.b) {
            (Some(a), Some(b)) => (b - a).abs() < self.metric.absolute_floor(),
            _ => true,
        }
    }

    pub(crate) fn conclude(self, p_family: Option<f64>, settings: &Settings) -> Comparison {
        let finding = self.finding(p_family, settings);
        let metric = self.metric;
        Comparison {
            rounds: u32::try_from(self.differences.len()).unwrap_or(u32::MAX),
            hidden: self.hidden,
            bounded: self.bounded,
            a: self.a,
            b: self.b,
            effect: (!self.differences.is_empty()).then(|| metric.said(self.effect)),
            interval: self.interval.map(|interval| Interval {
                low: metric.said(interval.low),
                high: metric.said(interval.high),
            }),
            votes: self.votes,
            p: self.p,
            p_family,
            p_signs: self.p_signs,
            finding,
            metric,
        }
    }
}

/// Two-sided p-value of Student's paired t-test; `None` of fewer than two differences.
pub(crate) fn student_p(differences: &[f64]) -> Option<f64> {
    let error = standard_error(differences)?;
    let centre = mean(differences);
    Some(if error > 0.0 {
        t_two_sided(centre / error, differences.len() - 1)
    } else if centre == 0.0 {
        1.0
    } else {
        0.0
    })
}
