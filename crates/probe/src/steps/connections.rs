//! Which connections there are, which sessions, and whose each is. Of an upstream connection it is learned
//! from the order of calls: see the head of `steps`.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use records::{Accepted, Bytes, MonoNs, Record, SessionEnd};

use crate::target::Take;
use crate::wire::{Came, Direction, Ends, Event, Slot, micros};

/// See the module's head.
#[derive(Debug, Default)]
pub(super) struct Connections {
    pub(super) sessions: BTreeMap<u64, Session>,
    last_session: u64,
    /// By the kernel's address.
    pub(super) sockets: HashMap<u64, Socket>,
    /// By process and descriptor.
    fds: HashMap<(u32, u32), u64>,
    /// A connection to one of these ports is a client's.
    listening: BTreeSet<u16>,
}

/// A connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Socket {
    pub(super) side: Side,
    pub(super) session: Option<u64>,
    ends: Ends,
}

/// Whose end a connection of a session leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Client,
    Upstream,
}

/// A session: what was seen of it. Times are the kernel's.
#[derive(Debug, Default)]
pub(super) struct Session {
    /// As much as is known of it; [`Self::tell`] fills in the rest.
    pub(super) record: records::Session,
    /// Its worker and its number there, once that is known.
    of: Option<(u32, u64)>,
    /// It was accepted while somebody watched, and that is not told yet.
    is_new: bool,
    /// The kernel's address of its upstream connection.
    pub(super) upstream: Option<u64>,
    /// It asked, and has neither an upstream nor an answer.
    pub(super) asks: bool,
    /// A step of it moved bytes on both sides: its connections are its own.
    both: bool,
    /// Its client closed, or failed; its upstream closed, or was left before that.
    client_closed: bool,
    client_failed: bool,
    upstream_closed: bool,
    upstream_left: bool,
    closed: Option<u64>,
    steps_ns: u64,
    longest_ns: u64,
}

impl Connections {
    /// None yet, of processes that listen on these ports.
    pub(super) fn new(listening: BTreeSet<u16>) -> Self {
        Self { listening, ..Self::default() }
    }

    /// A session of a client's connection. One that is told of again is the same.
    fn client(&mut self, sk: u64, ends: Ends, event: &Event) -> u64 {
        let same = |socket: &&Socket| {
            (socket.ends.local(), socket.ends.remote()) == (ends.local(), ends.remote())
        };
        let known = self.sockets.get(&sk).filter(same).and_then(|socket| socket.session);
        if let Some(id) = known {
            return id;
        }
        self.last_session += 1;
        let id = self.last_session;
        let (client_port, accepted_ns) = (ends.remote().port(), MonoNs(event.at));
        let record = records::Session { client_port, accepted_ns, ..Default::default() };
        self.sessions.insert(id, Session { record, is_new: true, ..Session::default() });
        self.sockets.insert(sk, Socket { side: Side::Client, session: Some(id), ends });
        id
    }

    /// A descriptor is that of the socket that an event is about.
    fn open(&mut self, pid: u32, event: &Event) {
        if let Ok(fd) = u32::try_from(event.b) {
            self.fds.insert((pid, fd), event.a);
        }
    }

    /// A connection was accepted: its session; `None`: there was none to accept.
    pub(super) fn accepted(&mut self, pid: u32, event: &Event) -> Option<u64> {
        let id = self.client(event.a, event.ends()?, event);
        self.open(pid, event);
        Some(id)
    }

    /// A socket was seen that was there before anybody watched.
    pub(super) fn found(&mut self, pid: u32, event: &Event) {
        let Some(ends) = event.ends() else { return };
        if self.listening.contains(&ends.local().port()) {
            let id = self.client(event.a, ends, event);
            self.sessions.entry(id).or_default().is_new = false;
        } else {
            self.sockets.insert(event.a, Socket { side: Side::Upstream, session: None, ends });
        }
        self.open(pid, event);
    }

    /// A connection was begun, for this session if that is known.
    pub(super) fn dialled(&mut self, pid: u32, session: Option<u64>, event: &Event) {
        let Some(ends) = event.ends() else { return };
        self.sockets.insert(event.a, Socket { side: Side::Upstream, session, ends });
        self.open(pid, event);
        if let Some(id) = session {
            self.pair(id, event.a);
        }
    }

    /// Calls moved bytes on a descriptor, or tried to: its connection, where it is one.
    pub(super) fn used(&mut self, pid: u32, slot: &Slot) -> Option<u64> {
        let sk = slot.socket()?;
        self.fds.insert((pid, slot.fd), sk);
        Some(sk)
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
            session.upstream_left |= !session.upstream_closed;
        }
        None
    }

    /// The client's connection of a session was closed: it is told.
    pub(super) fn ended(&mut self, id: u64, at: u64, take: Take<'_>) {
        if let Some(session) = self.sessions.get_mut(&id) {
            session.closed = Some(at);
        }
        self.tell_session(id, MonoNs(at), take);
    }

    /// Tells what is left: nobody watches any more.
    pub(super) fn tell_open(&mut self, end: MonoNs, take: Take<'_>) {
        while let Some(&id) = self.sessions.keys().next() {
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
        let port = socket.ends.local().port();
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

    /// Whose an upstream connection is may show when it is used: for the session `serving`, and after the
    /// calls `before` in the same turn.
    pub(super) fn reassign(
        &mut self,
        (sk, slot): (u64, &Slot),
        before: Option<(u64, &Slot)>,
        serving: Option<u64>,
    ) {
        let Some(&Socket { side, session, .. }) = self.sockets.get(&sk) else { return };
        if slot.direction() != Direction::Out || slot.data == 0 {
            return;
        }
        let read = before.filter(|(_, slot)| slot.direction() == Direction::In && slot.data > 0);
        let read = read.and_then(|(sk, _)| Some((sk, *self.sockets.get(&sk)?)));
        match (side, read) {
            (Side::Upstream, _) => {
                let Some(serving) = serving.filter(|serving| session != Some(*serving)) else {
                    return;
                };
                // A kept connection to the upstream is used again.
                let asked = read.is_some_and(|(_, of)| of.side == Side::Client);
                let asks = self.sessions.get(&serving).is_some_and(|owner| owner.asks);
                if session.is_none_or(|id| !self.sessions.contains_key(&id)) || (asked && asks) {
                    self.pair(serving, sk);
                }
            }
            // What was read just before is now written: it is this session's.
            (Side::Client, Some((from, of)))
                if of.side == Side::Upstream && of.session != session =>
            {
                let other = of.session.and_then(|other| self.sessions.get(&other));
                let Some(id) = session.filter(|_| other.is_none_or(|other| !other.both)) else {
                    return;
                };
                let mine = self.sessions.get(&id).and_then(|mine| mine.upstream);
                self.pair(id, from);
                // The two had been taken for each other's.
                if let (Some(other), Some(mine)) = (of.session, mine) {
                    self.pair(other, mine);
                }
            }
            _ => {}
        }
    }
}

impl Session {
    /// Its number.
    pub(super) fn number(&self) -> u64 {
        self.of.map_or(0, |(_, number)| number)
    }

    /// It is this worker's, which numbers it, unless it is one's already.
    pub(super) fn belongs(&mut self, worker: u32, number: &mut u64, take: Take<'_>) {
        if self.of.is_none() {
            self.of = Some((worker, *number));
            *number += 1;
            self.tell_accepted(take);
        }
    }

    /// Calls moved bytes for it, or tried to.
    pub(super) fn moved(&mut self, side: Side, slot: &Slot) {
        let first = (slot.data > 0).then_some(MonoNs(slot.first));
        let record = &mut self.record;
        match (side, slot.direction()) {
            (Side::Client, Direction::In) => {
                record.request_ns = record.request_ns.or(first);
                self.client_closed |= slot.had(Came::Nothing);
                self.client_failed |= slot.had(Came::Error);
            }
            (Side::Client, Direction::Out) => {
                record.body_bytes += Bytes(slot.bytes);
                self.client_failed |= slot.had(Came::Error);
            }
            (Side::Upstream, Direction::Out) => {
                record.connected_ns = record.connected_ns.or(first);
            }
            (Side::Upstream, Direction::In) => self.upstream_closed |= slot.had(Came::Nothing),
        }
    }

    /// A step of it has ended.
    pub(super) fn stepped(&mut self, length: u64, moved_both_ways: bool) {
        self.record.steps += 1;
        self.steps_ns += length;
        self.longest_ns = self.longest_ns.max(length);
        self.both |= moved_both_ways;
    }

    /// Tells that it was accepted, once.
    fn tell_accepted(&mut self, take: Take<'_>) {
        if let Some((worker, session)) = self.of
            && std::mem::take(&mut self.is_new)
        {
            let records::Session { client_port, accepted_ns: at_ns, .. } = self.record;
            take(Record::Accepted(Accepted { worker, session, client_port, at_ns }));
        }
    }

    /// How it ended, as far as calls tell. Whether an answer was whole, they do not: it is taken for whole,
    /// but where the client closed while the upstream stood.
    fn end(&self) -> SessionEnd {
        let has_answered = self.record.body_bytes > Bytes(0);
        let stands = self.upstream.is_some() && !self.upstream_closed;
        let has_more = stands || self.upstream_left;
        if self.client_failed {
            SessionEnd::ClientReset
        } else if self.client_closed && (!has_answered || has_more) {
            SessionEnd::ClientClosed
        } else if has_answered {
            SessionEnd::Completed
        } else if self.record.request_ns.is_some() {
            SessionEnd::UpstreamClosedEarly
        } else {
            SessionEnd::ClientTimeout
        }
    }

    /// Tells it. Open: nobody watches any more.
    fn tell(mut self, now: MonoNs, take: Take<'_>) {
        self.tell_accepted(take);
        let Some((worker, session)) = self.of else { return };
        let end = if self.closed.is_some() { self.end() } else { SessionEnd::Shutdown };
        take(Record::Session(records::Session {
            worker,
            session,
            end,
            closed_ns: self.closed.map_or(now, MonoNs),
            longest_step_us: micros(self.longest_ns),
            steps_us: micros(self.steps_ns),
            ..self.record
        }));
    }
}
