//! Which connections there are, and whose each is. Of an upstream connection it is learned from the order
//! of calls: see the head of `steps`.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use records::{MonoNs, SessionEnd};

use super::Take;
use super::session::{Session, Side};
use super::worker::Worker;
use crate::wire::{Direction, Ends, Event, Slot};

/// How long a session that its proxy closed waits for the end of its upstream, which tells whether its
/// answer was whole.
const WAITS: u64 = 100_000_000;

/// States of a connection (include/net/tcp_states.h).
const ESTABLISHED: u32 = 1;
const CLOSE: u32 = 7;
const CLOSE_WAIT: u32 = 8;

/// See the module's head.
#[derive(Debug, Default)]
pub(super) struct Connections {
    pub(super) sessions: BTreeMap<u64, Session>,
    last_session: u64,
    /// By the kernel's address.
    pub(super) sockets: HashMap<u64, Socket>,
    /// By process and descriptor.
    pub(super) fds: HashMap<(u32, u32), u64>,
    /// Closed sessions that wait for their upstream.
    closing: BTreeSet<u64>,
}

/// A connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Socket {
    pub(super) side: Side,
    pub(super) session: Option<u64>,
    pub(super) ends: Ends,
}

/// What the last call that moved bytes was, of a worker within one turn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Before {
    pub(super) sk: u64,
    pub(super) side: Side,
    pub(super) session: Option<u64>,
    pub(super) direction: Direction,
    pub(super) data: bool,
}

impl Connections {
    /// A session of a client's connection. One that is told of again is the same.
    pub(super) fn client(&mut self, sk: u64, ends: Ends, at: u64) -> u64 {
        let known = self
            .sockets
            .get(&sk)
            .filter(|socket| (socket.ends.local, socket.ends.remote) == (ends.local, ends.remote));
        if let Some(id) = known.and_then(|socket| socket.session)
            && self.sessions.get(&id).is_some_and(|session| session.closed.is_none())
        {
            return id;
        }
        self.last_session += 1;
        let id = self.last_session;
        let (client_port, accepted_ns) = (ends.remote.port(), MonoNs(at));
        let record = records::Session { client_port, accepted_ns, ..Default::default() };
        self.sessions.insert(id, Session { record, ..Session::default() });
        self.sockets.insert(sk, Socket { side: Side::Client, session: Some(id), ends });
        id
    }

    /// A descriptor is that of the socket that an event is about.
    pub(super) fn open(&mut self, pid: u32, event: &Event) {
        if let Ok(fd) = u32::try_from(event.b) {
            self.fds.insert((pid, fd), event.a);
        }
    }

    /// A socket was seen that was there before anybody watched.
    pub(super) fn found(&mut self, pid: u32, listening: &BTreeSet<u16>, event: &Event) {
        let Some(ends) = event.ends else { return };
        if listening.contains(&ends.local.port()) {
            let id = self.client(event.a, ends, event.at);
            self.sessions.entry(id).or_default().is_old = true;
        } else {
            let socket = Socket { side: Side::Upstream, session: None, ends };
            self.sockets.insert(event.a, socket);
        }
        self.open(pid, event);
    }

    /// A connection was begun: whose it is, the order of the requests tells, or else the step.
    pub(super) fn connected(&mut self, worker: &mut Worker, event: &Event) {
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
        self.dialled(worker.target.pid, session, ends, event);
        if let Some(step) = &mut worker.step {
            step.end = event.at;
        }
    }

    /// A connection was begun, for this session if that is known.
    pub(super) fn dialled(&mut self, pid: u32, session: Option<u64>, ends: Ends, event: &Event) {
        self.sockets.insert(event.a, Socket { side: Side::Upstream, session, ends });
        self.open(pid, event);
        if let Some(id) = session {
            self.pair(id, event.a);
        }
    }

    /// A descriptor was closed: whose it was, where it was a client's.
    pub(super) fn closed(&mut self, pid: u32, event: &Event) -> Option<u64> {
        let fd = u32::try_from(event.b).unwrap_or(u32::MAX);
        let sk = self.fds.remove(&(pid, fd))?;
        let socket = self.sockets.remove(&sk)?;
        let id = socket.session?;
        if socket.side == Side::Client {
            return Some(id);
        }
        if let Some(session) = self.sessions.get_mut(&id).filter(|of| of.upstream == Some(sk)) {
            session.upstream = None;
        }
        None
    }

    /// The client's connection of a session was closed.
    pub(super) fn ended(&mut self, id: u64, at: u64) {
        if let Some(session) = self.sessions.get_mut(&id) {
            session.closed = Some(at);
            session.asks = false;
            self.closing.insert(id);
        }
    }

    /// A connection has changed its state.
    pub(super) fn stated(&mut self, event: &Event, take: Take<'_>) {
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
    pub(super) fn tell_closed(&mut self, now: u64, take: Take<'_>) {
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

    /// Tells what is left: nobody watches any more.
    pub(super) fn tell_open(&mut self, end: MonoNs, take: Take<'_>) {
        let open: Vec<u64> = self.sessions.keys().copied().collect();
        for id in open {
            self.tell_session(id, end, take);
        }
    }

    fn tell_session(&mut self, id: u64, now: MonoNs, take: Take<'_>) {
        let Some(session) = self.sessions.remove(&id) else { return };
        if let Some(upstream) = session.upstream.and_then(|sk| self.sockets.get_mut(&sk)) {
            upstream.session = None;
        }
        session.tell(now, take);
    }

    /// An upstream connection is now this session's.
    pub(super) fn pair(&mut self, id: u64, sk: u64) {
        let Some(socket) = self.sockets.get_mut(&sk) else { return };
        let port = socket.ends.local.port();
        let before = socket.session.replace(id).filter(|before| *before != id);
        if let Some(before) = before.and_then(|before| self.sessions.get_mut(&before))
            && before.upstream == Some(sk)
        {
            before.upstream = None;
        }
        if let Some(session) = self.sessions.get_mut(&id) {
            (session.upstream, session.record.upstream_port) = (Some(sk), Some(port));
            session.asks = false;
        }
    }

    /// Whose an upstream connection is may show when it is used.
    pub(super) fn reassign(
        &mut self,
        worker: &Worker,
        sk: u64,
        slot: &Slot,
        before: Option<Before>,
    ) {
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
}
