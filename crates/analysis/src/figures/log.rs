//! The access log beside what clients saw, over the fetches of the measure phase.

use std::time::Duration;

use records::{Fetch, LogGap, LogTruth, Micros, ProxyKind, ProxySummary, Session};

use crate::join::{Connection, Join};

/// nginx's status for a client that closed before an answer's head was sent.
const CLIENT_CLOSED_REQUEST: u16 = 499;

/// Differences below this are the log's resolution (1 ms) and the last bytes' way to the client.
const WORTH_TELLING: Duration = Duration::from_millis(10);

/// All that the log tells of the fetches under load.
pub(crate) struct Logged {
    /// Statuses and ends of sessions; the workers are left empty.
    pub(crate) proxy: ProxySummary,
    pub(crate) truth: LogTruth,
    /// The largest difference between a logged time and the true one, either way; of equal ones the
    /// last.
    pub(crate) gap: Option<LogGap>,
}

impl Logged {
    pub(crate) fn of(kind: &ProxyKind, join: &Join<'_>) -> Self {
        let (mut proxy, mut truth) = (ProxySummary::default(), LogTruth::default());
        let mut gap: Option<LogGap> = None;
        // Of a command it is not known whether it logs anything; if not, no line of it is missing.
        let has_log =
            !kind.is_command() || join.connections.iter().any(|one| one.logged().is_some());
        for (_, fetch, connection) in join.measured().filter(|_| has_log) {
            if let Some(session) = connection.and_then(|connection| connection.session) {
                *proxy.session_ends.entry(session.end).or_default() += 1;
            }
            let (outcome, failed) = (fetch.outcome, u64::from(fetch.outcome.is_failed()));
            truth.failed += failed;
            let logged = connection.and_then(Connection::logged);
            let Some(session) = logged else {
                truth.unlogged += failed;
                proxy.unlogged.add(outcome);
                continue;
            };
            *proxy.status_counts.entry(session.status).or_default() += 1;
            proxy.status_outcomes.entry(session.status).or_default().add(outcome);
            let found = gap_of(fetch, session);
            add(&mut truth, &found);
            if gap.as_ref().map(misleads) <= Some(misleads(&found)) {
                gap = Some(found);
            }
        }
        proxy.early_closes = proxy.status_counts.get(&CLIENT_CLOSED_REQUEST).copied().unwrap_or(0);
        Self { proxy, truth, gap }
    }
}

fn gap_of(fetch: &Fetch, logged: &Session) -> LogGap {
    LogGap {
        fetch: fetch.fetch,
        worker: logged.worker,
        status: logged.status,
        logged_us: logged_time(logged),
        true_us: fetch.total_us,
        outcome: fetch.outcome,
    }
}

fn size(gap: &LogGap) -> u64 {
    gap.true_us.0.abs_diff(gap.logged_us.0)
}

/// How far a line misleads. One that says less than its client waited puts the fault elsewhere; one that
/// says more, of a client that had left before, does not.
fn misleads(gap: &LogGap) -> (u64, u64) {
    (gap.true_us.0.saturating_sub(gap.logged_us.0), size(gap))
}

/// What the log has as `rt`.
pub(crate) fn logged_time(logged: &Session) -> Micros {
    Micros(logged.log.rt_ms.saturating_mul(1_000))
}

fn add(truth: &mut LogTruth, gap: &LogGap) {
    truth.called_ok += u64::from(gap.outcome.is_failed() && gap.status == 200);
    let (said, true_us) = (gap.logged_us.0, gap.true_us.0);
    truth.largest_gap_us = truth.largest_gap_us.max(Micros(size(gap)));
    if Duration::from_micros(size(gap)) >= WORTH_TELLING {
        truth.understated += u64::from(said < true_us / 2);
        truth.overstated += u64::from(said / 2 > true_us);
    }
}
