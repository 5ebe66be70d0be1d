//! All threads of processes whose threads hand work to each other, each process told as one worker: what
//! one of its threads does between two polls is no step. Told are sessions, whichever threads served them,
//! sleeps, and slices of time: who ran, and for whom.
//!
//! A session's head is the first byte written to its client. What a thread does is for the connection that
//! moved bytes last on it since its last poll: a task that moved on to another thread in between is taken
//! for another's.

use std::collections::{BTreeMap, BTreeSet};

use records::{MonoNs, Record, WorkerTotals};

use super::calls::{CallCounts, Calls};
use super::connections::{Connections, Side};
use super::slices::{Busy, Slices, scaled};
use crate::calls::{Class, class_of};
use crate::target::{Take, Target, process_of};
use crate::wire::{self, Direction, Event, Slot};

/// Sleeps from this length on are told (`LONG` of the programs).
const LONG: u64 = 5_000_000;

/// See the module's head.
#[derive(Debug, Default)]
pub(super) struct Crowd {
    /// By process.
    workers: BTreeMap<u32, Worker>,
    threads: BTreeMap<u32, Thread>,
    /// Threads that have moved bytes for a session.
    serving: BTreeSet<u32>,
    /// When all programs were in place.
    live: MonoNs,
    of: Connections,
    /// Sessions that were asked and have not answered, with their clients' ports. One may close while a
    /// thread still works for it.
    unanswered: BTreeMap<u64, u16>,
}

/// A process.
#[derive(Debug, Default)]
struct Worker {
    totals: WorkerTotals,
    slices: Slices,
    calls: Calls,
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

impl Crowd {
    /// A book about the processes of `targets`, all of whose events are seen from `live` on.
    pub(super) fn new(targets: &[Target], of: Connections, live: MonoNs) -> Self {
        let worker = |target: &Target| {
            let totals = WorkerTotals::of(target.worker);
            (target.pid, Worker { totals, ..Worker::default() })
        };
        let workers = targets.iter().map(worker).collect();
        Self { workers, live, of, ..Self::default() }
    }

    /// Takes in an event.
    pub(super) fn event(&mut self, event: &Event, take: Take<'_>) {
        let Some(mut thread) = self.thread(event) else { return };
        let pid = thread.pid;
        let slept = matches!(event.kind, wire::POLLED | wire::SLEPT | wire::SLEPT_DEEP);
        let busy_until = if slept { event.a } else { event.at };
        self.was_busy(&mut thread, busy_until, event);
        match event.kind {
            wire::POLLED => thread.serves = None,
            wire::ACCEPTED => {
                if let Some(id) = self.of.accepted(pid, event) {
                    self.belongs(pid, id, take);
                }
            }
            wire::CONNECTED => self.of.dialled(pid, thread.serves, event),
            wire::SOCKET => self.of.found(pid, event),
            wire::CLOSED => {
                if let Some(id) = self.of.closed(pid, event) {
                    self.belongs(pid, id, take);
                    self.of.ended(id, event.at, take);
                    thread.serves = thread.serves.filter(|serves| *serves != id);
                }
            }
            wire::SLEPT | wire::SLEPT_DEEP => self.slept(&thread, event, take),
            _ => {}
        }
        self.threads.insert(thread.tid, thread);
    }

    /// Who told it. One that was not seen before has run just before that, as long as it has run at all.
    fn thread(&self, event: &Event) -> Option<Thread> {
        if let Some(known) = self.threads.get(&event.tid) {
            return Some(*known);
        }
        let only = self.workers.keys().next().filter(|_| self.workers.len() == 1);
        let pid = only.copied().or_else(|| process_of(event.tid))?;
        let at = event.at.saturating_sub(event.cpu + event.delay).max(self.live.0);
        let (tid, delay) = (event.tid, event.delay);
        let thread = Thread { tid, pid, at, cpu: 0, delay, deep: 0, serves: None };
        self.workers.contains_key(&pid).then_some(thread)
    }

    /// What a thread did since it told of itself, until it slept or tells again: for whom it served, until
    /// it moved bytes for another.
    fn was_busy(&mut self, thread: &mut Thread, until: u64, event: &Event) {
        let (start, until) = (thread.at, until.max(thread.at));
        let mut parts = Vec::new();
        let mut from = start;
        for slot in event.slots() {
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
        if let Some(worker) = self.workers.get_mut(&pid)
            && let Some(session) = self.of.sessions.get_mut(&id)
        {
            let totals = &mut worker.totals;
            session.belongs(totals.worker, &mut totals.sessions, take);
        }
    }

    /// A run of calls that moved bytes, or tried to.
    fn moved(&mut self, thread: &mut Thread, slot: &Slot) {
        let Some(worker) = self.workers.get_mut(&thread.pid) else { return };
        worker.calls.add(slot);
        let Some(sk) = self.of.used(thread.pid, slot) else { return };
        let Some(side) = self.of.sockets.get(&sk).map(|socket| socket.side) else { return };
        let (direction, data) = (slot.direction(), slot.data > 0);
        // A kept connection to the upstream is used again.
        if let (Side::Upstream, Direction::Out, true) = (side, direction, data)
            && let Some(id) = thread.serves
        {
            self.of.pair(id, sk);
        }
        let Some(id) = self.of.sockets.get(&sk).and_then(|socket| socket.session) else { return };
        let Some(session) = self.of.sessions.get_mut(&id) else { return };
        session.moved(side, slot);
        if !data {
            return;
        }
        thread.serves = Some(id);
        self.serving.insert(thread.tid);
        match (side, direction) {
            (Side::Client, Direction::In) => {
                self.unanswered.insert(id, session.record.client_port);
            }
            (Side::Client, Direction::Out) => {
                session.record.head_ns.get_or_insert(MonoNs(slot.first));
                self.unanswered.remove(&id);
            }
            (Side::Upstream, _) => {}
        }
    }

    /// A thread slept long. Of one that waits for what comes next nothing is told: it has nothing to do.
    fn slept(&self, thread: &Thread, event: &Event, take: Take<'_>) {
        let socket = self.of.sockets.get(&event.b);
        let waits_for_client = socket.is_some_and(|socket| socket.side == Side::Client);
        let id = socket.and_then(|socket| socket.session).or(thread.serves);
        let asked = id.and_then(|id| self.unanswered.get(&id));
        let session = id.and_then(|id| self.of.sessions.get(&id));
        let rests = match class_of(event.c.into()) {
            Some(Class::Poll | Class::Epoll | Class::Accept) => true,
            Some(Class::Futex) => asked.is_none(),
            _ => waits_for_client,
        };
        if let Some(worker) = self.workers.get(&thread.pid).filter(|_| !rests) {
            let client_port = asked.copied().or(session.map(|session| session.record.client_port));
            take(event.blocked(worker.totals.worker, client_port));
        }
    }

    /// Tells the totals of all workers.
    pub(super) fn tell_totals(&mut self, at: MonoNs, lost: u64, take: Take<'_>) {
        for worker in self.workers.values_mut() {
            (worker.totals.records_lost, worker.totals.at_ns) = (lost, at);
            take(Record::WorkerTotals(worker.totals.clone()));
        }
    }

    /// Tells what a thread was in when the programs were taken away.
    pub(super) fn finish_thread(&mut self, thread: &wire::Thread, end: MonoNs, take: Take<'_>) {
        let (at, cpu, delay) = (end.0, thread.cpu_at(end.0), thread.delay_at(end.0));
        let (tid, deep) = (thread.tid, thread.deep);
        let last = Event { tid, at, cpu, delay, deep, ..thread.pending };
        let Some(mut known) = self.thread(&last) else { return };
        let asleep = thread.asleep_since();
        self.was_busy(&mut known, asleep.unwrap_or(at), &last);
        if let Some(from) = asleep.filter(|from| end.0.saturating_sub(*from) >= LONG) {
            let event = Event { kind: thread.sleep(), a: from, b: 0, c: thread.off_in, ..last };
            self.slept(&known, &event, take);
        }
        self.threads.insert(known.tid, known);
    }

    /// Tells what is left: open sessions, slices, calls and totals.
    pub(super) fn finish(mut self, end: MonoNs, lost: u64, counts: &CallCounts, take: Take<'_>) {
        for (&pid, worker) in &self.workers {
            let is_its = |tid| self.threads.get(&tid).is_some_and(|thread| thread.pid == pid);
            worker.calls.tell((worker.totals.worker, end), counts, is_its, None, take);
        }
        self.of.tell_open(end, take);
        self.tell_totals(end, lost, take);
        // Nobody waits for a thread that looks after the program from time to time, as Go's sysmon does, and
        // that comes last where a request keeps the CPU.
        let beside = &counts.timed() - &self.serving;
        for worker in self.workers.into_values() {
            worker.slices.tell(worker.totals.worker, (self.live, end), &beside, take);
        }
    }
}

#[cfg(test)]
mod tests;
