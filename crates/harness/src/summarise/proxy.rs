//! The proxy's side of the fetches: what its access log says of them, and where that is not so.

use records::{Fetch, LogGap, Micros, Phase, ProxySummary};

use super::join::Join;
use crate::run_dir::RunRecords;

/// nginx's status for a client that closed before an answer's head was sent.
const CLIENT_CLOSED_REQUEST: u16 = 499;

/// Statuses and ends of the sessions of the fetches under load; the workers are left empty.
pub(crate) fn statuses(records: &RunRecords, join: &Join<'_>) -> ProxySummary {
    let mut summary = ProxySummary::default();
    for (index, fetch) in measured(records) {
        let session = join.fetch(index).and_then(|connection| connection.session);
        if let Some(session) = session {
            *summary.session_ends.entry(session.end).or_default() += 1;
        }
        // Status 0: nothing was asked, so nothing was logged.
        match session.map(|session| session.status).filter(|&status| status != 0) {
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

/// The fetch under load whose client and log differ most on how long it took.
pub(crate) fn log_gap(records: &RunRecords, join: &Join<'_>) -> Option<LogGap> {
    measured(records)
        .filter_map(|(index, fetch)| {
            let connection = join.fetch(index)?;
            let session = connection.session.filter(|session| session.status != 0)?;
            Some(LogGap {
                fetch: fetch.fetch,
                worker: connection.worker,
                status: session.status,
                logged_us: Micros(session.log.rt_ms.saturating_mul(1_000)),
                true_us: fetch.total_us,
                outcome: fetch.outcome,
            })
        })
        .max_by_key(|gap| gap.true_us.0.abs_diff(gap.logged_us.0))
}

/// Fetches under load whose client got an answer, but of which the proxy has no session.
pub(crate) fn answers_unjoined(records: &RunRecords, join: &Join<'_>) -> u64 {
    let unjoined = measured(records).filter(|(index, fetch)| {
        fetch.status.is_some()
            && join.fetch(*index).and_then(|connection| connection.session).is_none()
    });
    unjoined.count() as u64
}

fn measured(records: &RunRecords) -> impl Iterator<Item = (usize, &Fetch)> {
    records.fetches.iter().enumerate().filter(|(_, fetch)| fetch.phase == Phase::Measure)
}
