//! An arm of a campaign as it is asked for, and what it came to over all its trials.
//!
//! A percentile of an arm is the median of its trials' percentiles: a run is the unit, not a fetch.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Bytes, BytesPerSec, Micros, Verdict};

/// One setting of all toggles, by the words that set it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArmSpec {
    /// How tables call it.
    pub name: String,
    /// The options, as words.
    pub args: Vec<String>,
}

/// `name: --option value`, as a shell takes it.
impl fmt::Display for ArmSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name, shell_line(&self.args))
    }
}

/// Words as a shell takes them. What no shell can take is shown as it is.
pub fn shell_line(words: &[String]) -> String {
    shlex::try_join(words.iter().map(String::as_str)).unwrap_or_else(|_| words.join(" "))
}

/// One arm over all its trials: a row of the table of a campaign, also as `turnstile zoo --json` prints
/// it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ArmRow {
    /// The arm.
    pub name: String,
    /// Trials.
    pub trials: u64,
    /// How they were judged.
    pub verdicts: BTreeMap<Verdict, u64>,
    /// Fetches under load, of all trials.
    pub attempts: u64,
    /// Of these, those that this host could try.
    pub tried: u64,
    /// Of these, failed.
    pub failed: u64,
    /// 499-style early closes, of all trials; absent: no log tells of their fetches.
    pub early_closes: Option<u64>,
    /// Median of the medians before the load.
    pub idle_p50: Micros,
    /// Median of the trials' medians.
    pub p50: Micros,
    /// Median of the trials' 90th percentiles.
    pub p90: Micros,
    /// Median of the trials' 99th percentiles.
    pub p99: Micros,
    /// The slowest fetch of all.
    pub max: Micros,
    /// Median rate of all downloads together.
    pub slow_rate: BytesPerSec,
    /// The longest step of all, as far as steps are known.
    pub longest_step: Option<Micros>,
    /// The longest loop turn of all, as far as turns are known.
    pub longest_turn: Option<Micros>,
    /// Median of the bytes that one step of a download moved, as far as steps are known.
    pub bytes_per_step: Option<Bytes>,
    /// Median CPU time for each GB.
    pub cpu_per_gb: Option<Micros>,
    /// Median share of a CPU that all workers used.
    pub cpu_share: Option<f64>,
    /// What was under test, as it names itself.
    pub version: Option<String>,
}
