//! All threads of processes whose threads hand work to each other, each process told as one worker: what
//! one of its threads does between two polls is no step. Told are sessions, whichever threads served them,
//! sleeps, and slices of time: who ran, and for whom.
//!
//! A session's head is the first byte written to its client. What a thread does is for the connection that
//! moved bytes last on it since its last poll: a task that moved on to another thread in between is taken
//! for another's.

use std::collections::{BTreeMap, BTreeSet};

use procfs::process::Process;
use records::{Blocked, CallTotals, MonoNs, Record, WorkerTotals};

use super::Take;
use super::calls::{CallCounts, Moves};
use super::connections::Connections;
use super::session::Side;
use super::slices::{Busy, Slices, scaled};
use crate::calls::{Call, Class, class_of};
use crate::tracer::Target;
use crate::wire::{self, Direction, Event, Slot, What};

/// Sleeps from this length on are told (`LONG` of the programs).
const LONG: u64 = 5_000_000;

/// See the module's head.
#[derive(Debug)]
pub(super) struct Crowd {
    /// By process.
    workers: BTreeMap<u32, Worker>,
    threads: BTreeMap<u32, Thread>,
    /// A connection to one of these ports is a client's.
    listening: BTreeSet<u16>,
    /// When all programs were in place.
    live: MonoNs,
    of: Connections,
    /// Sessions that were asked and have not answered, with their clients' ports. One may close while a
    /// thread still works for it.
    unanswered: BTreeMap<u64, u16>,
}

/// A process.
#[derive(Debug)]
struct Worker {
    totals: WorkerTotals,
    slices: Slices,
    calls: BTreeMap<u32, Moves>,
}

/// A thread, as of what it told last. Times in ns.
#[derive(Clone, Copy, Debug)]
struct Thread {
    tid: u32,
    pid: u32,
    at: u64,
    cpu: u64,
    delay: u64,
    deep: u64,
    /// The session that it moved bytes for last.
    serves: Option<u64>,
}

/// A long sleep of a thread, outside of polls.
struct Slept {
    from: u64,
    to: u64,
    call: u32,
    /// The socket it waited for; 0: none.
    sk: u64,
    sleep: records::Sleep,
}

impl Crowd {
    /// A book about the processes of `targets`, all of whose events are seen from `live` on.
    pub(super) fn new(targets: &[Target], listening: BTreeSet<u16>, live: MonoNs) -> Self {
        let worker = |target: &Target| {
            let totals = WorkerTotals::of(target.worker);
            let (slices, calls) = Default::default();
            (target.pid, Worker { totals, slices, calls })
        };
        Self {
            workers: targets.iter().map(worker).collect(),
            threads: BTreeMap::new(),
            listening,
            live,
            of: Connections::default(),
            unanswered: BTreeMap::new(),
        }
    }

    /// Takes in an event.
    pub(super) fn event(&mut self, event: &Event, take: Take<'_>) {
        if event.kind == wire::STATE {
            return self.of.stated(event, take);
        }
        let Some(mut thread) = self.thread(event) else { return };
        let slept = matches!(event.kind, wire::POLLED | wire::SLEPT | wire::SLEPT_DEEP);
        let busy_until = if slept { event.a } else { event.at };
        self.was_busy(&mut thread, busy_until, event);
        match event.kind {
            wire::POLLED => thread.serves = None,
            wire::ACCEPTED => self.accepted(&thread, event, take),
            wire::CONNECTED => {
                if let Some(ends) = event.ends {
                    self.of.dialled(thread.pid, thread.serves, ends, event);
                }
            }
            wire::SOCKET => self.of.found(thread.pid, &self.listening, event),
            wire::CLOSED => {
                if let Some(id) = self.of.closed(thread.pid, event) {
                    self.belongs(thread.pid, id, take);
                    self.of.ended(id, event.at);
                    thread.serves = thread.serves.filter(|serves| *serves != id);
                }
            }
            wire::SLEPT | wire::SLEPT_DEEP => {
                let (from, to, sk) = (event.a, event.at, event.b);
                let slept = Slept { from, to, call: event.c, sk, sleep: event.sleep() };
                self.slept(&thread, &slept, take);
            }
            _ => {}
        }
        self.threads.insert(thread.tid, thread);
        self.of.tell_closed(event.at, take);
    }

    /// Who told it. One that was not seen before has run just before that, as long as it has run at all.
    fn thread(&self, event: &Event) -> Option<Thread> {
        if let Some(known) = self.threads.get(&event.tid) {
            return Some(*known);
        }
        let only = self.workers.keys().next().filter(|_| self.workers.len() == 1);
        let asked = || {
            let status = Process::new(event.tid.cast_signed()).and_then(|one| one.status()).ok()?;
            u32::try_from(status.tgid).ok()
        };
        let pid = only.copied().or_else(asked)?;
        let at = event.at.saturating_sub(event.cpu + event.delay).max(self.live.0);
        let (tid, delay) = (event.tid, event.delay);
        self.workers.contains_key(&pid).then_some(Thread {
            tid,
            pid,
            at,
            cpu: 0,
            delay,
            deep: 0,
            serves: None,
        })
    }

    /// What a thread did since it told of itself, until it slept or tells again: for whom it served, until
    /// it moved bytes for another.
    fn was_busy(&mut self, thread: &mut Thread, until: u64, event: &Event) {
        let (start, until) = (thread.at, until.max(thread.at));
        let mut parts = Vec::new();
        let mut from = start;
        for slot in &event.slots {
            let served = thread.serves;
            self.moved(thread, slot);
            if thread.serves != served {
                let to = slot.first.clamp(from, until);
                parts.push((from, to, served));
                from = to;
            }
        }
        parts.push((from, until, thread.serves));
        let run = event.cpu.saturating_sub(thread.cpu);
        let wait = event.delay.saturating_sub(thread.delay);
        let deep = event.deep.saturating_sub(thread.deep);
        if let Some(worker) = self.workers.get_mut(&thread.pid) {
            for (from, to, served) in parts {
                let of = |time| scaled(time, to - from, until - start);
                let client = served.and_then(|id| self.of.sessions.get(&id));
                worker.slices.add(Busy {
                    tid: thread.tid,
                    from,
                    to,
                    run: of(run),
                    wait: of(wait),
                    deep: of(deep),
                    client_port: client.map(|session| session.record.client_port),
                });
            }
        }
        thread.at = event.at;
        (thread.cpu, thread.delay, thread.deep) = (event.cpu, event.delay, event.deep);
    }

    /// A session is its process's.
    fn belongs(&mut self, pid: u32, id: u64, take: Take<'_>) {
        let Some(worker) = self.workers.get_mut(&pid) else { return };
        let Some(session) = self.of.sessions.get_mut(&id).filter(|of| of.of.is_none()) else {
            return;
        };
        session.of = Some((worker.totals.worker, worker.totals.sessions));
        worker.totals.sessions += 1;
        session.tell_accepted(take);
    }

    fn accepted(&mut self, thread: &Thread, event: &Event, take: Take<'_>) {
        let Some(ends) = event.ends else { return };
        let id = self.of.client(event.a, ends, event.at);
        self.of.open(thread.pid, event);
        self.belongs(thread.pid, id, take);
    }

    /// A run of calls that moved bytes, or tried to.
    fn moved(&mut self, thread: &mut Thread, slot: &Slot) {
        let Some(worker) = self.workers.get_mut(&thread.pid) else { return };
        worker.calls.entry(slot.call).or_default().add(slot.data, slot.other, slot.bytes);
        let What::Socket(sk) = slot.what else { return };
        self.of.fds.insert((thread.pid, slot.fd), sk);
        let Some(socket) = self.of.sockets.get(&sk) else { return };
        let (side, data) = (socket.side, slot.data > 0);
        // A kept connection to the upstream is used again.
        if let (Side::Upstream, Direction::Out, true) = (side, slot.direction, data)
            && let Some(id) = thread.serves
        {
            self.of.pair(id, sk);
        }
        let Some(id) = self.of.sockets.get(&sk).and_then(|socket| socket.session) else { return };
        let Some(session) = self.of.sessions.get_mut(&id) else { return };
        let first = MonoNs(slot.first);
        match (side, slot.direction) {
            (Side::Client, Direction::In) if data => {
                session.record.request_ns.get_or_insert(first);
                self.unanswered.insert(id, session.record.client_port);
            }
            (Side::Client, Direction::Out) if data => {
                session.record.head_ns.get_or_insert(first);
                self.unanswered.remove(&id);
                session.record.body_bytes += records::Bytes(slot.bytes);
            }
            (Side::Upstream, Direction::Out) if data => {
                session.record.connected_ns.get_or_insert(first);
            }
            (Side::Client, Direction::In) => session.read_failed |= slot.had(wire::Came::Error),
            (Side::Client, Direction::Out) => session.write_failed |= slot.had(wire::Came::Error),
            (Side::Upstream, _) => session.upstream_ended |= slot.had(wire::Came::Nothing),
        }
        if data {
            thread.serves = Some(id);
        }
    }

    /// A thread slept long. Of one that waits for what comes next nothing is told: it has nothing to do.
    fn slept(&self, thread: &Thread, slept: &Slept, take: Take<'_>) {
        let class = class_of(slept.call.into());
        let socket = self.of.sockets.get(&slept.sk);
        let waits_for_client = socket.is_some_and(|socket| socket.side == Side::Client);
        let id = socket.and_then(|socket| socket.session).or(thread.serves);
        let asked = id.and_then(|id| self.unanswered.get(&id));
        let session = id.and_then(|id| self.of.sessions.get(&id));
        let rests = match class {
            Some(Class::Poll | Class::Epoll | Class::Accept) => true,
            Some(Class::Futex) => asked.is_none(),
            _ => waits_for_client,
        };
        let worker = self.workers.get(&thread.pid).filter(|_| !rests);
        if let Some(worker) = worker {
            take(Record::Blocked(Blocked {
                worker: worker.totals.worker,
                start_ns: MonoNs(slept.from),
                end_ns: MonoNs(slept.to),
                call: Call::of(slept.call).in_records(),
                client_port: asked.copied().or(session.map(|session| session.record.client_port)),
                sleep: slept.sleep,
            }));
        }
    }

    /// Tells the totals of all workers.
    pub(super) fn tell_totals(&mut self, at: MonoNs, lost: u64, take: Take<'_>) {
        for worker in self.workers.values_mut() {
            (worker.totals.records_lost, worker.totals.at_ns) = (lost, at);
            take(Record::WorkerTotals(worker.totals.clone()));
        }
        self.of.tell_closed(at.0, take);
    }

    /// Tells what a thread was in when the programs were taken away.
    pub(super) fn finish_thread(&mut self, thread: wire::Thread, end: MonoNs, take: Take<'_>) {
        let (at, cpu, delay) = (end.0, thread.cpu_at(end.0), thread.delay_at(end.0));
        let (tid, deep) = (thread.tid, thread.deep);
        let last = Event { tid, at, cpu, delay, deep, ..thread.pending.clone() };
        let Some(mut known) = self.thread(&last) else { return };
        let asleep = thread.asleep_since();
        self.was_busy(&mut known, asleep.unwrap_or(at), &last);
        if let Some(from) = asleep.filter(|from| end.0.saturating_sub(*from) >= LONG) {
            let sleep = thread.sleep();
            let slept = Slept { from, to: end.0, call: thread.off_in(), sk: 0, sleep };
            self.slept(&known, &slept, take);
        }
        self.threads.insert(known.tid, known);
    }

    /// Tells what is left: open sessions, slices, calls and totals.
    pub(super) fn finish(mut self, end: MonoNs, lost: u64, counts: &CallCounts, take: Take<'_>) {
        for (&pid, worker) in &self.workers {
            let of_worker = |tid| self.threads.get(&tid).is_some_and(|thread| thread.pid == pid);
            let mut calls = counts.of_threads(of_worker);
            worker.calls.iter().for_each(|(call, moves)| moves.fill(*call, &mut calls));
            let (worker, at_ns) = (worker.totals.worker, end);
            take(Record::CallTotals(CallTotals { worker, at_ns, calls }));
        }
        self.of.tell_open(end, take);
        self.tell_totals(end, lost, take);
        for worker in self.workers.into_values() {
            worker.slices.tell(worker.totals.worker, self.live, end, take);
        }
    }
}

#[cfg(test)]
mod tests;
