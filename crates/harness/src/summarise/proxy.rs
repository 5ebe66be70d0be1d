//! The proxy's side of the fetches: what its access log says of them, and where that is not so.

use std::collections::BTreeMap;

use records::{Fetch, LogGap, Micros, Phase, ProxySummary, Sight};

use super::join::Join;
use super::slow;
use super::window::Windows;
use crate::judge::Untraced;
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

/// What clients got under load from nobody who was traced, where that is more than `most` of the
/// answers or of the downloads; `None` where workers were not traced from outside.
///
/// A trace of some of a program's threads tells the truth of those, and nothing of what the others did
/// meanwhile: the longest step that it shows may be a short one.
pub(crate) fn untraced(
    records: &RunRecords,
    join: &Join<'_>,
    windows: &Windows,
    most: f64,
) -> Option<Untraced> {
    let measure = windows.measure.filter(|_| records.manifest.sight == Sight::Traced)?;
    let answered = measured(records).filter(|(_, fetch)| fetch.status.is_some());
    // Of a download that breaks off and is dialled again from its port, one connection is enough: which
    // of them is which, its times may not tell.
    let mut moved: BTreeMap<u32, bool> = BTreeMap::new();
    for (index, transfer) in join.transfers.iter().enumerate() {
        if transfer.open_in(measure) && slow::moved_in(records, transfer.slot, measure) {
            *moved.entry(transfer.slot).or_default() |= join.transfer(index).is_some();
        }
    }
    let untraced = Untraced {
        answers: answers_unjoined(records, join),
        of_answers: answered.count() as u64,
        downloads: moved.values().filter(|is_joined| !**is_joined).count() as u64,
        of_downloads: moved.len() as u64,
    };
    let above = |part: u64, whole: u64| whole > 0 && part as f64 / whole as f64 > most;
    let Untraced { answers, of_answers, downloads, of_downloads } = untraced;
    (above(answers, of_answers) || above(downloads, of_downloads)).then_some(untraced)
}

fn measured(records: &RunRecords) -> impl Iterator<Item = (usize, &Fetch)> {
    records.fetches.iter().enumerate().filter(|(_, fetch)| fetch.phase == Phase::Measure)
}
