//! The fetches of an arm, put in order and counted. Pure.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;
use records::{Fetch, LatencyUs, Micros, MonoNs, Outcome, OutcomeCounts, Session};

#[cfg(test)]
mod tests;

/// Hands out fetches in the order of their starts.
///
/// In the order of their ends, those that are still under way when an arm is over would be
/// missing, and those are the slow ones.
#[derive(Debug, Default)]
pub(super) struct InOrder {
    next: u64,
    waiting: BTreeMap<u64, Fetch>,
}

impl InOrder {
    /// A fetch has ended.
    pub(super) fn put(&mut self, fetch: Fetch) {
        self.waiting.insert(fetch.fetch, fetch);
    }

    /// The next one, if it has ended.
    pub(super) fn take(&mut self) -> Option<Fetch> {
        let fetch = self.waiting.remove(&self.next)?;
        self.next += 1;
        Some(fetch)
    }
}

/// A fetch that ended neither well nor by its cap: its time says nothing about waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "fetch {fetch} ended as {outcome} after {after}: the proxy, the origin or this host failed, and \
     its time is no latency"
)]
pub(super) struct Broken {
    fetch: u64,
    outcome: Outcome,
    after: Micros,
}

/// Every fetch that counts, and what the proxy said of its connections.
#[derive(Debug, Default)]
pub(super) struct Tally {
    fetches: Vec<Fetch>,
    /// The proxy's sessions by client port, in the order of their ends.
    sessions: BTreeMap<u16, Vec<(MonoNs, u16)>>,
}

/// nginx: the client closed before an answer's head was sent.
const CLIENT_CLOSED_REQUEST: u16 = 499;

/// No cap is longer than a minute: a time above this does not come up.
const AN_HOUR: Micros = Micros(3_600_000_000);

/// How late the fast client may start a fetch itself, as a share of the cap: a trial's own limit.
const LATE_START: u64 = 10;

impl Tally {
    /// Counts a fetch.
    ///
    /// # Errors
    /// It is no measurement.
    pub(super) fn fetch(&mut self, fetch: Fetch) -> Result<(), Broken> {
        let outcome = fetch.outcome;
        if outcome != Outcome::Ok && !outcome.is_censored() {
            return Err(Broken { fetch: fetch.fetch, outcome, after: fetch.total_us });
        }
        self.fetches.push(fetch);
        Ok(())
    }

    /// Keeps what is needed of a session, of whatever client.
    pub(super) fn session(&mut self, session: &Session) {
        let of_port = self.sessions.entry(session.client_port).or_default();
        of_port.push((session.accepted_ns, session.status));
    }

    /// How each fetch ended.
    pub(super) fn outcomes(&self) -> OutcomeCounts {
        self.fetches.iter().map(|fetch| fetch.outcome).collect()
    }

    /// Fetches for which the proxy recorded status 499.
    pub(super) fn early_closes(&self) -> u64 {
        let early = |fetch: &&Fetch| self.status(fetch) == Some(CLIENT_CLOSED_REQUEST);
        self.fetches.iter().filter(early).count() as u64
    }

    /// Fetches that were connected, but of which the proxy has told no session (yet).
    pub(super) fn untold(&self) -> u64 {
        let untold = |fetch: &&Fetch| fetch.connect_us.is_some() && self.status(fetch).is_none();
        self.fetches.iter().filter(untold).count() as u64
    }

    /// Fetches that the fast client itself started late, by more than a tenth of `cap`.
    pub(super) fn late_starts(&self, cap: Micros) -> u64 {
        let late = |fetch: &&Fetch| fetch.lag_us().0 > cap.0 / LATE_START;
        self.fetches.iter().filter(late).count() as u64
    }

    /// Start to end of all fetches, capped ones at their true age; from an HDR histogram of 3
    /// digits. All zero if there was none.
    pub(super) fn latency(&self) -> LatencyUs {
        // Cannot fail: such a range and 3 digits are possible.
        let Ok(mut histogram) = Histogram::<u64>::new_with_max(AN_HOUR.0, 3) else {
            return LatencyUs::default();
        };
        let mut sum = 0_u64;
        for fetch in &self.fetches {
            histogram.saturating_record(fetch.total_us.0);
            sum = sum.saturating_add(fetch.total_us.0);
        }
        let times = || self.fetches.iter().map(|fetch| fetch.total_us.0);
        let max = times().max().unwrap_or(0);
        // A histogram answers with the upper end of its bucket.
        let at = |share| histogram.value_at_quantile(share).min(max);
        LatencyUs {
            min: times().min().unwrap_or(0),
            p50: at(0.5),
            p90: at(0.9),
            p99: at(0.99),
            max,
            mean: sum.checked_div(self.fetches.len() as u64).unwrap_or(0),
        }
    }

    /// The status of the first session of the fetch's port since it began: a worker may accept it
    /// long after it has given up, but before the kernel gives the port to another.
    fn status(&self, fetch: &Fetch) -> Option<u16> {
        let of_port = self.sessions.get(&fetch.client_port?)?;
        let since = of_port.iter().filter(|(accepted, _)| *accepted >= fetch.start_ns);
        since.min_by_key(|(accepted, _)| *accepted).map(|&(_, status)| status)
    }
}
