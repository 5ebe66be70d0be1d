//! A world for one session: two simulated sockets under edge-triggered events, and two clocks.
//!
//! Each thing that happens raises the event that epoll would raise, then the session runs until it
//! waits. Inside [`World::quietly`] things happen while the worker is away.

use std::cell::{Cell, RefCell, RefMut};
use std::collections::VecDeque;
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::rc::Rc;
use std::time::Duration;

use records::{Accepted, MonoNs, ProxyToggles, ReadPolicy, SessionEnd};

use crate::policy::Stop;
use crate::session::{Env, Event, Limits, Peer, Session, Step, Stream, TempFile};

const ORIGIN: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 80);

pub(super) fn limits(read_policy: ReadPolicy) -> Limits {
    let toggles = ProxyToggles { read_policy, ..ProxyToggles::default() };
    Limits { toggles, upstream: ORIGIN, connections: 1 }
}

/// How a peer ended its side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Closed {
    Fin,
    Rst,
}

/// The kernel's side of one connection.
#[derive(Debug, Default)]
pub(super) struct Pipe {
    pub(super) to_session: VecDeque<u8>,
    /// Bytes that come in whenever the buffer runs low: a peer faster than the session.
    pub(super) more: u64,
    closed: Option<Closed>,
    /// What the session has written.
    pub(super) got: Vec<u8>,
    /// How much the session may still write before EAGAIN.
    room: usize,
    /// What a look at the handshake says; `None`: it has succeeded.
    handshake: Option<io::ErrorKind>,
    pub(super) fin_sent: bool,
    /// The next read returns at most this much (a signal cut it short).
    pub(super) cut: Option<usize>,
    pub(super) reads: usize,
    pub(super) writes: usize,
}

#[derive(Clone, Debug)]
pub(super) struct SimStream(Rc<RefCell<Pipe>>);

impl Read for SimStream {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let mut pipe = self.0.borrow_mut();
        pipe.reads += 1;
        if pipe.more > 0 && pipe.to_session.len() < into.len() {
            let got = pipe.more.min(into.len() as u64);
            pipe.more -= got;
            pipe.to_session.extend(std::iter::repeat_n(b'.', usize::try_from(got).expect("small")));
        }
        match (pipe.to_session.is_empty(), pipe.closed) {
            (_, Some(Closed::Rst)) => Err(io::ErrorKind::ConnectionReset.into()),
            (true, Some(Closed::Fin)) => Ok(0),
            (true, None) => Err(io::ErrorKind::WouldBlock.into()),
            (false, _) => {
                let len = into.len().min(pipe.cut.take().unwrap_or(usize::MAX).max(1));
                // Contiguous first: a deque reads only its first half otherwise.
                pipe.to_session.make_contiguous();
                pipe.to_session.read(&mut into[..len])
            }
        }
    }

    fn read_vectored(&mut self, into: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        let mut bytes = vec![0; into.iter().map(|slice| slice.len()).sum()];
        let got = self.read(&mut bytes)?;
        let room = into.iter_mut().flat_map(|slice| slice.iter_mut());
        room.zip(&bytes[..got]).for_each(|(to, from)| *to = *from);
        Ok(got)
    }
}

impl Write for SimStream {
    fn write(&mut self, from: &[u8]) -> io::Result<usize> {
        let mut pipe = self.0.borrow_mut();
        pipe.writes += 1;
        if pipe.closed == Some(Closed::Rst) {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        let len = from.len().min(pipe.room);
        if len == 0 {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        pipe.room -= len;
        pipe.got.extend_from_slice(&from[..len]);
        Ok(len)
    }

    fn write_vectored(&mut self, from: &[IoSlice<'_>]) -> io::Result<usize> {
        let bytes: Vec<u8> = from.iter().flat_map(|slice| slice.to_vec()).collect();
        self.write(&bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Stream for SimStream {
    fn connected(&self) -> io::Result<()> {
        self.0.borrow().handshake.map_or(Ok(()), |kind| Err(kind.into()))
    }

    fn unread(&self) -> io::Result<u64> {
        Ok(self.0.borrow().to_session.len() as u64)
    }

    fn finish(&self) -> io::Result<()> {
        self.0.borrow_mut().fin_sent = true;
        Ok(())
    }

    fn local_port(&self) -> Option<u16> {
        Some(1)
    }
}

/// Where temporary files of the world are, and what is wrong there.
#[derive(Debug, Default)]
pub(super) struct Disk {
    /// All that was written to files.
    pub(super) bytes: Vec<u8>,
    /// Files that were made.
    pub(super) files: usize,
    /// No file can be made.
    pub(super) refuses: bool,
    /// Writes that end behind this many bytes fail, the last of them half done.
    pub(super) full_at: Option<usize>,
    /// Reads from this offset on fail.
    pub(super) broken_at: Option<u64>,
}

#[derive(Debug)]
struct SimFile(Rc<RefCell<Disk>>);

impl TempFile for SimFile {
    fn store(&self, bytes: &[IoSlice<'_>], at: u64) -> io::Result<()> {
        let bytes: Vec<u8> = bytes.iter().flat_map(|slice| slice.to_vec()).collect();
        let mut disk = self.0.borrow_mut();
        let at = usize::try_from(at).expect("small");
        let fits = disk.full_at.map_or(bytes.len(), |full| full.saturating_sub(at));
        let fits = fits.min(bytes.len());
        assert_eq!(disk.bytes.len(), at, "a file is filled without a gap");
        disk.bytes.extend_from_slice(&bytes[..fits]);
        if fits < bytes.len() { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
    }

    fn fetch(&self, into: &mut [u8], at: u64) -> io::Result<()> {
        let disk = self.0.borrow();
        if disk.broken_at.is_some_and(|broken| broken <= at) {
            return Err(io::Error::other("I/O error"));
        }
        let from = usize::try_from(at).expect("small").min(disk.bytes.len());
        (&disk.bytes[from..]).read_exact(into)
    }
}

/// The worker's half of the world.
pub(super) struct Host {
    origin: SimStream,
    disk: Rc<RefCell<Disk>>,
    pub(super) dialed: bool,
    now: MonoNs,
    limits: Limits,
    /// How often a step may still ask whether the proxy was told to end, until it was.
    questions: Cell<u64>,
}

impl Env for Host {
    type Stream = SimStream;
    fn dial(&mut self) -> io::Result<SimStream> {
        self.dialed = true;
        Ok(self.origin.clone())
    }
    fn temp_file(&self) -> io::Result<Box<dyn TempFile>> {
        let mut disk = self.disk.borrow_mut();
        if disk.refuses {
            return Err(io::Error::from_raw_os_error(24));
        }
        disk.files += 1;
        Ok(Box::new(SimFile(Rc::clone(&self.disk))))
    }
    fn now(&self) -> MonoNs {
        self.now
    }
    fn cached_ms(&self) -> u64 {
        self.now.0 / 1_000_000
    }
    fn told_to_end(&self) -> bool {
        let left = self.questions.get();
        self.questions.set(left.saturating_sub(1));
        left == 0
    }
    fn limits(&self) -> &Limits {
        &self.limits
    }
}

/// See the module's head.
pub(super) struct World {
    pub(super) host: Host,
    client: SimStream,
    session: Session<SimStream>,
    events: Vec<(Peer, Event)>,
    worker_away: bool,
    pub(super) end: Option<SessionEnd>,
}

impl World {
    /// One of an unbuffered session with this read policy.
    pub(super) fn by(policy: &str) -> Self {
        Self::new(limits(policy.parse().expect("a policy")))
    }

    pub(super) fn new(limits: Limits) -> Self {
        let pipe = || SimStream(Rc::new(RefCell::new(Pipe { room: 1 << 40, ..Pipe::default() })));
        let (client, origin) = (pipe(), pipe());
        origin.0.borrow_mut().handshake = Some(io::ErrorKind::WouldBlock);
        let disk = Rc::default();
        let (now, questions) = (MonoNs(1_000_000_000), Cell::new(u64::MAX));
        let host = Host { origin, disk, dialed: false, now, limits, questions };
        let accepted = Accepted { at_ns: now, ..Accepted::default() };
        let policy = host.limits.toggles.read_policy;
        let session = Session::new(client.clone(), ORIGIN.ip(), policy, &accepted);
        let mut world =
            Self { host, client, session, events: Vec::new(), worker_away: false, end: None };
        world.happens(Peer::Client, Event { writable: true, ..Event::default() });
        world
    }

    /// The proxy is told to end once a step has asked so many times whether it was.
    pub(super) fn ends_after(&mut self, questions: u64) {
        self.host.questions.set(questions);
    }

    /// Lets things happen while the worker is away.
    pub(super) fn quietly(&mut self, what: impl FnOnce(&mut Self)) {
        self.worker_away = true;
        what(self);
        self.worker_away = false;
    }

    /// The worker comes back and runs until it waits.
    pub(super) fn run(&mut self) {
        while self.end.is_none() && !self.events.is_empty() {
            for (peer, event) in std::mem::take(&mut self.events) {
                self.session.on_event(peer, event);
            }
            loop {
                let step = self.session.step(&mut self.host);
                if !self.goes_on(step) {
                    break;
                }
            }
        }
    }

    /// One step, with a readable event for `peer` before it.
    pub(super) fn one_step(&mut self, peer: Peer) -> Step {
        self.session.on_event(peer, Event { readable: true, ..Event::default() });
        for (peer, event) in std::mem::take(&mut self.events) {
            self.session.on_event(peer, event);
        }
        self.session.step(&mut self.host)
    }

    fn goes_on(&mut self, step: Step) -> bool {
        if let Stop::Close(end) = step.stop {
            self.end = Some(end);
        }
        step.stop == Stop::Yield
    }

    fn happens(&mut self, peer: Peer, event: Event) {
        self.host.now = self.host.now + Duration::from_micros(10);
        self.events.push((peer, event));
        if !self.worker_away {
            self.run();
        }
    }

    pub(super) fn sends(&mut self, peer: Peer, bytes: &[u8]) {
        self.pipe(peer).to_session.extend(bytes);
        self.happens(peer, Event { readable: true, ..Event::default() });
    }

    pub(super) fn closes(&mut self, peer: Peer, how: Closed) {
        self.pipe(peer).closed.get_or_insert(how);
        self.happens(peer, Event { readable: true, writable: true, hung_up: true });
    }

    fn pipe(&self, peer: Peer) -> RefMut<'_, Pipe> {
        match peer {
            Peer::Client => self.client(),
            Peer::Upstream => self.origin(),
        }
    }

    pub(super) fn connect_succeeds(&mut self) {
        self.origin().handshake = None;
        self.happens(Peer::Upstream, Event { writable: true, ..Event::default() });
    }

    pub(super) fn connect_fails(&mut self) {
        self.origin().handshake = Some(io::ErrorKind::ConnectionRefused);
        self.happens(Peer::Upstream, Event { readable: true, writable: true, hung_up: true });
    }

    /// The client's window: how much may be written before EAGAIN.
    pub(super) fn client_room(&mut self, room: usize) {
        self.client().room = room;
        if room > 0 {
            self.happens(Peer::Client, Event { writable: true, ..Event::default() });
        }
    }

    /// Nothing happens for a while that ends before the session's deadline.
    pub(super) fn clock_moves(&mut self, length: Duration) {
        self.host.now = self.host.now + length;
    }

    /// Nothing happens until the session's deadline.
    pub(super) fn time_passes(&mut self) {
        self.host.now = self.session.deadline + Duration::from_millis(1);
        let step = self.session.on_deadline(&mut self.host);
        if self.goes_on(step) {
            self.run();
        }
    }

    /// How long the session would wait from now on.
    pub(super) fn time_left(&self) -> Duration {
        self.session.deadline.since(self.host.now)
    }

    pub(super) fn client_text(&self) -> String {
        String::from_utf8_lossy(&self.client().got).into_owned()
    }

    /// The kernel's side of the client's connection.
    pub(super) fn client(&self) -> RefMut<'_, Pipe> {
        self.client.0.borrow_mut()
    }

    /// The kernel's side of the upstream connection.
    pub(super) fn origin(&self) -> RefMut<'_, Pipe> {
        self.host.origin.0.borrow_mut()
    }

    /// What temporary files of this world are made on.
    pub(super) fn disk(&self) -> RefMut<'_, Disk> {
        self.host.disk.borrow_mut()
    }

    /// Whether the session still has its upstream connection.
    pub(super) fn has_upstream(&self) -> bool {
        self.session.upstream.stream().is_ok()
    }

    pub(super) fn record(&self) -> records::Session {
        let end = self.end.unwrap_or(SessionEnd::Shutdown);
        self.session.record(end, self.host.now, self.host.cached_ms())
    }
}
