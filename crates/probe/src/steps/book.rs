//! Records made of what the programs tell: which session a call was for, and so where steps begin and
//! end. It is fed with events, which come in the order of each thread.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use records::{Blocked, Bytes, CallTotal, CallTotals, Micros, MonoNs, Record, SessionEnd};

use super::session::{Session, Side};
use super::worker::{Last, Worker};
use crate::calls::Call;
use crate::sample::{Doing, Watched};
use crate::tracer::Target;
use crate::wire::{self, Came, Direction, Ends, Event, Slot, Thread, What};

/// Where records go.
type Take<'a> = &'a mut dyn FnMut(Record);

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
    sessions: BTreeMap<u64, Session>,
    next_session: u64,
    /// By the kernel's address.
    sockets: HashMap<u64, Socket>,
    /// By process and descriptor.
    fds: HashMap<(u32, u32), u64>,
    /// Closed sessions that wait for their upstream.
    closing: BTreeSet<u64>,
}

/// A connection.
#[derive(Clone, Copy, Debug)]
struct Socket {
    side: Side,
    session: Option<u64>,
    ends: Ends,
}

/// What the last call that moved bytes was, of a worker within one turn.
#[derive(Clone, Copy, Debug)]
struct Before {
    sk: u64,
    side: Side,
    session: Option<u64>,
    direction: Direction,
    data: bool,
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
            sessions: BTreeMap::new(),
            next_session: 1,
            sockets: HashMap::new(),
            fds: HashMap::new(),
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
                if worker.was_seen() {
                    worker.polled(event.a, at, events, cpu, take);
                } else {
                    worker.first_poll(self.live, at, events, cpu, take);
                }
            }
            wire::BEGUN => worker.begun(at, cpu),
            wire::ACCEPTED => {
                self.end_step(worker, Last::Call, event, take);
                match event.ends {
                    None => worker.found_none(at),
                    Some(ends) => {
                        worker.accepted(at);
                        let id = self.client(event.a, ends, at);
                        self.open(worker, event);
                        self.begins(worker, id, take);
                    }
                }
            }
            wire::CONNECTED => self.connected(worker, event),
            wire::SOCKET => {
                if let Some(ends) = event.ends {
                    if self.listening.contains(&ends.local.port()) {
                        let id = self.client(event.a, ends, at);
                        self.sessions.entry(id).or_default().is_old = true;
                    } else {
                        let socket = Socket { side: Side::Upstream, session: None, ends };
                        self.sockets.insert(event.a, socket);
                    }
                    self.open(worker, event);
                }
            }
            wire::CLOSED => self.closed(worker, event, take),
            wire::SLEPT => self.slept(worker, event, take),
            _ => {}
        }
    }

    /// A session of a client's connection. One that is told of again is the same.
    fn client(&mut self, sk: u64, ends: Ends, at: u64) -> u64 {
        let known = self
            .sockets
            .get(&sk)
            .filter(|socket| (socket.ends.local, socket.ends.remote) == (ends.local, ends.remote));
        if let Some(id) = known.and_then(|socket| socket.session)
            && self.sessions.get(&id).is_some_and(|session| session.closed.is_none())
        {
            return id;
        }
        let id = self.next_session;
        self.next_session += 1;
        let port = ends.remote.port();
        self.sessions.insert(id, Session { port, accepted: at, ..Session::default() });
        self.sockets.insert(sk, Socket { side: Side::Client, session: Some(id), ends });
        id
    }

    /// A descriptor is that of the socket that an event is about.
    fn open(&mut self, worker: &Worker, event: &Event) {
        if let Ok(fd) = u32::try_from(event.b) {
            self.fds.insert((worker.target.pid, fd), event.a);
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
        let Some(session) = self.sessions.get_mut(&id) else { return };
        if session.of.is_none() {
            session.of = Some((worker.index(), worker.next_session()));
            session.tell_accepted(take);
        }
    }

    /// A connection was begun: whose it is, the order of the requests tells, or else the step.
    fn connected(&mut self, worker: &mut Worker, event: &Event) {
        let Some(ends) = event.ends else { return };
        let mut session = None;
        while let Some(asker) = worker.askers.pop_front() {
            if let Some(found) = self.sessions.get_mut(&asker).filter(|found| found.asks) {
                found.asks = false;
                session = Some(asker);
                break;
            }
        }
        let session = session.or(worker.step.map(|step| step.session));
        self.sockets.insert(event.a, Socket { side: Side::Upstream, session, ends });
        self.open(worker, event);
        if let Some(step) = &mut worker.step {
            step.end = event.at;
        }
        if let Some(id) = session {
            self.pair(id, event.a);
        }
    }

    /// An upstream connection is now this session's.
    fn pair(&mut self, id: u64, sk: u64) {
        let Some(socket) = self.sockets.get_mut(&sk) else { return };
        let port = socket.ends.local.port();
        let before = socket.session.replace(id).filter(|before| *before != id);
        if let Some(before) = before.and_then(|before| self.sessions.get_mut(&before))
            && before.upstream == Some(sk)
        {
            before.upstream = None;
        }
        if let Some(session) = self.sessions.get_mut(&id) {
            (session.upstream, session.upstream_port) = (Some(sk), Some(port));
            session.asks = false;
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
            self.fds.insert((worker.target.pid, slot.fd), sk);
            self.reassign(worker, sk, slot, before);
            let Some(&Socket { side, session, .. }) = self.sockets.get(&sk) else { continue };
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

    /// Whose an upstream connection is may show when it is used.
    fn reassign(&mut self, worker: &Worker, sk: u64, slot: &Slot, before: Option<Before>) {
        let Some(&Socket { side, session, .. }) = self.sockets.get(&sk) else { return };
        if slot.direction != Direction::Out || slot.data == 0 {
            return;
        }
        match (side, worker.step, before) {
            (Side::Upstream, Some(step), _) if session != Some(step.session) => {
                // A kept connection to the upstream is used again.
                let asked = before.is_some_and(|before| {
                    before.side == Side::Client && before.direction == Direction::In && before.data
                });
                let asks = self.sessions.get(&step.session).is_some_and(|owner| owner.asks);
                let over = session.is_none_or(|id| {
                    self.sessions.get(&id).is_none_or(|whose| whose.closed.is_some())
                });
                if over || (asked && asks) {
                    self.pair(step.session, sk);
                }
            }
            (Side::Client, _, Some(before)) => {
                // What was read just before is now written: it is this session's.
                let read = before.side == Side::Upstream
                    && before.direction == Direction::In
                    && before.data
                    && before.session != session;
                let (Some(id), true) = (session, read) else { return };
                let other = before.session;
                let both = other.and_then(|other| self.sessions.get(&other));
                if both.is_some_and(|other| other.both) {
                    return;
                }
                let mine = self.sessions.get(&id).and_then(|mine| mine.upstream);
                self.pair(id, before.sk);
                // The two had been taken for each other's.
                if let (Some(other), Some(mine)) = (other, mine) {
                    self.pair(other, mine);
                }
            }
            _ => {}
        }
    }

    /// A run of calls for a session: its step goes on, or begins.
    fn moves(&mut self, worker: &mut Worker, id: u64, side: Side, slot: &Slot) {
        let Some(session) = self.sessions.get_mut(&id) else { return };
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
                    session.head.get_or_insert(slot.first);
                }
                session.upstream_ended |= slot.had(Came::Nothing);
            }
            (Side::Upstream, Direction::Out) if slot.data > 0 => {
                session.sent.get_or_insert(slot.first);
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
                    session.asked.get_or_insert(slot.first);
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
        let session = self.sessions.entry(step.session).or_default();
        worker.end_step(session, ended, (event.at, event.cpu), take);
    }

    /// A descriptor was closed.
    fn closed(&mut self, worker: &mut Worker, event: &Event, take: Take<'_>) {
        let fd = u32::try_from(event.b).unwrap_or(u32::MAX);
        if let Some(step) = &mut worker.step {
            step.end = event.at;
        }
        let Some(sk) = self.fds.remove(&(worker.target.pid, fd)) else { return };
        let Some(socket) = self.sockets.remove(&sk) else { return };
        let Some(id) = socket.session else { return };
        match socket.side {
            Side::Upstream => {
                if let Some(session) = self.sessions.get_mut(&id)
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
                if let Some(session) = self.sessions.get_mut(&id) {
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
        let Some(socket) = self.sockets.get(&event.a) else { return };
        let Some(session) = socket.session.and_then(|id| self.sessions.get_mut(&id)) else {
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
        let sessions = &self.sessions;
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
        let Some(session) = self.sessions.remove(&id) else { return };
        if let Some(upstream) = session.upstream.and_then(|sk| self.sockets.get_mut(&sk)) {
            upstream.session = None;
        }
        session.tell(now, take);
    }

    /// A long sleep in a call.
    fn slept(&self, worker: &Worker, event: &Event, take: Take<'_>) {
        let call = Call::of(event.c);
        let of_call = self.sockets.get(&event.b).and_then(|socket| socket.session);
        let id = of_call.or(worker.step.map(|step| step.session));
        let session = id.and_then(|id| self.sessions.get(&id));
        // A thread without a session that waits for another has nothing to do.
        if session.is_some() || call.to_string() != "futex" {
            take(Record::Blocked(Blocked {
                worker: worker.index(),
                start_ns: MonoNs(event.a),
                end_ns: MonoNs(event.at),
                call: if call == Call::PageFault { String::new() } else { call.to_string() },
                client_port: session.map(|session| session.port),
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
        let open: Vec<u64> = self.sessions.keys().copied().collect();
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
