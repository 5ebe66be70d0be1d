//! Records made of what the programs tell: which session a call was for, and so where steps begin and
//! end. It is fed with events, which come in the order of each thread.

use std::collections::{BTreeMap, BTreeSet};

use records::{Blocked, Bytes, CallTotal, CallTotals, Micros, MonoNs, Record, SessionEnd};

use super::Take;
use super::connections::{Before, Connections, Socket};
use super::session::Side;
use super::worker::{Last, Worker};
use crate::calls::Call;
use crate::sample::{Doing, Watched};
use crate::tracer::Target;
use crate::wire::{self, Came, Direction, Event, Slot, Thread, What};

/// By thread and call.
pub(super) type CallCounts = BTreeMap<(u32, Call), CallTotal>;

/// How long a session that its proxy closed waits for the end of its upstream, which tells whether its
/// answer was whole.
const WAITS: u64 = 100_000_000;

/// States of a connection (include/net/tcp_states.h).
const ESTABLISHED: u32 = 1;
const CLOSE: u32 = 7;
const CLOSE_WAIT: u32 = 8;

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
    /// Closed sessions that wait for their upstream.
    closing: BTreeSet<u64>,
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
            closing: BTreeSet::new(),
        }
    }

    /// Takes in an event.
    pub(super) fn event(&mut self, event: &Event, take: Take<'_>) {
        if event.kind == wire::STATE {
            return self.stated(event, take);
        }
        // No other worker's book is touched while this one's is: it is taken out.
        let Some(mut worker) = self.workers.remove(&event.tid) else { return };
        self.of_worker(&mut worker, event, take);
        self.workers.insert(event.tid, worker);
        self.tell_closed(event.at, take);
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
                        self.of.open(worker, event);
                        self.begins(worker, id, take);
                    }
                }
            }
            wire::CONNECTED => self.of.connected(worker, event),
            wire::SOCKET => {
                if let Some(ends) = event.ends {
                    if self.listening.contains(&ends.local.port()) {
                        let id = self.of.client(event.a, ends, at);
                        self.of.sessions.entry(id).or_default().is_old = true;
                    } else {
                        let socket = Socket { side: Side::Upstream, session: None, ends };
                        self.of.sockets.insert(event.a, socket);
                    }
                    self.of.open(worker, event);
                }
            }
            wire::CLOSED => self.closed(worker, event, take),
            wire::SLEPT => self.slept(worker, event, take),
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
        let fd = u32::try_from(event.b).unwrap_or(u32::MAX);
        if let Some(step) = &mut worker.step {
            step.end = event.at;
        }
        let Some(sk) = self.of.fds.remove(&(worker.target.pid, fd)) else { return };
        let Some(socket) = self.of.sockets.remove(&sk) else { return };
        let Some(id) = socket.session else { return };
        match socket.side {
            Side::Upstream => {
                if let Some(session) = self.of.sessions.get_mut(&id)
                    && session.upstream == Some(sk)
                {
                    session.upstream = None;
                }
            }
            Side::Client => {
                if worker.step.is_some_and(|step| step.session == id) {
                    self.end_step(worker, Last::Close, event, take);
                }
                self.serves(worker, id, take);
                if let Some(session) = self.of.sessions.get_mut(&id) {
                    session.closed = Some(event.at);
                    session.asks = false;
                    self.closing.insert(id);
                }
            }
        }
    }

    /// A connection has changed its state.
    fn stated(&mut self, event: &Event, take: Take<'_>) {
        let (own, old, new) = (event.c >> 16 != 0, event.c >> 8 & 0xff, event.c & 0xff);
        let Some(socket) = self.of.sockets.get(&event.a) else { return };
        let Some(session) = socket.session.and_then(|id| self.of.sessions.get_mut(&id)) else {
            return;
        };
        match (socket.side, own) {
            (Side::Client, false) => match new {
                CLOSE_WAIT => session.gone = Some(SessionEnd::ClientClosed),
                CLOSE if session.closed.is_none() => session.gone = Some(SessionEnd::ClientReset),
                _ => {}
            },
            (Side::Upstream, true) => {
                session.upstream_had_more |= event.b != 0;
                if old == ESTABLISHED && session.closed.is_none() {
                    session.gone_then = session.gone;
                }
            }
            _ => {}
        }
        self.tell_closed(event.at, take);
    }

    /// Tells closed sessions whose upstream has ended, or been given to another, or was waited for.
    fn tell_closed(&mut self, now: u64, take: Take<'_>) {
        let sessions = &self.of.sessions;
        let is_over = |id: &u64| {
            sessions.get(id).is_none_or(|session| {
                session.upstream.is_none()
                    || session.upstream_ended
                    || session.closed.is_some_and(|closed| closed + WAITS < now)
            })
        };
        let over: Vec<u64> = self.closing.iter().copied().filter(is_over).collect();
        for id in over {
            self.closing.remove(&id);
            self.tell_session(id, MonoNs(now), take);
        }
    }

    fn tell_session(&mut self, id: u64, now: MonoNs, take: Take<'_>) {
        let Some(session) = self.of.sessions.remove(&id) else { return };
        if let Some(upstream) = session.upstream.and_then(|sk| self.of.sockets.get_mut(&sk)) {
            upstream.session = None;
        }
        session.tell(now, take);
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
                call: if call == Call::PageFault { String::new() } else { call.to_string() },
                client_port: session.map(|session| session.record.client_port),
            }));
        }
    }

    /// Tells the totals of all workers.
    pub(super) fn tell_totals(&mut self, at: MonoNs, lost: u64, take: Take<'_>) {
        self.workers.values_mut().for_each(|worker| worker.tell_totals(at, lost, take));
        self.tell_closed(at.0, take);
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
    pub(super) fn finish(mut self, end: MonoNs, lost: u64, counts: CallCounts, take: Take<'_>) {
        for worker in self.workers.values().filter(|worker| !worker.was_seen()) {
            // In its poll, all along. Or it never came to one, which is another matter, and unknown.
            let looked = Watched::open(&worker.target).ok().and_then(|mut watched| watched.look());
            if looked == Some(Doing::Polling) {
                worker.slept_through(self.live, end, take);
            }
        }
        let open: Vec<u64> = self.of.sessions.keys().copied().collect();
        for id in open {
            self.tell_session(id, end, take);
        }
        self.tell_totals(end, lost, take);
        for worker in self.workers.values() {
            let mut calls: BTreeMap<String, CallTotal> = BTreeMap::new();
            let of_worker = counts.iter().filter(|((tid, _), _)| *tid == worker.target.tid);
            for ((_, call), total) in of_worker {
                if *call != Call::PageFault {
                    calls.insert(call.to_string(), total.clone());
                }
            }
            for (number, moves) in &worker.calls {
                let call = calls.entry(Call::of(*number).to_string()).or_default();
                (call.count, call.bytes) = (moves.calls, Bytes(moves.bytes));
                call.sizes.clone_from(&moves.sizes);
            }
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
