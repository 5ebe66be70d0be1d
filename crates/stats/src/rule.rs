//! The numbers of the rule: what is compared, what change of it matters, how sure a comparison must be.
//!
//! They are those that `docs/internals/statistics.md` derives and that the simulations were made with.

use serde::Serialize;

/// A figure that every trial has, and the change of it that counts.
///
/// A change counts from both floors on. On the ratio scale values below `absolute_floor` count as it:
/// nobody cares how many times smaller than nothing something is.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Metric {
    /// The name used in records and thresholds: `p99`.
    pub name: &'static str,
    /// The unit of its values: `us`, `share`, `bytes_per_sec`.
    pub unit: &'static str,
    /// Which way is better.
    pub direction: Direction,
    /// How two values are set against each other.
    pub scale: Scale,
    /// The smallest change that counts, as a share of the value (0.25: a quarter more, or as much less by
    /// ratio); zero on the difference scale.
    pub relative_floor: f64,
    /// The smallest change that counts, in `unit`.
    pub absolute_floor: f64,
    /// Half an interval that is wider than this is blind: it could not have shown even a change that
    /// everybody would notice. A factor on the ratio scale, in `unit` on the difference scale.
    pub widest: f64,
    /// Whose word counts first.
    pub weight: Weight,
}

/// Which way is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// Latencies, failures, steps.
    LowerIsBetter,
    /// Rates.
    HigherIsBetter,
}

/// How two values are set against each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Scale {
    /// B minus A: for shares, which may be zero.
    Difference,
    /// B over A, reckoned in logarithms: for times and rates, whose noise is proportional.
    Ratio,
}

/// Whose word counts first where metrics changed in opposite ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Weight {
    /// How many fetches fail: what becomes of the others is no gain beside it.
    Failures,
    /// What becomes of fetches: the question itself.
    Fetches,
    /// What the proxy does, whether or not a fetch suffers from it: its longest step.
    Proxy,
    /// What it costs: the downloads' rate.
    Price,
}

impl Metric {
    /// What a pair of arms is judged by.
    pub const OF_A_TRIAL: [Self; 6] = [
        Self {
            name: "failed_share",
            unit: "share",
            direction: Direction::LowerIsBetter,
            scale: Scale::Difference,
            relative_floor: 0.0,
            absolute_floor: 0.05,
            // A quarter of all.
            widest: 0.25,
            weight: Weight::Failures,
        },
        Self::latency("p50"),
        Self::latency("p90"),
        Self::latency("p99"),
        Self {
            name: "longest_step",
            relative_floor: 0.50,
            absolute_floor: 10_000.0,
            // Of a run's longest step only an order of magnitude is steady.
            widest: 10.0,
            weight: Weight::Proxy,
            ..Self::latency("")
        },
        Self {
            name: "slow_bytes_per_sec",
            unit: "bytes_per_sec",
            direction: Direction::HigherIsBetter,
            relative_floor: 0.15,
            absolute_floor: 10e6,
            weight: Weight::Price,
            ..Self::latency("")
        },
    ];

    /// The control: the median fetch without load.
    pub const IDLE_P50: Self =
        Self { relative_floor: 0.50, absolute_floor: 1_000.0, ..Self::latency("idle_p50") };

    /// A time of fetches. A change by a factor of 4 is noticed by everybody.
    const fn latency(name: &'static str) -> Self {
        Self {
            name,
            unit: "us",
            direction: Direction::LowerIsBetter,
            scale: Scale::Ratio,
            relative_floor: 0.25,
            absolute_floor: 5_000.0,
            widest: 4.0,
            weight: Weight::Fetches,
        }
    }

    /// That of the two which is of its scale.
    const fn of_scale(&self, difference: f64, ratio: f64) -> f64 {
        match self.scale {
            Scale::Difference => difference,
            Scale::Ratio => ratio,
        }
    }

    /// The floor where differences are reckoned: a logarithm on the ratio scale.
    pub(crate) fn floor(&self) -> f64 {
        self.of_scale(self.absolute_floor, self.relative_floor.ln_1p())
    }

    /// The widest half of an interval that still tells something, reckoned as [`Self::floor`].
    pub(crate) fn widest(&self) -> f64 {
        self.of_scale(self.widest, self.widest.ln())
    }

    /// From here on half an interval tells nothing, and is not shown: a factor of 100.
    pub(crate) fn untold(&self) -> f64 {
        self.of_scale(f64::INFINITY, 100.0_f64.ln())
    }

    /// The nearest difference that there can be: of shares none is above 1.
    pub(crate) fn possible(&self, difference: f64) -> f64 {
        if self.unit == "share" { difference.clamp(-1.0, 1.0) } else { difference }
    }

    /// A value where differences are reckoned; one that no trial can have counts as the nearest that it can.
    pub(crate) fn reckoned(&self, value: f64) -> f64 {
        let value = value.clamp(0.0, LARGEST);
        self.of_scale(value, value.max(self.absolute_floor).ln())
    }

    /// A reckoned value or difference as people say it: a value in `unit`, a difference, a factor.
    pub(crate) fn said(&self, reckoned: f64) -> f64 {
        // exp(700) is near the largest f64: no factor is infinite.
        self.of_scale(reckoned, reckoned.clamp(-700.0, 700.0).exp())
    }
}

/// The squares of such figures can still be added up.
pub(crate) const LARGEST: f64 = 1e100;

/// The numbers of the rule, in one place; `docs/internals/statistics.md` derives them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Settings {
    /// Of each interval by itself: a probability of being right.
    pub confidence: f64,
    /// Of a whole judgement: two equal arms are called changed, by whichever metric, in no more
    /// than the rest, so that of twenty such judgements one is wrong at most, nearly always.
    pub family_confidence: f64,
    /// Fewest usable rounds.
    pub min_rounds: usize,
    /// Fewest usable rounds among those that were run, per cent.
    pub min_usable_percent: usize,
    /// A trial whose control is further than this factor from its arm's median was disturbed; per cent.
    pub steady_percent: u32,
}

/// What every judgement is made by.
pub(crate) const RULE: Settings = Settings {
    confidence: 0.95,
    family_confidence: 0.98,
    min_rounds: 3,
    min_usable_percent: 50,
    steady_percent: 200,
};

impl Settings {
    /// How many of `run` rounds must be usable.
    pub(crate) fn needed_rounds(&self, run: usize) -> usize {
        self.min_rounds.max((run * self.min_usable_percent).div_ceil(100))
    }
}
