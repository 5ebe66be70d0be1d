//! Records made of what the programs tell: which session a call was for, and so where steps begin and
//! end. It is fed with events, which come in the order of each thread.

use std::collections::BTreeMap;

use records::{Micros, MonoNs};

use super::calls::CallCounts;
use super::connections::{Connections, Side, Socket};
use super::worker::{Last, Worker};
use crate::calls::{Class, class_of};
use crate::process::{self, Wait};
use crate::target::{Take, Target};
use crate::wire::{self, Direction, Event, Slot, Thread};

/// See the module's head.
#[derive(Debug)]
pub(super) struct Book {
    /// By thread.
    workers: BTreeMap<u32, Worker>,
    /// When all programs were in place.
    live: MonoNs,
    of: Connections,
}

impl Book {
    /// A book about `targets`, all of whose events are seen from `live` on.
    pub(super) fn new(targets: &[Target], of: Connections, hold: Micros, live: MonoNs) -> Self {
        let worker = |target: &Target| (target.tid, Worker::new(*target, hold));
        Self { workers: targets.iter().map(worker).collect(), live, of }
    }

    /// Takes in an event.
    pub(super) fn event(&mut self, event: &Event, take: Take<'_>) {
        // No other worker's book is touched while this one's is: it is taken out.
        let Some(mut worker) = self.workers.remove(&event.tid) else { return };
        self.of_worker(&mut worker, event, take);
        self.workers.insert(event.tid, worker);
    }

    fn of_worker(&mut self, worker: &mut Worker, event: &Event, take: Take<'_>) {
        let (at, cpu, pid) = (event.at, event.cpu, worker.target.pid);
        self.slots(worker, event, take);
        match event.kind {
            wire::POLLED => {
                // A poll that failed tells of no events.
                let events = u32::try_from(event.b).unwrap_or(0);
                worker.poll = Some(event.c & 0x7fff_ffff);
                self.end_step(worker, Last::Call, event, take);
                worker.polled((event.a, self.live), (at, cpu), events, take);
            }
            wire::BEGUN => worker.begun(at, cpu),
            wire::ACCEPTED => {
                self.end_step(worker, Last::Call, event, take);
                let Some(id) = self.of.accepted(pid, event) else { return worker.found_none(at) };
                worker.accepted(at);
                // In a process of several workers, whose it is, its first step tells.
                if !self.workers.values().any(|other| other.target.pid == pid) {
                    self.serves(worker, id, take);
                }
            }
            wire::CONNECTED => self.dialled(worker, event),
            wire::SOCKET => self.of.found(pid, event),
            wire::CLOSED => self.closed(worker, event, take),
            wire::SLEPT | wire::SLEPT_DEEP => self.slept(worker, event, take),
            _ => {}
        }
    }

    /// A session is this worker's.
    fn serves(&mut self, worker: &mut Worker, id: u64, take: Take<'_>) {
        if let Some(session) = self.of.sessions.get_mut(&id) {
            session.belongs(worker.index(), &mut worker.next_session, take);
        }
    }

    /// A connection was begun: whose it is, the order of the requests tells, or else the step.
    fn dialled(&mut self, worker: &mut Worker, event: &Event) {
        let of = &mut self.of;
        let asks = |asker: &u64| of.sessions.get(asker).is_some_and(|session| session.asks);
        let asker = std::iter::from_fn(|| worker.askers.pop_front()).find(asks);
        of.dialled(worker.target.pid, asker.or(worker.step.map(|step| step.session)), event);
        if let Some(step) = &mut worker.step {
            step.end = event.at;
        }
    }

    /// Calls that moved bytes, in their order.
    fn slots(&mut self, worker: &mut Worker, event: &Event, take: Take<'_>) {
        let mut before: Option<(u64, &Slot)> = None;
        for slot in event.slots() {
            worker.calls.add(slot);
            let sk = self.of.used(worker.target.pid, slot);
            if let Some(sk) = sk {
                let serving = worker.step.map(|step| step.session);
                self.of.reassign((sk, slot), before, serving);
                before = Some((sk, slot));
            }
            match sk.and_then(|sk| self.of.sockets.get(&sk).copied()) {
                Some(Socket { side, session: Some(id), .. }) => {
                    if worker.step.is_some_and(|step| step.session != id) {
                        self.end_step(worker, Last::Call, event, take);
                    }
                    self.serves(worker, id, take);
                    self.moves(worker, id, side, slot);
                }
                // A call of no session belongs to the step under way.
                _ => {
                    if let Some(step) = &mut worker.step {
                        step.end = step.end.max(slot.last);
                        step.last = None;
                    }
                }
            }
        }
    }

    /// A run of calls for a session: its step goes on, or begins.
    fn moves(&mut self, worker: &mut Worker, id: u64, side: Side, slot: &Slot) {
        let Some(session) = self.of.sessions.get_mut(&id) else { return };
        worker.step_of(id).moved(side, slot);
        session.moved(side, slot);
        if slot.data == 0 {
            return;
        }
        match (side, slot.direction()) {
            (Side::Upstream, Direction::In) => {
                session.record.head_ns.get_or_insert(MonoNs(slot.first));
            }
            (Side::Client, Direction::Out) => session.asks = false,
            (Side::Client, Direction::In) if session.upstream.is_none() && !session.asks => {
                session.asks = true;
                worker.askers.push_back(id);
            }
            _ => {}
        }
    }

    fn end_step(&mut self, worker: &mut Worker, ended: Last, event: &Event, take: Take<'_>) {
        let Some(step) = worker.step else { return };
        let session = self.of.sessions.entry(step.session).or_default();
        worker.end_step(session, ended, (event.at, event.cpu), take);
    }

    /// A descriptor was closed.
    fn closed(&mut self, worker: &mut Worker, event: &Event, take: Take<'_>) {
        if let Some(step) = &mut worker.step {
            step.end = event.at;
        }
        let Some(id) = self.of.closed(worker.target.pid, event) else { return };
        if worker.step.is_some_and(|step| step.session == id) {
            self.end_step(worker, Last::Close, event, take);
        }
        self.serves(worker, id, take);
        self.of.ended(id, event.at, take);
    }

    /// A long sleep in a call.
    fn slept(&self, worker: &Worker, event: &Event, take: Take<'_>) {
        let of_call = self.of.sockets.get(&event.b).and_then(|socket| socket.session);
        let id = of_call.or(worker.step.map(|step| step.session));
        let session = id.and_then(|id| self.of.sessions.get(&id));
        // A thread without a session that waits for another has nothing to do.
        if session.is_some() || class_of(event.c.into()) != Some(Class::Futex) {
            let client_port = session.map(|session| session.record.client_port);
            take(event.blocked(worker.index(), client_port));
        }
    }

    /// Tells the totals of all workers.
    pub(super) fn tell_totals(&mut self, at: MonoNs, lost: u64, take: Take<'_>) {
        self.workers.values_mut().for_each(|worker| worker.tell_totals(at, lost, take));
    }

    /// Tells what a worker was in when the programs were taken away.
    pub(super) fn finish_thread(&mut self, thread: &Thread, end: MonoNs, take: Take<'_>) {
        let Some(mut worker) = self.workers.remove(&thread.tid) else { return };
        let asleep = Some(thread.poll_off).filter(|asleep| *asleep != 0);
        let pending = Event { at: end.0, cpu: thread.cpu_at(end.0), ..thread.pending };
        if worker.was_seen() {
            self.slots(&mut worker, &pending, take);
            if let Some(step) = worker.step.as_mut().filter(|_| asleep.is_none()) {
                step.end = end.0;
            }
            let ended = if asleep.is_some() { Last::Call } else { Last::None };
            self.end_step(&mut worker, ended, &pending, take);
            worker.finish(asleep, end.0, pending.cpu, take);
        }
        self.workers.insert(thread.tid, worker);
    }

    /// Tells what is left: open sessions, calls and totals.
    pub(super) fn finish(mut self, end: MonoNs, lost: u64, counts: &CallCounts, take: Take<'_>) {
        for worker in self.workers.values_mut().filter(|worker| !worker.was_seen()) {
            // In its poll, all along. Or it never came to one, which is another matter, and unknown.
            let Target { pid, tid, .. } = worker.target;
            if process::wait(pid, tid).is_some_and(Wait::is_poll) {
                worker.slept_through(self.live, end, take);
            }
        }
        self.of.tell_open(end, take);
        self.tell_totals(end, lost, take);
        for worker in self.workers.values() {
            let is_its = |tid| tid == worker.target.tid;
            worker.calls.tell((worker.index(), end), counts, is_its, worker.polls(), take);
        }
    }
}
