//! One event loop: poll, then a step for every session that an event or the ready queue names.
//!
//! Not for: threads, listeners' options or records' way to a file; see `run` and `writer`.
//!
//! Invariants:
//! - Events are served in the order the kernel gave them; a session named twice in one batch gets
//!   one step.
//! - Sessions that yielded run after the next poll, never inside the same loop turn.

mod env;
mod sessions;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use mio::net::{TcpListener, TcpStream};
use mio::{Events, Interest, Poll, Waker};
use records::{Accepted, BufferingMode, Hold, LoopTurn, SessionEnd};

use self::env::{CachedClock, WorkerEnv};
use self::sessions::{Place, SessionKey, Sessions, Slot, WAKER};
use crate::listener::{Acceptor, LISTENER};
use crate::policy::Stop;
use crate::recorder::Recorder;
use crate::session::{Event, Limits, Peer, Session, Step};
use crate::writer::InlineLog;

/// Events taken from one poll (`epoll_events`, 512).
const EVENTS: usize = 512;

/// What a worker is made of; the same for all but `listener` and `index`.
#[derive(Clone)]
pub(crate) struct WorkerSetup {
    pub(crate) index: u32,
    pub(crate) listener: Arc<TcpListener>,
    pub(crate) limits: Arc<Limits>,
    pub(crate) stop: Arc<AtomicBool>,
}

/// See the module's head.
pub(crate) struct Worker {
    setup: WorkerSetup,
    poll: Poll,
    acceptor: Acceptor,
    sessions: Sessions,
    /// Sessions that yielded, in their order: the ready queue.
    yielded: Vec<SessionKey>,
    clock: CachedClock,
    recorder: Recorder,
    turn: LoopTurn,
    /// `None`: the worker does not write the access log.
    log: Option<InlineLog>,
}

/// What a batch of events asks for, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Work {
    Accept,
    Step(SessionKey),
}

impl Worker {
    /// A worker that watches its listener, and the waker that makes it look at the stop flag.
    pub(crate) fn new(
        setup: WorkerSetup,
        recorder: Recorder,
        log: Option<InlineLog>,
    ) -> io::Result<(Self, Waker)> {
        let poll = Poll::new()?;
        let waker = Waker::new(poll.registry(), WAKER)?;
        let listener = Arc::clone(&setup.listener);
        let acceptor = Acceptor::open(poll.registry(), listener, &setup.limits.toggles)?;
        let clock = CachedClock::new();
        let turn = LoopTurn { worker: setup.index, end_ns: clock.mono, ..LoopTurn::default() };
        let worker = Self {
            setup,
            poll,
            acceptor,
            sessions: Sessions::default(),
            yielded: Vec::new(),
            clock,
            recorder,
            turn,
            log,
        };
        Ok((worker, waker))
    }

    /// Turns until told to stop.
    pub(crate) fn run(mut self) -> io::Result<()> {
        let mut events = Events::with_capacity(EVENTS);
        let mut work = Vec::new();
        while !self.setup.stop.load(Ordering::Relaxed) {
            let timeout = self.poll_timeout();
            match self.poll.poll(&mut events, timeout) {
                Err(e) if e.kind() == io::ErrorKind::Interrupted => events.clear(),
                other => other?,
            }
            self.begin_turn(&events);
            self.collect_events(&events, &mut work);
            for item in work.drain(..) {
                match item {
                    Work::Accept => self.accept(),
                    Work::Step(key) => self.step(key, |session, env| session.step(env)),
                }
            }
            self.expire();
            self.turn.end_ns = net::clock::now();
            self.recorder.loop_turn(self.turn);
        }
        self.shut_down();
        Ok(())
    }

    /// How long the poll may wait: not at all while a session has yielded.
    fn poll_timeout(&self) -> Option<Duration> {
        if !self.yielded.is_empty() {
            return Some(Duration::ZERO);
        }
        let due = self.sessions.first_timer().into_iter().chain(self.acceptor.paused_until).min();
        due.map(|due| due.since(net::clock::now()))
    }

    fn begin_turn(&mut self, events: &Events) {
        // The poll was called where the last turn ended: no clock is read for it.
        let called = self.turn.end_ns;
        self.clock = CachedClock::new();
        self.recorder.polled(called, self.clock.mono);
        self.acceptor.resume(self.poll.registry(), self.clock.mono);
        self.turn = LoopTurn {
            worker: self.setup.index,
            turn: self.turn.turn + 1,
            start_ns: self.clock.mono,
            events: u32::try_from(events.iter().count()).unwrap_or(u32::MAX),
            ..LoopTurn::default()
        };
    }

    /// Remembers what the events say and lines up the work: events first, in their order, then the
    /// sessions that had yielded before this poll.
    fn collect_events(&mut self, events: &Events, work: &mut Vec<Work>) {
        for event in events {
            match event.token() {
                LISTENER => work.push(Work::Accept),
                WAKER => {}
                token => {
                    let (key, peer) = SessionKey::of(token);
                    let Some(slot) = self.sessions.get(key) else { continue };
                    let event = Event {
                        readable: event.is_readable(),
                        writable: event.is_writable(),
                        hung_up: event.is_read_closed() || event.is_error(),
                    };
                    slot.session.on_event(peer, event);
                    if slot.place.line_up() {
                        work.push(Work::Step(key));
                    }
                }
            }
        }
        let mut yielded = std::mem::take(&mut self.yielded);
        for key in yielded.drain(..) {
            // One that has been closed since is passed over.
            if self.sessions.get(key).is_some_and(|slot| slot.place.line_up()) {
                work.push(Work::Step(key));
            }
        }
        // Its room is kept.
        self.yielded = yielded;
    }

    fn accept(&mut self) {
        let (before, all) = (self.turn.accepts, self.setup.limits.connections);
        loop {
            let used = self.sessions.len();
            match self.acceptor.accept(self.poll.registry(), self.clock.mono) {
                Ok((stream, addr)) => self.admit(stream, addr),
                Err(error) if net::tcp::is_shortage(&error) => {
                    self.recorder.totals.accept_pauses += 1;
                    return;
                }
                // The end of a batch is no wakeup for nothing.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if self.turn.accepts == before {
                        self.recorder.totals.empty_wakeups += 1;
                    }
                    return;
                }
                Err(_) => return,
            }
            // A full worker turns the client away, and accepts no more (`ngx_event_accept`).
            if !self.setup.limits.toggles.multi_accept || used >= all {
                return;
            }
        }
    }

    /// Takes a connection in; or, when the worker is full, closes it at once, as nginx does: no
    /// other worker may have it then, and its client knows where it stands.
    fn admit(&mut self, mut stream: TcpStream, addr: SocketAddr) {
        let full = self.sessions.len() >= self.setup.limits.connections;
        self.turn.accepts += 1;
        let accepted = Accepted {
            worker: self.setup.index,
            session: self.recorder.totals.sessions,
            client_port: addr.port(),
            at_ns: net::clock::now(),
        };
        self.recorder.accepted(accepted);
        let key = self.sessions.next_key(accepted.session);
        let interest = Interest::READABLE | Interest::WRITABLE;
        // Small writes go out at once where answers are unbuffered, and wait for more where they are
        // buffered (`ngx_http_upstream_send_response`).
        let at_once = match self.setup.limits.toggles.buffering {
            BufferingMode::On => Ok(()),
            BufferingMode::Default | BufferingMode::Off => stream.set_nodelay(true),
        };
        let watched = at_once.and_then(|()| {
            self.poll.registry().register(&mut stream, key.token(Peer::Client), interest)
        });
        let policy = self.setup.limits.toggles.read_policy;
        let session = Session::new(stream, addr.ip(), policy, &accepted);
        let timer = session.deadline;
        let slot = Slot { session, key, place: Place::default(), timer };
        match watched {
            _ if full => {
                self.recorder.totals.accept_pauses += 1;
                self.end(slot, SessionEnd::TurnedAway);
            }
            // A client that is gone already, or no memory to watch it.
            Err(_) => self.end(slot, SessionEnd::LocalError),
            Ok(()) => self.sessions.insert(slot),
        }
    }

    /// Gives a session a step and does what it asks for.
    fn step(
        &mut self,
        key: SessionKey,
        run: impl FnOnce(&mut Session<TcpStream>, &mut WorkerEnv<'_>) -> Step,
    ) {
        let (setup, registry) = (&self.setup, self.poll.registry());
        let mut env = WorkerEnv { setup, registry, clock: self.clock, key };
        let Some(slot) = self.sessions.get(key) else { return };
        slot.place.begin_step();
        let step = run(&mut slot.session, &mut env);
        self.turn.steps += 1;
        self.recorder.step(Hold { turn: self.turn.turn, ..step.hold });
        if step.stop == Stop::Yield && slot.place.make_ready() {
            self.yielded.push(key);
        }
        // A later deadline waits for the timer that is set; a nearer one does not.
        if slot.session.deadline < slot.timer {
            self.sessions.set_timer(key);
        }
        if let Stop::Close(end) = step.stop
            && let Some(slot) = self.sessions.remove(key)
        {
            self.end(slot, end);
        }
    }

    /// Tells of a session and closes it.
    fn end(&mut self, slot: Slot, end: SessionEnd) {
        let mut record = slot.session.record(end, net::clock::now(), self.clock.ms());
        record.log.at_unix_ms = self.clock.unix_ms;
        let client = slot.session.client_ip;
        if let Some(log) = &mut self.log {
            log.prepare(client, &record);
        }
        // Told before the line is written, which may take as long as it likes.
        self.recorder.session(client, record);
        if let Some(log) = &mut self.log {
            log.write();
        }
        // The connections are closed only now, as in nginx.
        drop(slot);
    }

    /// Ends sessions whose peer was too slow.
    fn expire(&mut self) {
        let now = self.clock.mono;
        while let Some(key) = self.sessions.late(now) {
            self.step(key, |session, env| session.on_deadline(env));
            // What is left of it is looked at again.
            self.sessions.set_timer(key);
        }
    }

    fn shut_down(&mut self) {
        for slot in self.sessions.drain() {
            self.end(slot, SessionEnd::Shutdown);
        }
        self.recorder.finish(net::clock::now());
    }
}

#[cfg(test)]
mod tests;
