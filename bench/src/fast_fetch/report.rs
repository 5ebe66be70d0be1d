//! What an arm's fetches came to, as a table for people and a document for programs. Pure.

use std::fmt::Write;

use records::{
    Arrivals, Bytes, BytesPerSec, FetchToggles, LatencyUs, Micros, Outcome, OutcomeCounts,
};
use serde::Serialize;

use super::arm::Arm;
use super::tally::Tally;

#[cfg(test)]
mod tests;

/// All arms that one run measured. `fast_fetch.json` is this.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Report {
    /// Of this document. Fields may be added within one version.
    schema_version: u32,
    /// Whether all arms that were to run have run.
    pub(super) completeness: Completeness,
    /// When a fetch starts.
    arrivals: Arrivals,
    /// What a fetch asks for.
    fetch_bytes: Bytes,
    /// When a fetch gives up.
    cap_us: Micros,
    /// In the order in which they ran.
    pub(super) arms: Vec<ArmReport>,
}

/// See [`Report`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Completeness {
    /// More arms are to come; or the run has failed or was interrupted.
    Partial,
    /// All that were not filtered out.
    Complete,
}

/// One arm: every fetch that criterion was given, those of its warm-up as well.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct ArmReport {
    arm: String,
    listener: &'static str,
    attempts: u64,
    outcomes: OutcomeCounts,
    failed_share: f64,
    /// Fetches that the cap ended: their time is a lower bound.
    censored: u64,
    /// Fetches of which the proxy recorded status 499.
    early_closes_499: u64,
    /// Fetches that were connected, but of which the proxy recorded nothing.
    sessions_missing: u64,
    /// Fetches that the fast client itself started late: by more than a tenth of the cap.
    late_starts: u64,
    /// Start to end of every fetch, whatever its outcome.
    latency_us: LatencyUs,
    /// The downloads beside them; absent: there were none.
    #[serde(skip_serializing_if = "Option::is_none")]
    load: Option<LoadReport>,
}

/// The downloads of an arm.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct LoadReport {
    /// How many each worker held.
    pub(super) downloads_by_worker: Vec<u32>,
    /// All together, from the first fetch to the last; absent: too short to tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) bytes_per_sec: Option<BytesPerSec>,
    /// The longest time in which all downloads of a worker received nothing.
    pub(super) longest_standstill_us: Micros,
}

/// A standstill that is worth a caveat: twenty of the slow client's intervals.
const LONG_STANDSTILL: Micros = Micros(1_000_000);

impl Default for Report {
    fn default() -> Self {
        let FetchToggles { arrivals, fetch_size, cap, .. } = FetchToggles::default();
        Self {
            schema_version: 1,
            completeness: Completeness::Partial,
            arrivals,
            fetch_bytes: fetch_size,
            cap_us: cap,
            arms: Vec::new(),
        }
    }
}

impl ArmReport {
    /// The figures of `tally`.
    pub(super) fn new(arm: &Arm, tally: &Tally, cap: Micros, load: Option<LoadReport>) -> Self {
        let outcomes = tally.outcomes();
        let censored = Outcome::ALL.into_iter().filter(|outcome| outcome.is_censored());
        Self {
            arm: arm.name().to_owned(),
            listener: arm.listener_name(),
            attempts: outcomes.attempts(),
            failed_share: outcomes.failed_share().unwrap_or(0.0),
            censored: censored.map(|outcome| outcomes.count(outcome)).sum(),
            early_closes_499: tally.early_closes(),
            sessions_missing: tally.untold(),
            late_starts: tally.late_starts(cap),
            latency_us: tally.latency(),
            outcomes,
            load,
        }
    }

    fn cells(&self) -> [String; 11] {
        let LatencyUs { p50, p90, p99, max, .. } = self.latency_us;
        let [p50, p90, p99, max] = [p50, p90, p99, max].map(|time| Micros(time).to_string());
        let load = self.load.as_ref();
        let held = load.map(|load| {
            let held: Vec<String> = load.downloads_by_worker.iter().map(u32::to_string).collect();
            held.join("/")
        });
        let rate = load.and_then(|load| load.bytes_per_sec).map(|rate| rate.to_string());
        let or_none = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
        [
            format!("{}/{}", self.arm, self.listener),
            self.attempts.to_string(),
            self.outcomes.count(Outcome::Ok).to_string(),
            self.censored.to_string(),
            self.early_closes_499.to_string(),
            p50,
            p90,
            p99,
            max,
            or_none(rate),
            or_none(held),
        ]
    }

    /// Reasons to trust the figures less.
    fn caveats(&self) -> impl Iterator<Item = String> {
        let name = format!("{}/{}", self.arm, self.listener);
        let load = self.load.as_ref();
        let uneven = load
            .map(|load| &load.downloads_by_worker)
            .is_some_and(|held| held.iter().min() != held.iter().max());
        let standstill = load.map(|load| load.longest_standstill_us).unwrap_or_default();
        [
            (load.is_none() && self.outcomes.failed() > 0).then(|| {
                "fetches failed without a load: this host was too busy to measure anything"
                    .to_owned()
            }),
            (self.late_starts > 0).then(|| {
                format!(
                    "the fast client started {} fetches late: the host was busy",
                    self.late_starts
                )
            }),
            (self.sessions_missing > 0).then(|| {
                format!(
                    "the proxy told nothing of {} fetches: there may be as many more 499",
                    self.sessions_missing
                )
            }),
            (standstill >= LONG_STANDSTILL)
                .then(|| format!("all downloads of a worker stood still for {standstill}")),
            uneven.then(|| "the workers do not hold as many downloads as each other".to_owned()),
        ]
        .into_iter()
        .flatten()
        .map(move |caveat| format!("{name}: {caveat}"))
    }
}

impl Report {
    const HEADS: [&str; 11] = [
        "fast_fetch",
        "fetches",
        "ok",
        "capped",
        "499",
        "p50",
        "p90",
        "p99",
        "max",
        "downloads",
        "by worker",
    ];

    /// Columns with their heads, then the caveats.
    pub(super) fn table(&self) -> String {
        let heads = Self::HEADS.map(str::to_owned);
        let rows: Vec<[String; 11]> =
            [heads].into_iter().chain(self.arms.iter().map(ArmReport::cells)).collect();
        let mut text = String::new();
        for row in &rows {
            for (column, cell) in row.iter().enumerate() {
                let cells = rows.iter().filter_map(|row| row.get(column));
                let width = cells.map(|cell| cell.chars().count()).max().unwrap_or(0);
                // Writing to a string cannot fail.
                let _ = match column {
                    0 => write!(text, "{cell:<width$}"),
                    _ => write!(text, "  {cell:>width$}"),
                };
            }
            text.push('\n');
        }
        for caveat in self.arms.iter().flat_map(ArmReport::caveats) {
            let _ = writeln!(text, "caveat: {caveat}");
        }
        let _ = writeln!(
            text,
            "Fetches of {} at {}, capped at {}, warm-up included; a capped one counts at its age.",
            self.fetch_bytes, self.arrivals, self.cap_us
        );
        text
    }
}
