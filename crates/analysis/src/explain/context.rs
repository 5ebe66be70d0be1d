//! What all fetches of a run are laid upon: the join, the workers' timelines, who is who, what the
//! kernel counted.

use std::collections::BTreeMap;
use std::time::Duration;

use records::{Answered, Holder, MonoNs, RunRecords, SchedSample, Session, Stretch, Watched};

use super::answers::Answers;
use super::cumulative::Cumulative;
use super::queues::Queues;
use super::timeline::{Doing, Kernel, Timeline};
use crate::join::Join;
use crate::window::{Window, Windows};

/// See the module's head.
pub(crate) struct Context<'a> {
    pub(crate) records: &'a RunRecords,
    pub(crate) join: Join<'a>,
    pub(crate) windows: Windows,
    /// Whether a listener's queue overflowed.
    pub(crate) overflow: Overflow,
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
        let mut turns: BTreeMap<u32, Vec<Window>> = BTreeMap::new();
        for turn in &records.turns {
            let window = Window::new(turn.start_ns, turn.end_ns);
            turns.entry(turn.worker).or_default().push(window);
        }
        let mut in_holds: BTreeMap<(u32, u64), Duration> = BTreeMap::new();
        for hold in &records.holds {
            let length = hold.length_us().as_duration();
            *in_holds.entry((hold.worker, hold.session)).or_default() += length;
        }
        turns.values_mut().for_each(|turns| turns.sort_by_key(|turn| turn.start));
        let timelines = timelines(records);
        Self {
            records,
            windows: Windows::of(records),
            overflow: overflow(records),
            queues: Queues::of(records, &join, &timelines),
            answers: Answers::of(&records.answered),
            timelines,
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
        (0..workers).chain(self.timelines.keys().copied()).all(|worker| {
            let of_worker = |sample: &&SchedSample| sample.who == Watched::Worker(worker);
            self.records.sched.iter().filter(of_worker).nth(1).is_some()
        })
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

fn timelines(records: &RunRecords) -> BTreeMap<u32, Timeline> {
    let mut stretches: BTreeMap<u32, Vec<&Stretch>> = BTreeMap::new();
    for stretch in &records.stretches {
        stretches.entry(stretch.worker).or_default().push(stretch);
    }
    let cpu_time: BTreeMap<u32, Cumulative> =
        stretches.iter().map(|(worker, told)| (*worker, cpu_time(told))).collect();
    let timeline = |(worker, told): (&u32, &Vec<&Stretch>)| {
        let holds: Vec<_> =
            records.holds.iter().enumerate().filter(|(_, hold)| hold.worker == *worker).collect();
        let kernel = kernel(records, *worker, &cpu_time);
        (*worker, Timeline::new(told, &holds, &kernel))
    };
    stretches.iter().map(timeline).collect()
}

/// CPU time of a worker over its life, as it told it.
fn cpu_time(stretches: &[&Stretch]) -> Cumulative {
    let mut in_time = stretches.to_vec();
    in_time.sort_by_key(|stretch| stretch.start_ns);
    let mut used = 0_u64;
    let points = in_time.into_iter().flat_map(|stretch| {
        let before = (stretch.start_ns, used);
        used = used.saturating_add(stretch.cpu_us.0.saturating_mul(1_000));
        [before, (stretch.end_ns, used)]
    });
    Cumulative::new(points.collect::<Vec<_>>())
}

fn kernel(records: &RunRecords, worker: u32, cpu_time: &BTreeMap<u32, Cumulative>) -> Kernel {
    let cpus = &records.manifest.host.worker_cpus;
    // Workers are put on these CPUs in turn; unpinned ones may meet on any.
    let cpu_of = |worker: u32| cpus.get(worker as usize % cpus.len().max(1)).copied();
    let run_wait = records
        .sched
        .iter()
        .filter(|sample| sample.who == Watched::Worker(worker))
        .map(|sample| (sample.at_ns, sample.run_wait_ns));
    let own_cpu = cpu_of(worker);
    let mut stolen: BTreeMap<u32, Vec<(MonoNs, u64)>> = BTreeMap::new();
    for sample in &records.stolen {
        if own_cpu.is_none_or(|cpu| cpu == sample.cpu as usize) {
            let reading = (sample.at_ns, sample.stolen_ms.saturating_mul(1_000_000));
            stolen.entry(sample.cpu).or_default().push(reading);
        }
    }
    let of_cpu =
        cpu_time.iter().filter(|(other, _)| own_cpu.is_some() && cpu_of(**other) == own_cpu);
    let others = of_cpu.clone().filter(|(other, _)| **other != worker);
    // What the CPU ran and no worker did. Ticks are coarse: the sum may seem to fall, and is lifted.
    let strangers = records.stolen.iter().filter_map(|sample| {
        let busy = sample.busy_ms.filter(|_| own_cpu == Some(sample.cpu as usize))?;
        let used = |(_, used): (&u32, &Cumulative)| used.between(MonoNs(0), sample.at_ns);
        let workers = of_cpu.clone().map(used).fold(0, u64::saturating_add);
        Some((sample.at_ns, busy.saturating_mul(1_000_000).saturating_sub(workers)))
    });
    Kernel {
        run_wait: Cumulative::new(run_wait),
        stolen: stolen.into_values().map(Cumulative::new).collect(),
        siblings: others.map(|(_, used)| used.clone()).collect(),
        strangers: Cumulative::new(strangers),
    }
}

/// Who used a client port at a worker, and from when.
fn holders(records: &RunRecords, join: &Join<'_>) -> BTreeMap<(u32, u16), Vec<(MonoNs, Holder)>> {
    let mut holders: BTreeMap<(u32, u16), Vec<(MonoNs, Holder)>> = BTreeMap::new();
    let fetches = records
        .fetches
        .iter()
        .enumerate()
        .filter_map(|(index, fetch)| Some((join.fetch(index)?, Holder::Fetch(fetch.fetch))));
    let transfers = join.transfers.iter().enumerate().filter_map(|(index, transfer)| {
        Some((join.transfer(index)?, Holder::Download(transfer.slot)))
    });
    for (connection, holder) in fetches.chain(transfers) {
        let key = (connection.worker, connection.client_port);
        holders.entry(key).or_default().push((connection.accepted_ns, holder));
    }
    holders.values_mut().for_each(|users| users.sort_unstable());
    holders
}

#[cfg(test)]
mod tests;
