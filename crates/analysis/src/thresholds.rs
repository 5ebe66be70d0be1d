//! The numbers that decide, in one place, and whether an idle phase is a baseline by them. They are printed
//! with every verdict.
//!
//! None depends on how fast the host is: they are counts, shares, multiples of idle, or parts of the cap,
//! which is the user's own word for too late. The one time under load, 50 ms, only ever makes a verdict
//! milder. Besides these, a run is `starved` from [`records::STARVED_SHARE`] of failed fetches on.

use records::{FetchSummary, Micros, Outcome, Phase, RunRecords};

use crate::figures::times;

/// Fetches that each of the idle and the measure phase needs. 20: one of them is 5 %, the share
/// that decides.
pub(crate) const MIN_FETCHES: u64 = 20;

/// Share of the cap from which p50 under load is `starved`. 0.5: who waits half as long as is too
/// late in the median is a bad second from being too late. It is what the user called too late that
/// decides, not how fast this host is.
pub(crate) const STARVED_P50_OF_CAP: f64 = 0.5;

/// Times idle p99 from which p99 under load is `degraded`. 5.
pub(crate) const DEGRADED_P99_FACTOR: u64 = 5;

/// p99 under load below which a run is not `degraded`. 50 ms: some turns of the scheduler.
pub(crate) const DEGRADED_P99_FLOOR: Micros = Micros(50_000);

/// Times idle p50 above which an idle fetch stalls, between the next two. 20: of 120 kept trials,
/// half of them on a busy host, no idle maximum above 20 % of the cap was above 15 x its p50
/// (`docs/internals/measurements.md`).
pub(crate) const STALL_P50_FACTOR: u64 = 20;

/// Share of the cap below which an idle fetch does not stall. 0.2: five times that is the cap, so
/// from there on [`DEGRADED_P99_FACTOR`] is out of reach.
pub(crate) const STALL_LEAST_OF_CAP: f64 = 0.2;

/// Share of the cap above which an idle fetch stalls whatever p50 is. 0.5: the median that is
/// `starved` under load.
pub(crate) const STALL_MOST_OF_CAP: f64 = 0.5;

/// How many idle fetches must stall or fail before they are no baseline. 2: p99 of the usual 30 is
/// their maximum, and one slow fetch is any host's mood.
pub(crate) const STALLED_FETCHES: u64 = 2;

/// Share of the idle fetches above which the same holds. 0.01: their p99.
pub(crate) const STALLED_SHARE: f64 = 0.01;

/// Share of the cap above which the fast client's own lateness (p90) spoils the run; a maximum
/// above it is a caveat. 0.1.
pub(crate) const LAG_OF_CAP: f64 = 0.1;

/// Time without a byte for any download from which on the load is said to stand still. 1 s: a
/// download that is read at the lowest rate there is, 1 B/s, gets a byte as often.
pub(crate) const STANDSTILL: Micros = Micros(1_000_000);

/// Share of the measure phase in which the load may stand still in a run that is not starved,
/// before it proves nothing. 0.5.
pub(crate) const STOOD_STILL_SHARE: f64 = 0.5;

/// How long a download must last in the mean before it breaks off, in a run that is not starved,
/// lest it prove nothing. 4 s: one a second with the usual four downloads. Honest proxies break
/// off none.
pub(crate) const DOWNLOAD_LIFE: Micros = Micros(4_000_000);

/// Share of fetches, in either phase, from which on nothing is proven when this host could not
/// try them. 0.05, the share that decides; they are no failures of the proxy.
pub(crate) const UNTRIED_SHARE: f64 = 0.05;

/// Share of the answered fetches that may lack a session when records were lost; and of these, or
/// of the downloads, that no traced worker served before steps are unknown. 0.05.
pub(crate) const UNJOINED_SHARE: f64 = 0.05;

/// Fetches below which p99 is no more than the maximum. 100.
pub(crate) const COARSE_FETCHES: u64 = 100;

/// Share of a worker's CPU that others may take from it before it is a caveat. 0.1: the kernel's
/// own work for the sockets is below that.
pub(crate) const CONTENTION_CAVEAT: f64 = 0.1;

/// The same before the run proves nothing. 0.25: with one loop that never sleeps beside two
/// workers on a CPU it is a third; a quiet host is below 0.1.
pub(crate) const CONTENTION_LIMIT: f64 = 0.25;

/// Share of the run's time that the hypervisor may take before it is a caveat. 0.02.
pub(crate) const STEAL_CAVEAT: f64 = 0.02;

/// Share of the run's time that the hypervisor may take, over all CPUs, before the run proves
/// nothing. 0.35: on a shared host of 2 CPUs, ten rounds of six arms, every trial of a fair
/// proxy that came out `starved` had lost 37 % or more.
pub(crate) const STEAL_LIMIT: f64 = 0.35;

/// A share of a length of time.
pub(crate) fn part(whole: Micros, share: f64) -> Micros {
    whole.as_duration().mul_f64(share).into()
}

/// The idle fetches that stalled. A server that stops for most of a second now and then does so under load
/// as well: beside such an idle phase the load would look harmless.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct IdlePhase {
    /// An idle fetch that took longer stalled; so did one that failed.
    pub(crate) limit_us: Micros,
    /// How many did.
    pub(crate) stalled: u64,
    /// Of so many that could be tried.
    pub(crate) of: u64,
}

impl IdlePhase {
    /// The idle phase of a run whose idle fetches `idle` sums up.
    pub(crate) fn of(records: &RunRecords, idle: &FetchSummary, cap: Micros) -> Self {
        let p50 = idle.completion_us.and_then(|all| all.p50).unwrap_or(u64::MAX);
        let [least, most] = [STALL_LEAST_OF_CAP, STALL_MOST_OF_CAP].map(|of| part(cap, of));
        let limit_us = Micros(p50.saturating_mul(STALL_P50_FACTOR)).clamp(least, most);
        let stalled = times(&records.fetches, &records.fetch_totals, Phase::Idle)
            .filter(|(outcome, _)| *outcome != Outcome::LocalError)
            .filter(|(outcome, (time, _))| outcome.is_failed() || *time > limit_us)
            .fold(0_u64, |sum, (_, (_, count))| sum.saturating_add(count));
        Self { limit_us, stalled, of: idle.outcomes.tried() }
    }

    /// Whether it stalls by itself, more than by chance: then nothing under load can be held against it.
    pub(crate) fn stalls(&self) -> bool {
        let many = self.stalled as f64 > self.of as f64 * STALLED_SHARE;
        self.stalled >= STALLED_FETCHES && many
    }
}
