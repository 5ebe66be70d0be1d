//! `summary.json`: what a run showed. Made from the records alone, so it can be made again.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{
    Arm, Bytes, BytesPerSec, CallTotal, CauseShare, Caveat, LateSummary, Law, LogTruth, Micros,
    Outcome, OutcomeCounts, Program, SessionEnd, StepEnd, Verdict, Visibility,
};

/// The document `turnstile --json` prints. Fields are only ever added.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// [`crate::SCHEMA_VERSION`] of the writer.
    pub schema_version: u32,
    /// What the run proves.
    pub verdict: Verdict,
    /// Why, the weightiest first, with the thresholds that were applied.
    pub verdict_reasons: Vec<String>,
    /// Reasons to trust a number less.
    pub caveats: Vec<Caveat>,
    /// The signal that cut the run short.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub interrupted: Option<String>,
    /// The setting of all toggles.
    pub arm: Arm,
    /// The foreign program under test; absent: the mirror, or one that ran already.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub program: Option<Program>,
    /// How its workers were seen; where the trace missed those that served much of the load, as if
    /// there was none.
    #[serde(rename = "sight", default)]
    pub visibility: Visibility,
    /// Length of the measure phase as it was; zero when there was none.
    #[serde(default)]
    pub measured_us: Micros,
    /// Fetches without load.
    pub idle: FetchSummary,
    /// Fetches under load.
    pub measure: FetchSummary,
    /// The downloads.
    pub slow: SlowSummary,
    /// The proxy and its workers.
    pub proxy: ProxySummary,
    /// What held the late fetches, the largest part first; empty when none was late or nothing is
    /// known of them.
    #[serde(default)]
    pub causes: Vec<CauseShare>,
    /// The late fetches.
    #[serde(default)]
    pub late: LateSummary,
    /// The law beside the measurement; absent where it says nothing: no downloads, or no steps
    /// known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub law: Option<Law>,
    /// The access log beside the truth.
    #[serde(default)]
    pub log_truth: LogTruth,
    /// Where the access log's time and the true time of a failed or slow fetch differ most.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub log_gap: Option<LogGap>,
}

/// The fetches of one phase.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FetchSummary {
    /// All of them.
    pub attempts: u64,
    /// How they ended; the sum is `attempts`.
    pub outcomes: OutcomeCounts,
    /// Real start to end, all outcomes; timeouts at their true age.
    pub latency_us: LatencyUs,
    /// Intended start to end, all outcomes.
    pub response_us: LatencyUs,
    /// Share that failed of those that could be tried ([`OutcomeCounts::failed_share`]); zero when
    /// there was none.
    pub failed_share: f64,
    /// Attempts that the cap cut short: their time is a lower bound.
    #[serde(default)]
    pub censored: u64,
    /// The fast client's own lateness: real start after intended start.
    pub lag_us: LatencyUs,
    /// By when those that could be tried were done, real start to end, one that failed never; absent:
    /// there was none, or an earlier build made the summary.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub completion_us: Option<CompletionUs>,
}

/// By when so many of all fetches had their whole answer, us. Absent: that many never had, since a
/// fetch that failed is not done, however soon it failed. Percentiles as in [`LatencyUs`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompletionUs {
    /// Half of them.
    pub p50: Option<u64>,
    /// 90 of 100.
    pub p90: Option<u64>,
    /// 99 of 100.
    pub p99: Option<u64>,
    /// All.
    pub max: Option<u64>,
}

/// A distribution in a few figures, us. Percentiles from an HDR histogram of 3 digits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LatencyUs {
    /// Smallest.
    pub min: u64,
    /// Median.
    pub p50: u64,
    /// 90th percentile.
    pub p90: u64,
    /// 99th percentile.
    pub p99: u64,
    /// Largest.
    pub max: u64,
    /// Mean; of censored samples a lower bound.
    pub mean: u64,
}

impl Summary {
    /// Good fetches in a second of the measure phase; `None`: there was no such phase.
    pub fn good_per_sec(&self) -> Option<f64> {
        let good = self.measure.outcomes.count(Outcome::Ok) as f64;
        (self.measured_us.0 > 0).then(|| good / self.measured_us.as_secs())
    }

    /// Whether the measured median is the cap of the fetches: half of them or more were cut short, and
    /// would have taken longer.
    pub fn median_is_cap(&self) -> bool {
        self.measure.censored > 0 && self.measure.latency_us.p50 >= self.arm.fetch.cap.0
    }
}

/// The downloads, over the measure phase.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SlowSummary {
    /// In parallel.
    pub downloads: u64,
    /// Received in the measure phase.
    pub bytes: Bytes,
    /// The same as a rate.
    pub bytes_per_sec: BytesPerSec,
    /// Downloads that ended whole in the run.
    pub completed: u64,
    /// Downloads that ended otherwise while the trial wanted them.
    pub broken: u64,
    /// Rate of each slot in the measure phase.
    pub slot_bytes_per_sec: Vec<BytesPerSec>,
    /// The smallest of them.
    #[serde(default)]
    pub slowest_slot: BytesPerSec,
    /// The largest of them.
    #[serde(default)]
    pub fastest_slot: BytesPerSec,
    /// Times of whole downloads, us, ascending.
    pub completed_us: Vec<Micros>,
    /// Workers that held a download in the measure phase.
    pub workers_holding: u64,
    /// What one step of a download moved on the proxy, over whole sessions; absent: no steps seen.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub bytes_per_step: Option<Bytes>,
}

/// The proxy, told by its log and its workers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProxySummary {
    /// Status codes of fetches as the access log saw them, measure phase.
    pub status_counts: BTreeMap<u16, u64>,
    /// What the clients of those log lines saw: status, then outcome.
    pub status_outcomes: BTreeMap<u16, OutcomeCounts>,
    /// Fetches of the measure phase that no log line tells of.
    pub unlogged: OutcomeCounts,
    /// 499-style early closes: fetches for which the proxy recorded 499. Zero also where it has no
    /// log: [`Self::logged_early_closes`].
    pub early_closes: u64,
    /// How the sessions of fetches ended, measure phase.
    pub session_ends: BTreeMap<SessionEnd, u64>,
    /// By worker.
    pub workers: Vec<WorkerSummary>,
    /// CPU time of all its processes in the measure phase; absent: unknown.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cpu_us: Option<Micros>,
    /// The same for each GB (1e9 bytes) that clients received meanwhile.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cpu_us_per_gb: Option<Micros>,
    /// System calls of all workers over the whole run, by name; empty: not traced.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub calls: BTreeMap<String, CallTotal>,
    /// Sleeps of 5 ms or more outside the poll, by system call, over the load and measure phases.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub blocked: BTreeMap<String, BlockedSummary>,
    /// Times of 20 ms or more in which a worker was not seen in its poll, over the load and measure
    /// phases; absent: not sampled.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub absences: Option<AbsenceSummary>,
}

impl ProxySummary {
    /// 499-style early closes, as far as the proxy's log tells of fetches; `None`: it tells of none,
    /// as of a proxy without a log (`exec:`, `url:`).
    pub fn logged_early_closes(&self) -> Option<u64> {
        (!self.status_counts.is_empty()).then_some(self.early_closes)
    }
}

/// Sleeps of workers in one system call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockedSummary {
    /// How many.
    pub sleeps: u64,
    /// All together.
    pub time_us: Micros,
    /// The longest.
    pub longest_us: Micros,
}

/// Times in which workers were not seen in their polls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AbsenceSummary {
    /// How many.
    pub absences: u64,
    /// All together.
    pub time_us: Micros,
    /// The longest.
    pub longest_us: Micros,
    /// Whose that was.
    pub longest_worker: u32,
    /// Looks in all of them.
    pub looks: u64,
    /// Of these, found running.
    pub running: u64,
    /// Found ready to run, without a CPU.
    pub waiting: u64,
    /// Found asleep elsewhere.
    pub blocked: u64,
}

/// One worker: sessions, steps and the longest of them over the load and measure phases, until the
/// load was stopped; shares, waits and switches over the measure phase.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WorkerSummary {
    /// Which worker, from 0.
    pub worker: u32,
    /// Sessions it accepted.
    pub sessions: u64,
    /// Downloads among them that were held in the measure phase.
    pub downloads: u64,
    /// Steps.
    pub steps: u64,
    /// Steps of at least the hold length.
    pub holds: u64,
    /// Its longest step; zero when none was as long as a hold and no shorter one is known.
    pub longest_step_us: u64,
    /// Bytes of that step.
    pub longest_step_bytes: u64,
    /// What ended that step.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub longest_step_ended_by: Option<StepEnd>,
    /// Its longest loop turn; zero as above.
    pub longest_loop_turn_us: u64,
    /// Which of the figures below are there; those that are not stand at zero.
    #[serde(default)]
    pub scheduler: SchedulerFigures,
    /// Share of the time on a CPU: user.
    pub user_share: f64,
    /// Share of the time on a CPU: system.
    pub system_share: f64,
    /// Share of the time on a CPU.
    pub cpu_share: f64,
    /// Share of the time ready to run, without a CPU.
    pub wait_share: f64,
    /// Time ready to run, without a CPU.
    pub run_wait_us: u64,
    /// Voluntary switches.
    pub voluntary_switches: u64,
    /// Involuntary switches.
    pub involuntary_switches: u64,
    /// Voluntary switches per second.
    pub voluntary_per_sec: f64,
    /// Involuntary switches per second.
    pub involuntary_per_sec: f64,
}

/// What is known of a worker from the kernel's scheduler.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SchedulerFigures {
    /// All of it.
    #[default]
    All,
    /// CPU time in clock ticks and switches, but no time spent waiting for a CPU: the kernel hides
    /// `schedstat`.
    NoWait,
    /// Nothing: the worker was not sampled twice in the measure phase.
    None,
}

/// One fetch whose log line and truth differ.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LogGap {
    /// Its number.
    pub fetch: u64,
    /// The worker that owned it.
    pub worker: u32,
    /// Status in the log.
    pub status: u16,
    /// `rt` in the log.
    pub logged_us: Micros,
    /// What its client measured.
    pub true_us: Micros,
    /// What its client saw.
    pub outcome: Outcome,
}
