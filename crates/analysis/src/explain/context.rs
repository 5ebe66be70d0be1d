//! What all fetches of a run are laid upon: the join, the workers' timelines, who is who, what the
//! kernel counted.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use records::{Answered, Holder, MonoNs, RunRecords, Session, Stretch};

use super::cpu::{Counters, Cumulative};
use super::crowd::Crowd;
use super::timeline::{Doing, Timeline};
use crate::join::Join;
use crate::window::{Window, Windows, grouped};

/// See the module's head.
pub(crate) struct Context<'a> {
    pub(crate) records: &'a RunRecords,
    pub(crate) join: Join<'a>,
    pub(crate) windows: Windows,
    /// Whether a listener's queue overflowed.
    pub(crate) overflow: Overflow,
    pub(crate) counters: Counters,
    /// Workers that are many threads.
    pub(crate) crowds: BTreeMap<u32, Crowd<'a>>,
    timelines: BTreeMap<u32, Timeline>,
    emptied: BTreeMap<u32, MonoNs>,
    /// Workers that do not accept.
    strangers: BTreeSet<u32>,
    /// What the origin told, by the port that asked it, in order of the requests.
    answered: BTreeMap<u16, Vec<&'a Answered>>,
    /// Long loop turns of each worker, in order.
    turns: BTreeMap<u32, Vec<Window>>,
    holders: BTreeMap<(u32, u16), Vec<(MonoNs, Holder)>>,
    /// Time that each session, by worker and number, spent in holds of its own.
    in_holds: BTreeMap<(u32, u64), Duration>,
    nobody: Timeline,
}

/// Whether a listener's queue overflowed while fetches were measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Overflow {
    /// The kernel counted it.
    Seen,
    /// It did not.
    NotSeen,
    /// The kernel does not show its counters.
    Hidden,
}

/// Counters that move when a listener drops a handshake (proc_net_netstat; `tcp_conn_request` and
/// `tcp_v4_syn_recv_sock`).
pub(crate) const OVERFLOWS: [&str; 3] =
    ["TcpExt.ListenOverflows", "TcpExt.ListenDrops", "TcpExt.TCPReqQFullDrop"];

impl<'a> Context<'a> {
    /// The context of a run.
    pub(crate) fn of(records: &'a RunRecords) -> Self {
        let join = Join::of(records);
        let turns = records.turns.iter();
        let mut turns =
            grouped(turns.map(|turn| (turn.worker, Window::new(turn.start_ns, turn.end_ns))));
        let mut in_holds: BTreeMap<(u32, u64), Duration> = BTreeMap::new();
        for hold in &records.holds {
            let length = hold.length_us().as_duration();
            *in_holds.entry((hold.worker, hold.session)).or_default() += length;
        }
        turns.values_mut().for_each(|turns| turns.sort_by_key(|turn| turn.start));
        let told = records.answered.iter();
        let mut answered = grouped(told.map(|answered| (answered.upstream_port, answered)));
        answered.values_mut().for_each(|told| told.sort_by_key(|answered| answered.request_ns));
        let stretches = grouped(records.stretches.iter().map(|told| (told.worker, told)));
        let counters = Counters::of(records, &stretches);
        let holds =
            grouped(records.holds.iter().enumerate().map(|(at, hold)| (hold.worker, (at, hold))));
        let timeline = |(worker, told): (u32, Vec<&Stretch>)| {
            let holds = holds.get(&worker).map(Vec::as_slice).unwrap_or_default();
            (worker, Timeline::new(&told, holds, counters.reckoner(records, worker)))
        };
        let timelines: BTreeMap<u32, Timeline> = stretches.into_iter().map(timeline).collect();
        Self {
            records,
            windows: Windows::of(records),
            overflow: overflow(records),
            emptied: emptied(records, &join, &timelines),
            strangers: strangers(records, &join, &timelines),
            answered,
            crowds: Crowd::all(records),
            timelines,
            counters,
            turns,
            holders: holders(records, &join),
            join,
            in_holds,
            nobody: Timeline::default(),
        }
    }

    /// The life of a worker; empty when it told nothing.
    pub(crate) fn timeline(&self, worker: u32) -> &Timeline {
        self.timelines.get(&worker).unwrap_or(&self.nobody)
    }

    /// What the origin told of the request of `session`: the first that came from the session's port
    /// while the session lasted, from its own request on, since a port may be used again within a run.
    /// Absent: nothing. Whose time that was, [`super::life`] says.
    pub(crate) fn answer(&self, session: &Session) -> Option<&'a Answered> {
        let told = self.answered.get(&session.upstream_port?)?;
        let asked = session.request_ns?;
        let before = told.partition_point(|answered| answered.request_ns < asked);
        told.get(before).copied().filter(|answered| answered.request_ns <= session.closed_ns)
    }

    /// Whether the kernel tells how long each worker had no CPU.
    pub(crate) fn shows_waits(&self) -> bool {
        let workers = self.records.manifest.worker_count();
        (0..workers)
            .chain(self.timelines.keys().copied())
            .all(|worker| self.counters.run_wait.get(&worker).is_some_and(Cumulative::is_known))
    }

    /// The end of the long loop turn that `worker` was in at `at`.
    pub(crate) fn turn_around(&self, worker: u32, at: MonoNs) -> Option<MonoNs> {
        let turns = self.turns.get(&worker)?;
        let before = turns.partition_point(|turn| turn.start <= at);
        let turn = turns.get(before.checked_sub(1)?)?;
        (turn.end > at).then_some(turn.end)
    }

    /// Whose step the `hold`-th hold was.
    pub(crate) fn holder(&self, hold: usize) -> Option<Holder> {
        let hold = self.records.holds.get(hold)?;
        let known = self.user(hold.worker, hold.client_port, hold.start_ns);
        Some(known.unwrap_or(Holder::Session(hold.session)))
    }

    /// Who used this port of a client at `worker` last, by then.
    pub(crate) fn user(&self, worker: u32, client_port: u16, at: MonoNs) -> Option<Holder> {
        let users = self.holders.get(&(worker, client_port))?;
        let before = users.partition_point(|(from, _)| *from <= at);
        users.get(before.checked_sub(1)?).map(|(_, holder)| *holder)
    }

    /// Which part of the worker's short steps during `session` were its own.
    pub(crate) fn own_part(&self, session: &Session) -> f64 {
        let life = Window::new(session.accepted_ns, session.closed_ns);
        let in_holds = self.in_holds.get(&(session.worker, session.session));
        let own = session.steps_us.as_duration();
        let own = own.saturating_sub(in_holds.copied().unwrap_or_default());
        let segments = self.timeline(session.worker).within(life).iter();
        let turning: f64 = segments
            .filter_map(|segment| match segment.doing {
                Doing::Turning { polling, .. } => {
                    Some(segment.window.clip(life).length().as_secs_f64() * (1.0 - polling))
                }
                Doing::Hold(_) | Doing::Polling => None,
            })
            .sum();
        if turning > 0.0 { (own.as_secs_f64() / turning).min(1.0) } else { 0.0 }
    }

    /// Workers that may have had a connection in their queue which came at `arrived` and was never
    /// accepted; none when not every worker told of itself.
    pub(crate) fn candidates(&self, arrived: MonoNs) -> impl Iterator<Item = u32> {
        let told = self.timelines.keys().chain(self.crowds.keys()).copied();
        let all_told = told.clone().count() >= self.records.manifest.worker_count() as usize;
        let told = told.filter(move |worker| all_told && !self.strangers.contains(worker));
        told.filter(move |worker| {
            self.emptied.get(worker).is_none_or(|emptied| *emptied <= arrived)
        })
    }
}

fn overflow(records: &RunRecords) -> Overflow {
    let counters = &records.manifest.kernel_counters;
    let seen: Vec<_> = OVERFLOWS.iter().filter_map(|&name| counters.get(name)).collect();
    if seen.is_empty() {
        Overflow::Hidden
    } else if seen.iter().any(|span| span.moved() > 0) {
        Overflow::Seen
    } else {
        Overflow::NotSeen
    }
}

/// Until when each worker's queue is known to have been emptied: whose a fetch may have been in that no
/// worker accepted.
///
/// With a listener per worker the kernel chose one, and does not say which; but a queue is first in,
/// first out. A worker that accepted a connection which came later did not have this one; nor did a
/// worker that slept in its poll after it came, since nginx's listeners, and the mirror's, are
/// level-triggered; nor one whose queue was seen empty after it came. Nothing when the listener is
/// shared: then there is one queue, and it is everybody's.
fn emptied(
    records: &RunRecords,
    join: &Join<'_>,
    timelines: &BTreeMap<u32, Timeline>,
) -> BTreeMap<u32, MonoNs> {
    let inodes = &records.manifest.listeners;
    if is_shared(records) {
        return BTreeMap::new();
    }
    let seen = (0..).zip(inodes).flat_map(|(worker, inode)| {
        let empty =
            records.listeners.iter().filter(move |look| look.inode == *inode && look.queue == 0);
        empty.map(move |look| (worker, look.at_ns))
    });
    // One over a connection that was open already came to no queue.
    let accepts = records.fetches.iter().enumerate().filter_map(|(index, fetch)| {
        let connection = join.fetch(index)?;
        let queued = connection.accepted_ns >= fetch.start_ns;
        queued.then_some((connection.worker, fetch.start_ns))
    });
    let polls = timelines.iter().filter_map(|(worker, timeline)| {
        let mut segments = timeline.segments.iter().rev();
        let last = segments.find(|segment| segment.doing == Doing::Polling)?;
        // At its return something may just have come: at its start nothing was there.
        Some((*worker, last.window.start))
    });
    let all = grouped(seen.chain(accepts).chain(polls)).into_iter();
    all.filter_map(|(worker, times)| Some((worker, times.into_iter().max()?))).collect()
}

/// Whether all workers accept from one queue. A command that was given no toggle may have more: a single
/// inode is shared.
fn is_shared(records: &RunRecords) -> bool {
    !records.manifest.arm.proxy.reuseport && records.manifest.listeners.len() < 2
}

/// Workers that accepted nobody from the queue of all, while others did, and slept in their polls: they do
/// not listen. So it is with a master beside its workers.
fn strangers(
    records: &RunRecords,
    join: &Join<'_>,
    timelines: &BTreeMap<u32, Timeline>,
) -> BTreeSet<u32> {
    let accept: BTreeSet<u32> =
        join.connections.iter().map(|connection| connection.worker).collect();
    let sleeps = |timeline: &Timeline| {
        timeline.segments.iter().any(|segment| segment.doing == Doing::Polling)
    };
    let known = is_shared(records) && !accept.is_empty();
    let others = timelines.iter().filter(|(worker, _)| known && !accept.contains(worker));
    others.filter(|(_, timeline)| sleeps(timeline)).map(|(worker, _)| *worker).collect()
}

/// Who used a client port at a worker, and from when.
fn holders(records: &RunRecords, join: &Join<'_>) -> BTreeMap<(u32, u16), Vec<(MonoNs, Holder)>> {
    let fetches = records.fetches.iter().enumerate().filter_map(|(index, fetch)| {
        let connection = join.fetch(index)?;
        // Over a kept connection it follows another.
        let from = connection.accepted_ns.max(fetch.start_ns);
        Some((connection, from, Holder::Fetch(fetch.fetch)))
    });
    let load = &records.manifest.arm.load;
    let transfers = join.transfers.iter().enumerate().filter_map(|(index, transfer)| {
        let connection = join.transfer(index)?;
        Some((connection, connection.accepted_ns, load.holder(transfer.slot)))
    });
    let mut holders = grouped(fetches.chain(transfers).map(|(connection, from, holder)| {
        ((connection.worker, connection.client_port), (from, holder))
    }));
    holders.values_mut().for_each(|users| users.sort_unstable());
    holders
}

#[cfg(test)]
mod tests;
