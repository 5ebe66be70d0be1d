//! The access log beside what clients saw, over the fetches of the measure phase.

use std::collections::BTreeMap;
use std::time::Duration;

use records::{Fetch, LogGap, LogTruth, Micros, Outcome, ProxySummary, Session};
use serde::Serialize;

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

/// nginx's status for a client that closed before an answer's head was sent.
const CLIENT_CLOSED_REQUEST: u16 = 499;

/// Differences below this are the log's resolution (1 ms) and the last bytes' way to the client.
const WORTH_TELLING: Duration = Duration::from_millis(10);

/// Statuses and ends of the sessions of the fetches under load; the workers are left empty.
pub(crate) fn statuses(join: &Join<'_>) -> ProxySummary {
    let mut summary = ProxySummary::default();
    for (_, fetch, connection) in join.measured() {
        if let Some(session) = connection.and_then(|connection| connection.session) {
            *summary.session_ends.entry(session.end).or_default() += 1;
        }
        match connection.and_then(Connection::logged).map(|session| session.status) {
            None => summary.unlogged.add(fetch.outcome),
            Some(status) => {
                *summary.status_counts.entry(status).or_default() += 1;
                summary.status_outcomes.entry(status).or_default().add(fetch.outcome);
            }
        }
    }
    summary.early_closes = summary.status_counts.get(&CLIENT_CLOSED_REQUEST).copied().unwrap_or(0);
    summary
}

/// What a fetch's client and its line in the log say of how long it took.
fn gap(fetch: &Fetch, logged: &Session) -> LogGap {
    LogGap {
        fetch: fetch.fetch,
        worker: logged.worker,
        status: logged.status,
        logged_us: logged_time(logged),
        true_us: fetch.total_us,
        outcome: fetch.outcome,
    }
}

/// By how much they differ, us.
fn gap_size(gap: &LogGap) -> u64 {
    gap.true_us.0.abs_diff(gap.logged_us.0)
}

/// `$request_time`.
pub(crate) fn logged_time(logged: &Session) -> Micros {
    Micros(logged.log.rt_ms.saturating_mul(1_000))
}

/// The fetch under load whose client and log differ most on how long it took.
pub(crate) fn log_gap(join: &Join<'_>) -> Option<LogGap> {
    let gaps = join
        .measured()
        .filter_map(|(_, fetch, connection)| Some(gap(fetch, connection?.logged()?)));
    gaps.max_by_key(gap_size)
}

/// How far the log and the clients agree.
pub(crate) fn log_truth(join: &Join<'_>) -> LogTruth {
    let mut truth = LogTruth::default();
    for (_, fetch, connection) in join.measured() {
        add(&mut truth, fetch, connection.and_then(Connection::logged));
    }
    truth
}

fn add(truth: &mut LogTruth, fetch: &Fetch, logged: Option<&Session>) {
    let failed = fetch.outcome.is_failed();
    truth.failed += u64::from(failed);
    let Some(session) = logged else {
        truth.unlogged += u64::from(failed);
        return;
    };
    truth.called_ok += u64::from(failed && session.status == 200);
    let (said, true_us) = (logged_time(session).0, fetch.total_us.0);
    let gap = said.abs_diff(true_us);
    truth.largest_gap_us = truth.largest_gap_us.max(Micros(gap));
    if Duration::from_micros(gap) >= WORTH_TELLING {
        truth.understated += u64::from(said < true_us / 2);
        truth.overstated += u64::from(said / 2 > true_us);
    }
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
