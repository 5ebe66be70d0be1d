//! One figure of one trial.

use serde::{Deserialize, Serialize};

/// The squares of such figures can still be added up.
const LARGEST: f64 = 1e100;

/// A figure of a trial, from 0 to 1e100; in JSON `{"exact": 86000.0}`.
///
/// A percentile that lies beyond the cap of the fetches is known from below only.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", try_from = "Said", into = "Said")]
pub struct Reading {
    value: f64,
    known: Known,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Known {
    Exactly,
    FromBelow,
}

impl Reading {
    /// A figure that was measured.
    ///
    /// # Errors
    /// When `value` is NaN, negative, or above 1e100.
    pub fn exact(value: f64) -> Result<Self, NotAReading> {
        Self::checked(value, Known::Exactly)
    }

    /// A figure that is at least this large: a percentile beyond the cap.
    ///
    /// # Errors
    /// When `value` is NaN, negative, or above 1e100.
    pub fn at_least(value: f64) -> Result<Self, NotAReading> {
        Self::checked(value, Known::FromBelow)
    }

    fn checked(value: f64, known: Known) -> Result<Self, NotAReading> {
        if (0.0..=LARGEST).contains(&value) {
            Ok(Self { value, known })
        } else {
            Err(NotAReading(value))
        }
    }

    /// The figure, or its lower bound.
    pub const fn value(self) -> f64 {
        self.value
    }

    /// Whether only a lower bound is known.
    pub const fn is_bound(self) -> bool {
        matches!(self.known, Known::FromBelow)
    }
}

/// A number that no trial can have as a figure.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("{0} is no figure of a trial: it must be from 0 to 1e100")]
pub struct NotAReading(f64);

/// How a reading stands in JSON.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Said {
    Exact(f64),
    AtLeast(f64),
}

impl From<Reading> for Said {
    fn from(reading: Reading) -> Self {
        match reading.known {
            Known::Exactly => Self::Exact(reading.value),
            Known::FromBelow => Self::AtLeast(reading.value),
        }
    }
}

impl TryFrom<Said> for Reading {
    type Error = NotAReading;
    fn try_from(said: Said) -> Result<Self, NotAReading> {
        match said {
            Said::Exact(value) => Self::exact(value),
            Said::AtLeast(value) => Self::at_least(value),
        }
    }
}
