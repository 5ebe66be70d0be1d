//! What a comparison is made from: rounds of two trials.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::Reading;

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
pub enum Arm {
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
