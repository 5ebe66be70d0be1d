//! The access log beside the truth, line by line: statuses against outcomes.

use std::collections::BTreeMap;

use records::{LogGap, LogTruth, Micros, Outcome, Phase};
use serde::Serialize;

use crate::run_dir::RunRecords;
use crate::summarise::join::Join;

/// The access log beside what clients saw, over the fetches of the measure phase.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LogStory {
    /// In sum.
    #[serde(flatten)]
    pub truth: LogTruth,
    /// By status and outcome, in this order; those without a log line last.
    pub rows: Vec<LogRow>,
}

/// Fetches with one status and one outcome.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LogRow {
    /// Status as logged; absent: in no log line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// What the client saw.
    pub outcome: Outcome,
    /// How many.
    pub fetches: u64,
    /// The one whose logged time and true time differ most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worst: Option<LogGap>,
}

pub(super) fn story(records: &RunRecords, join: &Join<'_>, truth: &LogTruth) -> LogStory {
    // Those without a status come last.
    let mut rows: BTreeMap<(bool, Option<u16>, Outcome), LogRow> = BTreeMap::new();
    for (index, fetch) in records.fetches.iter().enumerate() {
        if fetch.phase != Phase::Measure {
            continue;
        }
        let connection = join.fetch(index);
        let session = connection.and_then(|connection| connection.session);
        // Status 0: nothing was asked, and nothing is logged.
        let logged = session.filter(|session| session.status != 0);
        let status = logged.map(|session| session.status);
        let outcome = fetch.outcome;
        let row = rows.entry((status.is_none(), status, outcome)).or_insert_with(|| LogRow {
            status,
            outcome,
            fetches: 0,
            worst: None,
        });
        row.fetches += 1;
        let gap = logged.map(|session| LogGap {
            fetch: fetch.fetch,
            worker: session.worker,
            status: session.status,
            logged_us: Micros(session.log.rt_ms.saturating_mul(1_000)),
            true_us: fetch.total_us,
            outcome,
        });
        let size = |gap: &LogGap| gap.true_us.0.abs_diff(gap.logged_us.0);
        if row.worst.as_ref().map(size) < gap.as_ref().map(size) {
            row.worst = gap;
        }
    }
    LogStory { truth: truth.clone(), rows: rows.into_values().collect() }
}
