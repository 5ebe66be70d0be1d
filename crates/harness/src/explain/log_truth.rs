//! The access log beside what clients saw.

use std::time::Duration;

use records::{Fetch, LogTruth, Micros, Phase, Session};

use crate::run_dir::RunRecords;
use crate::summarise::join::Join;

/// Differences below this are the log's resolution (1 ms) and the last bytes' way to the client.
const WORTH_TELLING: Duration = Duration::from_millis(10);

/// How far the log and the clients agree, over the fetches of the measure phase.
pub(crate) fn log_truth(records: &RunRecords, join: &Join<'_>) -> LogTruth {
    let mut truth = LogTruth::default();
    let measured =
        records.fetches.iter().enumerate().filter(|(_, fetch)| fetch.phase == Phase::Measure);
    for (index, fetch) in measured {
        // Status 0: nothing was asked, and nothing is logged.
        let session = join.fetch(index).and_then(|connection| connection.session);
        add(&mut truth, fetch, session.filter(|session| session.status != 0));
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
    let (said, true_us) = (session.log.rt_ms.saturating_mul(1_000), fetch.total_us.0);
    let gap = said.abs_diff(true_us);
    truth.largest_gap_us = truth.largest_gap_us.max(Micros(gap));
    if Duration::from_micros(gap) >= WORTH_TELLING {
        truth.understated += u64::from(said < true_us / 2);
        truth.overstated += u64::from(said / 2 > true_us);
    }
}

#[cfg(test)]
mod tests;
