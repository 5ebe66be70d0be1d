//! The life of a server whose threads hand work to each other: slices of time, in each how busy its threads
//! were, for whom, and who of them slept in a request.
//!
//! No step is one thread's there, so a fetch is not held by a step. While it waits, the time of each slice is
//! divided:
//! - as far as threads ran: [`Cause::ThreadsBusy`], but for what they ran for the fetch itself
//! - as far as none ran, and some wanted a CPU: they had none
//! - as far as none ran, and a thread slept uninterruptibly: [`Cause::OffCpuBlocked`]
//! - where both fill that time more than once, each has its part of it: nobody knows which of them the fetch
//!   waits for
//! - the rest: nobody worked. Why the fetch waited all the same, its own state tells.
//!
//! Threads are taken to use as many CPUs at once as they did in the busiest twentieth of the run, and no
//! more than they may: a runtime that was told to use one is busy with one thread.

use std::collections::BTreeMap;

use records::{Blocked, Cause, RunRecords, Sleep, Threads};

use super::life::Hands;
use super::shares::Shares;
use crate::window::{Window, grouped, share};

/// See the module's head.
#[derive(Debug, Default)]
pub(crate) struct Crowd<'a> {
    slices: Vec<Slice<'a>>,
    /// How many threads may run at once.
    parallel: f64,
}

/// One slice of time, which no other overlaps.
#[derive(Debug)]
pub(crate) struct Slice<'a> {
    pub(crate) window: Window,
    threads: &'a Threads,
    /// The part of it in which a thread slept uninterruptibly.
    deep: f64,
    /// Other sleeps: for whom, and the part of the slice.
    asleep: Vec<(Option<u16>, f64)>,
}

/// Two threads that sleep in requests are a pool; one may have what the others wait for.
const POOL: f64 = 1.5;

impl<'a> Crowd<'a> {
    /// Those of a run, by worker.
    pub(crate) fn all(records: &'a RunRecords) -> BTreeMap<u32, Self> {
        let host = &records.manifest.host;
        let cpus = if host.worker_cpus.is_empty() { host.cpus } else { host.worker_cpus.len() };
        let blocked = grouped(records.blocked.iter().map(|sleep| (sleep.worker, sleep)));
        let threads = grouped(records.threads.iter().map(|threads| (threads.worker, threads)));
        let crowd = |(worker, threads): (u32, Vec<&'a Threads>)| {
            let blocked = blocked.get(&worker).map(Vec::as_slice).unwrap_or_default();
            (worker, Self::new(threads, blocked, cpus))
        };
        threads.into_iter().map(crowd).collect()
    }

    fn new(mut threads: Vec<&'a Threads>, blocked: &[&Blocked], cpus: usize) -> Self {
        threads.sort_by_key(|threads| threads.start_ns);
        let slice = |threads: &'a Threads| {
            let window = Window::new(threads.start_ns, threads.end_ns);
            let deep = share(threads.blocked_us.as_duration(), window.length());
            Slice { window, threads, deep, asleep: Vec::new() }
        };
        let mut slices: Vec<Slice<'a>> = threads.into_iter().map(slice).collect();
        for sleep in blocked {
            let window = Window::new(sleep.start_ns, sleep.end_ns);
            let first = slices.partition_point(|slice| slice.window.end <= window.start);
            for slice in slices.iter_mut().skip(first) {
                if slice.window.start >= window.end {
                    break;
                }
                let part = share(window.clip(slice.window).length(), slice.window.length());
                match sleep.sleep {
                    Sleep::Uninterruptible => slice.deep = (slice.deep + part).min(1.0),
                    Sleep::Interruptible => slice.asleep.push((sleep.client_port, part)),
                }
            }
        }
        let parallel = parallel(&slices, cpus);
        Self { slices, parallel }
    }

    /// The slices that overlap `window`, in order.
    pub(crate) fn within(&self, window: Window) -> impl Iterator<Item = &Slice<'a>> {
        let first = self.slices.partition_point(|slice| slice.window.end <= window.start);
        let rest = self.slices.iter().skip(first);
        rest.take_while(move |slice| slice.window.start < window.end)
    }

    /// Divides `ns` of a slice, spent by a fetch that waits so.
    pub(crate) fn divide(&self, slice: &Slice<'_>, ns: u64, of: Waiting) -> Shares {
        let length = slice.window.length();
        let ran = |run: records::Micros| share(run.as_duration(), length) / self.parallel;
        let busy = ran(slice.threads.run_us).min(1.0);
        let served = slice.threads.served.iter().find(|served| Some(served.client_port) == of.port);
        let own = served.map_or(0.0, |served| ran(served.run_us)).min(busy);
        let idle = 1.0 - busy;
        let ready = share(slice.threads.wait_us.as_duration(), length).min(idle);
        let deep = slice.deep.min(idle);
        let each = if ready + deep > idle { idle / (ready + deep) } else { 1.0 };
        let (ready, deep) = (ready * each, deep * each);
        let withheld = ready.min(of.withheld);
        let mut shares = Shares::default();
        let parts = [
            (Cause::OwnTransfer, own),
            (Cause::ThreadsBusy, busy - own),
            (Cause::CpuWithheld, withheld),
            (Cause::OffCpuRunnable, ready - withheld),
            (Cause::OffCpuBlocked, deep),
        ];
        shares.divide(ns, parts, slice.unworked(of));
        shares
    }
}

/// A fetch that waits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waiting {
    pub(crate) hands: Hands,
    /// Its client's port, where it was accepted.
    pub(crate) port: Option<u16>,
    /// Whether it has a connection to an upstream.
    pub(crate) asked: bool,
    /// The part of the time that a quota withheld.
    pub(crate) withheld: f64,
}

impl Slice<'_> {
    /// Why a fetch waits while no thread works.
    fn unworked(&self, of: Waiting) -> Cause {
        let asleep = |own: bool| -> f64 {
            let those =
                self.asleep.iter().filter(|(port, _)| (port.is_some() && *port == of.port) == own);
            those.map(|(_, part)| part).sum()
        };
        match of.hands {
            Hands::Queued | Hands::Asking if asleep(false) >= POOL => Cause::PoolUsedUp,
            Hands::Asking => Cause::Client,
            Hands::AwaitingHead if of.asked => Cause::Upstream,
            Hands::AwaitingHead if asleep(true) == 0.0 && asleep(false) >= POOL => {
                Cause::PoolUsedUp
            }
            Hands::AwaitingHead => Cause::BehindLock,
            Hands::Body => Cause::OwnTransfer,
            _ => Cause::Unexplained,
        }
    }
}

/// How many threads ran at once in the busiest twentieth of the run, of `cpus` that they may use.
fn parallel(slices: &[Slice<'_>], cpus: usize) -> f64 {
    let busy = slices.iter().filter(|slice| slice.threads.ran > 0);
    let ran = |slice: &Slice<'_>| share(slice.threads.run_us.as_duration(), slice.window.length());
    let mut ran: Vec<f64> = busy.map(ran).collect();
    ran.sort_by(f64::total_cmp);
    let busiest = ran.len().saturating_sub(1 + ran.len() / 20);
    // A slice's edges are drawn by eye: somewhat more than one is one.
    let at_once = ran.get(busiest).map_or(1.0, |ran| (ran - 0.25).ceil());
    at_once.clamp(1.0, cpus.max(1) as f64)
}
