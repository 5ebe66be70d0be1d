//! Records made of what the programs tell: which session a call was for, and so where steps begin and
//! end. It is fed with events, which come in the order of each thread.

use std::collections::{BTreeMap, BTreeSet};

use records::{Blocked, CallTotals, Micros, MonoNs, Record};

use super::Take;
use super::calls::CallCounts;
use super::connections::{Before, Connections, Socket};
use super::session::Side;
use super::worker::{Last, Worker};
use crate::calls::Call;
use crate::sample::{Doing, Watched};
use crate::tracer::Target;
use crate::wire::{self, Came, Direction, Event, Slot, Thread, What};

/// See the module's head.
#[derive(Debug)]
pub(super) struct Book {
    /// By thread.
    workers: BTreeMap<u32, Worker>,
    /// A connection to one of these ports is a client's.
    listening: BTreeSet<u16>,
    /// When all programs were in place.
    live: MonoNs,
    of: Connections,
}

impl Book {
    /// A book about `targets`, all of whose events are seen from `live` on.
    pub(super) fn new(
        targets: &[Target],
        listening: BTreeSet<u16>,
        hold: Micros,
        live: MonoNs,
    ) -> Self {
        let worker = |target: &Target| (target.tid, Worker::new(*target, hold));
        Self {
            workers: targets.iter().map(worker).collect(),
            listening,
            live,
            of: Connections::default(),
        }
    }

    /// Takes in an event.
    pub(super) fn event(&mut self, event: &Event, take: Take<'_>) {
        if event.kind == wire::STATE {
            return self.of.stated(event, take);
        }
        // No other worker's book is touched while this one's is: it is taken out.
        let Some(mut worker) = self.workers.remove(&event.tid) else { return };
        self.of_worker(&mut worker, event, take);
        self.workers.insert(event.tid, worker);
        self.of.tell_closed(event.at, take);
    }

    fn of_worker(&mut self, worker: &mut Worker, event: &Event, take: Take<'_>) {
        let (at, cpu) = (event.at, event.cpu);
        self.slots(worker, event, take);
        match event.kind {
            wire::POLLED => {
                let events = u32::try_from(event.b).unwrap_or(0);
                let events = if event.b.cast_signed() > 0 { events } else { 0 };
                worker.poll = Some(event.c & 0x7fff_ffff);
                self.end_step(worker, Last::Call, event, take);
                worker.polled((event.a, self.live), (at, cpu), events, take);
            }
            wire::BEGUN => worker.begun(at, cpu),
            wire::ACCEPTED => {
                self.end_step(worker, Last::Call, event, take);
                match event.ends {
                    None => worker.found_none(at),
                    Some(ends) => {
                        worker.accepted(at);
                        let id = self.of.client(event.a, ends, at);
                        self.of.open(worker.target.pid, event);
                        self.begins(worker, id, take);
                    }
                }
            }
            wire::CONNECTED => self.of.connected(worker, event),
            wire::SOCKET => self.of.found(worker.target.pid, &self.listening, event),
            wire::CLOSED => self.closed(worker, event, take),
            wire::SLEPT | wire::SLEPT_DEEP => self.slept(worker, event, take),
            _ => {}
        }
    }

    /// A session is this worker's. In a process of several, whose it is, its first step tells.
    fn begins(&mut self, worker: &mut Worker, id: u64, take: Take<'_>) {
        let pid = worker.target.pid;
        if !self.workers.values().any(|other| other.target.pid == pid) {
            self.serves(worker, id, take);
        }
    }

    fn serves(&mut self, worker: &mut Worker, id: u64, take: Take<'_>) {
        let Some(session) = self.of.sessions.get_mut(&id) else { return };
        if session.of.is_none() {
            session.of = Some((worker.index(), worker.next_session()));
            session.tell_accepted(take);
        }
    }

    /// Calls that moved bytes, in their order.
    fn slots(&mut self, worker: &mut Worker, event: &Event, take: Take<'_>) {
        let mut before: Option<Before> = None;
        for slot in &event.slots {
            let moves = worker.calls.entry(slot.call).or_default();
            moves.add(slot.data, slot.other, slot.bytes);
            let What::Socket(sk) = slot.what else {
                self.passes(worker, slot);
                continue;
            };
            self.of.fds.insert((worker.target.pid, slot.fd), sk);
            self.of.reassign(worker, sk, slot, before);
            let Some(&Socket { side, session, .. }) = self.of.sockets.get(&sk) else { continue };
            let (direction, data) = (slot.direction, slot.data > 0);
            before = Some(Before { sk, side, session, direction, data });
            let Some(id) = session else {
                self.passes(worker, slot);
                continue;
            };
            if worker.step.is_some_and(|step| step.session != id) {
                self.end_step(worker, Last::Call, event, take);
            }
            self.serves(worker, id, take);
            self.moves(worker, id, side, slot);
        }
    }

    /// A call of no session belongs to the step under way.
    fn passes(&self, worker: &mut Worker, slot: &Slot) {
        if let Some(step) = &mut worker.step {
            step.end = step.end.max(slot.last);
            step.last = None;
        }
    }

    /// A run of calls for a session: its step goes on, or begins.
    fn moves(&mut self, worker: &mut Worker, id: u64, side: Side, slot: &Slot) {
        let Some(session) = self.of.sessions.get_mut(&id) else { return };
        let step = worker.step_of(id);
        if slot.last >= step.end {
            step.end = slot.last;
            step.last = Some((side, slot.direction, slot.ended()));
        }
        match (side, slot.direction) {
            (Side::Upstream, Direction::In) => {
                step.up += slot.bytes;
                step.reads += u64::from(slot.data);
                if slot.data > 0 {
                    session.record.head_ns.get_or_insert(MonoNs(slot.first));
                }
                session.upstream_ended |= slot.had(Came::Nothing);
            }
            (Side::Upstream, Direction::Out) if slot.data > 0 => {
                session.record.connected_ns.get_or_insert(MonoNs(slot.first));
            }
            (Side::Upstream, Direction::Out) => {}
            (Side::Client, Direction::Out) => {
                step.down += slot.bytes;
                step.writes += u64::from(slot.data);
                session.asks &= slot.data == 0;
                session.write_failed |= slot.had(Came::Error);
            }
            (Side::Client, Direction::In) => {
                step.taken += slot.bytes;
                step.takes += u64::from(slot.data);
                session.read_failed |= slot.had(Came::Error);
                if slot.data > 0 {
                    session.record.request_ns.get_or_insert(MonoNs(slot.first));
                    if session.upstream.is_none() && !session.asks {
                        session.asks = true;
                        worker.askers.push_back(id);
                    }
                }
            }
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
        self.of.ended(id, event.at);
    }

    /// A long sleep in a call.
    fn slept(&self, worker: &Worker, event: &Event, take: Take<'_>) {
        let call = Call::of(event.c);
        let of_call = self.of.sockets.get(&event.b).and_then(|socket| socket.session);
        let id = of_call.or(worker.step.map(|step| step.session));
        let session = id.and_then(|id| self.of.sessions.get(&id));
        // A thread without a session that waits for another has nothing to do.
        if session.is_some() || call.to_string() != "futex" {
            take(Record::Blocked(Blocked {
                worker: worker.index(),
                start_ns: MonoNs(event.a),
                end_ns: MonoNs(event.at),
                call: call.in_records(),
                sleep: event.sleep(),
                client_port: session.map(|session| session.record.client_port),
            }));
        }
    }

    /// Tells the totals of all workers.
    pub(super) fn tell_totals(&mut self, at: MonoNs, lost: u64, take: Take<'_>) {
        self.workers.values_mut().for_each(|worker| worker.tell_totals(at, lost, take));
        self.of.tell_closed(at.0, take);
    }

    /// Tells what a worker was in when the programs were taken away.
    pub(super) fn finish_thread(&mut self, thread: Thread, end: MonoNs, take: Take<'_>) {
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
        for worker in self.workers.values().filter(|worker| !worker.was_seen()) {
            // In its poll, all along. Or it never came to one, which is another matter, and unknown.
            let looked = Watched::open(&worker.target).ok().and_then(|mut watched| watched.look());
            if looked == Some(Doing::Polling) {
                worker.slept_through(self.live, end, take);
            }
        }
        self.of.tell_open(end, take);
        self.tell_totals(end, lost, take);
        for worker in self.workers.values() {
            let mut calls = counts.of_threads(|tid| tid == worker.target.tid);
            worker.calls.iter().for_each(|(call, moves)| moves.fill(*call, &mut calls));
            if let Some(poll) = worker.poll {
                let (polled, turns) = worker.in_polls();
                let call = calls.entry(Call::of(poll).to_string()).or_default();
                (call.count, call.time_us) = (turns, polled.max(call.asleep_us));
            }
            if !calls.is_empty() {
                let (worker, at_ns) = (worker.index(), end);
                take(Record::CallTotals(CallTotals { worker, at_ns, calls }));
            }
        }
    }
}
