//! What a comparison is made from: figures of trials, and rounds of two trials.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The squares of such figures can still be added up.
const LARGEST: f64 = 1e100;

/// A figure of a trial, from 0 to 1e100; in JSON `{"exact": 86000.0}`.
///
/// A percentile that lies beyond the cap of the fetches is known from below only.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Known", into = "Known")]
pub struct Reading(Known);

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Known {
    Exact(f64),
    AtLeast(f64),
}

impl Reading {
    /// A figure that was measured.
    ///
    /// # Errors
    /// When `value` is NaN, negative, or above 1e100.
    pub fn exact(value: f64) -> Result<Self, NotAReading> {
        Known::Exact(value).try_into()
    }

    /// A figure that is at least this large: a percentile beyond the cap.
    ///
    /// # Errors
    /// When `value` is NaN, negative, or above 1e100.
    pub fn at_least(value: f64) -> Result<Self, NotAReading> {
        Known::AtLeast(value).try_into()
    }

    /// The figure, or its lower bound.
    pub const fn value(self) -> f64 {
        match self.0 {
            Known::Exact(value) | Known::AtLeast(value) => value,
        }
    }

    /// Whether only a lower bound is known.
    pub const fn is_bound(self) -> bool {
        matches!(self.0, Known::AtLeast(_))
    }
}

/// A number that no trial can have as a figure.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("{0} is no figure of a trial: it must be from 0 to 1e100")]
pub struct NotAReading(f64);

impl TryFrom<Known> for Reading {
    type Error = NotAReading;
    fn try_from(known: Known) -> Result<Self, NotAReading> {
        let reading = Self(known);
        let value = reading.value();
        if (0.0..=LARGEST).contains(&value) { Ok(reading) } else { Err(NotAReading(value)) }
    }
}

impl From<Reading> for Known {
    fn from(reading: Reading) -> Self {
        reading.0
    }
}

/// One trial of each of two arms, run one after the other, in an order left to chance.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Round {
    /// Its number, as reports name it.
    pub number: u32,
    /// The trial of the arm that is compared against.
    pub a: Trial,
    /// The trial of the arm that is compared.
    pub b: Trial,
}

/// One of the two arms of a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PairArm {
    /// The one compared against.
    A,
    /// The one compared.
    B,
}

/// What one trial has to say.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// Why it proves nothing, if so: its round is then left out.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub inconclusive: Option<String>,
    /// The host's own baseline: the control metric, without load. A baseline that the whole round
    /// shares stands at both trials.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub control: Option<Reading>,
    /// By the metric's name. What a trial does not know is not there.
    pub readings: BTreeMap<String, Reading>,
}
