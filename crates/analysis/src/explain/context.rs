//! What all fetches of a run are laid upon: the join, the workers' timelines, who is who, what the
//! kernel counted.

use std::collections::BTreeMap;
use std::time::Duration;

use records::{Answered, Holder, MonoNs, RunRecords, Session, Stretch};

use super::answers::Answers;
use super::counters::Counters;
use super::cumulative::Cumulative;
use super::queues::Queues;
use super::timeline::{Doing, Timeline};
use crate::grouped::grouped;
use crate::join::Join;
use crate::window::{Window, Windows};

/// See the module's head.
pub(crate) struct Context<'a> {
    pub(crate) records: &'a RunRecords,
    pub(crate) join: Join<'a>,
    pub(crate) windows: Windows,
    /// Whether a listener's queue overflowed.
    pub(crate) overflow: Overflow,
    pub(crate) counters: Counters,
    timelines: BTreeMap<u32, Timeline>,
    queues: Queues,
    answers: Answers<'a>,
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
        let stretches = grouped(records.stretches.iter().map(|told| (told.worker, told)));
        let counters = Counters::of(records, &stretches);
        let holds =
            grouped(records.holds.iter().enumerate().map(|(at, hold)| (hold.worker, (at, hold))));
        let timeline = |(worker, told): (u32, Vec<&Stretch>)| {
            let holds = holds.get(&worker).map(Vec::as_slice).unwrap_or_default();
            (worker, Timeline::new(&told, holds, &counters.kernel(records, worker)))
        };
        let timelines: BTreeMap<u32, Timeline> = stretches.into_iter().map(timeline).collect();
        Self {
            records,
            windows: Windows::of(records),
            overflow: overflow(records),
            queues: Queues::of(records, &join, &timelines),
            answers: Answers::of(&records.answered),
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

    /// What the origin told of the request of `session`; absent: nothing.
    pub(crate) fn answer(&self, session: &Session) -> Option<&'a Answered> {
        self.answers.to(session)
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
        let users = self.holders.get(&(hold.worker, hold.client_port));
        let known = users.and_then(|users| {
            let before = users.partition_point(|(from, _)| *from <= hold.start_ns);
            users.get(before.checked_sub(1)?)
        });
        Some(known.map_or(Holder::Session(hold.session), |(_, holder)| *holder))
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
        let all_told = self.timelines.len() >= self.records.manifest.worker_count() as usize;
        let told = self.timelines.keys().copied().filter(move |_| all_told);
        told.filter(move |worker| self.queues.may_have(*worker, arrived))
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

/// Who used a client port at a worker, and from when.
fn holders(records: &RunRecords, join: &Join<'_>) -> BTreeMap<(u32, u16), Vec<(MonoNs, Holder)>> {
    let fetches = records
        .fetches
        .iter()
        .enumerate()
        .filter_map(|(index, fetch)| Some((join.fetch(index)?, Holder::Fetch(fetch.fetch))));
    let transfers = join.transfers.iter().enumerate().filter_map(|(index, transfer)| {
        Some((join.transfer(index)?, Holder::Download(transfer.slot)))
    });
    let mut holders = grouped(fetches.chain(transfers).map(|(connection, holder)| {
        ((connection.worker, connection.client_port), (connection.accepted_ns, holder))
    }));
    holders.values_mut().for_each(|users| users.sort_unstable());
    holders
}

#[cfg(test)]
mod tests;
