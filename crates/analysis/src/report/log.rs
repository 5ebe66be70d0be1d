//! The access log beside the truth, line by line: statuses against outcomes.

use std::collections::BTreeMap;

use records::{LogGap, LogTruth, Outcome};
use serde::Serialize;

use crate::figures::log::{gap, gap_size};
use crate::join::{Connection, Join};

/// The access log beside what clients saw, over the fetches of the measure phase.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LogReport {
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

impl LogReport {
    pub(crate) fn of(join: &Join<'_>, truth: &LogTruth) -> Self {
        // Those without a status come last.
        let mut rows: BTreeMap<(bool, Option<u16>, Outcome), LogRow> = BTreeMap::new();
        for (_, fetch, connection) in join.measured() {
            let logged = connection.and_then(Connection::logged);
            let (status, outcome) = (logged.map(|session| session.status), fetch.outcome);
            let row = rows.entry((status.is_none(), status, outcome)).or_insert(LogRow {
                status,
                outcome,
                fetches: 0,
                worst: None,
            });
            row.fetches += 1;
            let gap = logged.map(|session| gap(fetch, session));
            if row.worst.as_ref().map(gap_size) < gap.as_ref().map(gap_size) {
                row.worst = gap;
            }
        }
        Self { truth: truth.clone(), rows: rows.into_values().collect() }
    }
}
