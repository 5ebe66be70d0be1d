//! What is compared: a metric's name, which way is better, and what change of it matters.

mod standard;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

/// A figure that every trial has, and the change of it that counts.
///
/// The *floor* is the smallest change that matters to anybody; the *widest* is the interval beyond
/// which a comparison is blind: it could not have shown even a change that everybody would notice.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Said", into = "Said")]
pub struct Metric {
    said: Said,
}

/// Which way is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// Latencies, failures, steps.
    LowerIsBetter,
    /// Rates.
    HigherIsBetter,
}

/// How two values are set against each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scale {
    /// B minus A: for shares, which may be zero.
    Difference,
    /// B over A, reckoned in logarithms: for times and rates, whose noise is proportional.
    Ratio,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Said {
    name: String,
    unit: String,
    direction: Direction,
    scale: Scale,
    /// Share of the value; zero on the difference scale.
    relative_floor: f64,
    /// In `unit`.
    absolute_floor: f64,
    /// A factor on the ratio scale, in `unit` on the difference scale.
    widest: f64,
    #[serde(default)]
    weight: Weight,
}

/// Whose word counts first where metrics changed in opposite ways.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Weight {
    /// How many fetches fail: what becomes of the others is no gain beside it.
    Failures,
    /// What becomes of fetches: the question itself.
    #[default]
    Fetches,
    /// What the proxy does, whether or not a fetch suffers from it: its longest step.
    Proxy,
    /// What it costs: the downloads' rate.
    Price,
}

/// A change of this factor is noticed by everybody: what cannot show it is blind.
const WIDEST_FACTOR: f64 = 4.0;
/// The same of differences, in floors: of failed fetches a quarter of all.
const WIDEST_FLOORS: f64 = 5.0;

impl Metric {
    /// A metric compared by ratio. A change counts from `relative_floor` (0.25: a quarter more, or
    /// as much less by ratio) *and* `absolute_floor` (in `unit`) on. Values below `absolute_floor`
    /// count as it: nobody cares how many times smaller than nothing something is. Blind from a
    /// factor of 4 on, unless [`Self::with_widest`] says otherwise.
    ///
    /// # Errors
    /// When the name is empty, or a floor is not finite and above zero.
    pub fn ratio(
        name: &str,
        unit: &str,
        direction: Direction,
        relative_floor: f64,
        absolute_floor: f64,
    ) -> Result<Self, MetricError> {
        let scale = Scale::Ratio;
        Said {
            name: name.to_owned(),
            unit: unit.to_owned(),
            direction,
            scale,
            relative_floor,
            absolute_floor,
            widest: WIDEST_FACTOR,
            weight: Weight::default(),
        }
        .try_into()
    }

    /// A metric compared by difference. A change counts from `absolute_floor` (in `unit`) on. Blind
    /// from five floors on, unless [`Self::with_widest`] says otherwise.
    ///
    /// # Errors
    /// When the name is empty, or the floor is not finite and above zero.
    pub fn difference(
        name: &str,
        unit: &str,
        direction: Direction,
        absolute_floor: f64,
    ) -> Result<Self, MetricError> {
        let scale = Scale::Difference;
        Said {
            name: name.to_owned(),
            unit: unit.to_owned(),
            direction,
            scale,
            relative_floor: 0.0,
            absolute_floor,
            widest: WIDEST_FLOORS * absolute_floor,
            weight: Weight::default(),
        }
        .try_into()
    }

    /// The same metric, blind from `widest` on: a factor above 1, or a difference in `unit`.
    ///
    /// # Errors
    /// When `widest` is not finite, or smaller than the floor.
    pub fn with_widest(self, widest: f64) -> Result<Self, MetricError> {
        Said { widest, ..self.said }.try_into()
    }

    /// The same metric, with this weight; [`Weight::Fetches`] unless it is said.
    #[must_use]
    pub fn with_weight(self, weight: Weight) -> Self {
        Self { said: Said { weight, ..self.said } }
    }

    /// Whose word counts first.
    pub const fn weight(&self) -> Weight {
        self.said.weight
    }

    /// The name used in records and thresholds: `p99`.
    pub fn name(&self) -> &str {
        &self.said.name
    }

    /// The unit of its values: `us`.
    pub fn unit(&self) -> &str {
        &self.said.unit
    }

    /// Which way is better.
    pub const fn direction(&self) -> Direction {
        self.said.direction
    }

    /// How two values are set against each other.
    pub const fn scale(&self) -> Scale {
        self.said.scale
    }

    /// The smallest change that counts, in `unit`.
    pub const fn absolute_floor(&self) -> f64 {
        self.said.absolute_floor
    }

    /// The smallest change that counts, as a share of the value; zero on the difference scale.
    pub const fn relative_floor(&self) -> f64 {
        self.said.relative_floor
    }

    /// The floor where differences are reckoned: a logarithm on the ratio scale.
    pub(crate) fn floor(&self) -> f64 {
        match self.said.scale {
            Scale::Difference => self.said.absolute_floor,
            Scale::Ratio => self.said.relative_floor.ln_1p(),
        }
    }

    /// The widest half of an interval that still tells something, reckoned as [`Self::floor`].
    pub(crate) fn widest(&self) -> f64 {
        match self.said.scale {
            Scale::Difference => self.said.widest,
            Scale::Ratio => self.said.widest.ln(),
        }
    }

    /// From here on half an interval tells nothing, and is not shown: a factor of 100.
    pub(crate) fn untold(&self) -> f64 {
        match self.said.scale {
            Scale::Difference => f64::INFINITY,
            Scale::Ratio => 100.0_f64.ln(),
        }
    }

    /// The nearest difference that there can be: of shares none is above 1.
    pub(crate) fn possible(&self, difference: f64) -> f64 {
        if self.said.unit == "share" { difference.clamp(-1.0, 1.0) } else { difference }
    }

    /// A value where differences are reckoned.
    pub(crate) fn reckoned(&self, value: f64) -> f64 {
        match self.said.scale {
            Scale::Difference => value,
            Scale::Ratio => value.max(self.said.absolute_floor).ln(),
        }
    }

    /// A reckoned value or difference as people say it: a value in `unit`, a difference, a factor.
    pub(crate) fn said(&self, reckoned: f64) -> f64 {
        match self.said.scale {
            Scale::Difference => reckoned,
            // exp(700) is near the largest f64: no factor is infinite.
            Scale::Ratio => reckoned.clamp(-700.0, 700.0).exp(),
        }
    }
}

impl TryFrom<Said> for Metric {
    type Error = MetricError;
    fn try_from(said: Said) -> Result<Self, MetricError> {
        let wrong = |what| MetricError { name: said.name.clone(), what };
        let positive = |value: f64| value.is_finite() && value > 0.0;
        if said.name.is_empty() {
            return Err(wrong("its name is empty"));
        }
        if !positive(said.absolute_floor) {
            return Err(wrong("its absolute floor must be finite and above zero"));
        }
        let relative = match said.scale {
            Scale::Ratio => positive(said.relative_floor),
            Scale::Difference => said.relative_floor == 0.0,
        };
        if !relative {
            return Err(wrong(
                "its relative floor must be finite and above zero, or zero for a difference",
            ));
        }
        let metric = Self { said };
        if metric.said.widest.is_finite() && metric.widest() >= metric.floor() {
            Ok(metric)
        } else {
            let name = metric.said.name;
            Err(MetricError {
                name,
                what: "its widest interval must be finite, and not below its floor",
            })
        }
    }
}

impl From<Metric> for Said {
    fn from(metric: Metric) -> Self {
        metric.said
    }
}

/// A metric that cannot be compared by.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the metric {name:?} cannot be compared by: {what}")]
pub struct MetricError {
    name: String,
    what: &'static str,
}
