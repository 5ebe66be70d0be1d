//! What the programs tell, as bytes: the structures of bpf/probe.bpf.c, read member by member.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use records::{Bytes, Sleep, StepHistogram};

use crate::hold::{CountedFrom, Moved};

/// Sizes of the kernel's structures.
pub(crate) const THREAD: usize = 144 + ENDS + 8 * StepHistogram::BUCKETS + EVENT + 4 * SLOT;
pub(crate) const MOVED: usize = 16 + 8 * (24 + ENDS);
const ENDS: usize = 40;
pub(crate) const CALL: usize = 24;
pub(crate) const BOARD: usize = 4_096 * 8;
pub(crate) const ARMED: usize = 24;
/// Frames of one side of a stack.
const FRAMES: usize = 32;
pub(crate) const STACK: usize = 40 + 2 * 8 * FRAMES;
const EVENT: usize = 64;
const SLOT: usize = 48;

/// Hooks that come so long after a turn began have rested: it counts from then (`LATE` of the programs).
pub(crate) const LATE: u64 = 40_000_000;

/// Kinds of what the ring holds.
pub(crate) const POLLED: u32 = 2;
pub(crate) const BEGUN: u32 = 3;
pub(crate) const ACCEPTED: u32 = 4;
pub(crate) const CONNECTED: u32 = 5;
pub(crate) const SOCKET: u32 = 6;
pub(crate) const CLOSED: u32 = 7;
pub(crate) const STATE: u32 = 8;
pub(crate) const SLEPT: u32 = 9;
/// The same, uninterruptible: for a disk, mostly.
pub(crate) const SLEPT_DEEP: u32 = 10;

/// Takes numbers off the front. What is not there reads as zeros, which nothing that was told holds.
pub(crate) struct Reader<'a>(pub(crate) &'a [u8]);

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> [u8; N] {
        let (head, rest) = self.0.split_first_chunk().unwrap_or((&[0; N], &[]));
        self.0 = rest;
        *head
    }

    pub(crate) fn u64(&mut self) -> u64 {
        u64::from_ne_bytes(self.take())
    }

    pub(crate) fn u32(&mut self) -> u32 {
        u32::from_ne_bytes(self.take())
    }

    fn u16(&mut self) -> u16 {
        u16::from_ne_bytes(self.take())
    }

    fn u8(&mut self) -> u8 {
        let [byte] = self.take();
        byte
    }

    /// A name that ends with the first zero.
    pub(crate) fn name(&mut self) -> String {
        let bytes: [u8; 16] = self.take();
        String::from_utf8_lossy(&bytes).trim_end_matches('\0').to_owned()
    }
}

/// A thread as the kernel keeps it: `struct thread`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Thread {
    on: u64,
    cpu: u64,
    off: u64,
    /// Start of the turn under way; 0: there is none, or none was seen to begin.
    pub(crate) began: u64,
    cpu_before: u64,
    delay: u64,
    delay_before: u64,
    slept: u64,
    pub(crate) poll_off: u64,
    /// Time in turns that have ended.
    pub(crate) total: u64,
    /// While hooks rest: since when it has read no other socket.
    alone: u64,
    /// In all its short sleeps that were uninterruptible.
    pub(crate) deep: u64,
    pub(crate) pid: u32,
    pub(crate) tid: u32,
    slept_in: u32,
    off_in: u32,
    /// In which state of the kernel; 0: it does not.
    asleep: u8,
    delay_known: bool,
    asked: Option<Ends>,
    pub(crate) turns: Vec<u64>,
    /// What its slots have gathered.
    pub(crate) pending: Event,
}

impl Thread {
    pub(crate) fn read(bytes: &[u8; THREAD]) -> Self {
        let mut r = Reader(bytes);
        let mut thread = Self {
            on: r.u64(),
            cpu: r.u64(),
            off: r.u64(),
            began: r.u64(),
            cpu_before: r.u64(),
            delay: r.u64(),
            delay_before: r.u64(),
            slept: r.u64(),
            poll_off: r.u64(),
            ..Self::default()
        };
        let _flushed = r.u64();
        thread.total = r.u64();
        let _ran = r.u64();
        let _alone_sk = r.u64();
        (thread.alone, thread.deep) = (r.u64(), r.u64());
        (thread.pid, thread.tid) = (r.u32(), r.u32());
        (thread.slept_in, thread.off_in) = (r.u32(), r.u32());
        let _off_fd = r.u32();
        let [asleep, _epolls, _woken, delay_known] = r.take();
        (thread.asleep, thread.delay_known) = (asleep, delay_known != 0);
        thread.asked = Ends::known(&mut r);
        thread.turns = (0..StepHistogram::BUCKETS).map(|_| r.u64()).collect();
        thread.pending = Event::read(r.0);
        thread
    }

    /// A thread with an epoll that is out of its poll, in a turn that counts from `now` on. `asleep_in`:
    /// the number of the call in which it sleeps; `None`: it runs.
    pub(crate) fn out_of_poll(
        pid: u32,
        tid: u32,
        now: u64,
        asleep_in: Option<u32>,
    ) -> [u8; THREAD] {
        let (on, off) = if asleep_in.is_some() { (0, now) } else { (now, 0) };
        // From `on` to `deep`.
        let times = [on, 0, off, now, 0, 0, 0, 0, 0, now, 0, 0, 0, 0, 0].map(u64::to_ne_bytes);
        // From `pid` to `off_fd`.
        let numbers = [pid, tid, 0, asleep_in.unwrap_or(0), 0].map(u32::to_ne_bytes);
        let has_an_epoll = 1;
        let flags = [u8::from(asleep_in.is_some()), has_an_epoll, 0, 0];
        let head = times.into_iter().flatten().chain(numbers.into_iter().flatten()).chain(flags);
        let mut bytes = [0; THREAD];
        bytes.iter_mut().zip(head).for_each(|(at, byte)| *at = byte);
        bytes
    }

    /// Since when it sleeps.
    pub(crate) fn asleep_since(&self) -> Option<u64> {
        (self.asleep != 0 && self.on == 0).then_some(self.off)
    }

    /// What can end its sleep.
    pub(crate) fn sleep(&self) -> Sleep {
        // DEEP of the programs.
        if self.asleep & 2 != 0 { Sleep::Uninterruptible } else { Sleep::Interruptible }
    }

    /// The call in which it sleeps, and where it came off its CPU.
    pub(crate) fn off_in(&self) -> u32 {
        self.off_in
    }

    /// Time without a CPU that it wanted, by now.
    pub(crate) fn delay_at(&self, now: u64) -> u64 {
        let waits = self.on == 0 && self.off != 0 && self.asleep == 0;
        self.delay + if waits { now.saturating_sub(self.off) } else { 0 }
    }

    /// Its CPU time by now.
    pub(crate) fn cpu_at(&self, now: u64) -> u64 {
        if self.on == 0 { self.cpu } else { self.cpu + now.saturating_sub(self.on) }
    }

    /// The turn under way, as far as it has come. `since`: when the hooks were attached.
    pub(crate) fn turn(&self, since: u64, now: u64, comm: String) -> Lasted {
        let off = if self.on == 0 { now.saturating_sub(self.off) } else { 0 };
        let (sleeping, waiting) = if self.asleep != 0 { (off, 0) } else { (0, off) };
        let delay = self.delay.saturating_sub(self.delay_before);
        // As `start_of` of the programs has it.
        let is_late = |start: u64| start + LATE < since;
        let began = match self.began.max(self.alone) {
            _ if !is_late(self.began) => self.began,
            alone if !is_late(alone) => alone,
            _ => since,
        };
        let is_all = began == self.began;
        Lasted {
            counted_from: if is_all { CountedFrom::Poll } else { CountedFrom::Watch },
            pid: self.pid,
            tid: self.tid,
            slept_in: if sleeping > self.slept { self.off_in } else { self.slept_in },
            began,
            ended: now,
            cpu: self.cpu_at(now).saturating_sub(self.cpu_before),
            delay: waiting + if self.delay_known { delay } else { 0 },
            slept: self.slept.max(sleeping),
            comm,
            asked: self.asked,
            moved: MovedBytes::default(),
        }
    }
}

/// A turn that lasted: `struct hold`. Times in ns.
#[derive(Clone, Debug)]
pub(crate) struct Lasted {
    pub(crate) counted_from: CountedFrom,
    pub(crate) tid: u32,
    pub(crate) pid: u32,
    /// The call of the longest sleep.
    pub(crate) slept_in: u32,
    pub(crate) began: u64,
    pub(crate) ended: u64,
    pub(crate) cpu: u64,
    /// Without a CPU that it wanted.
    pub(crate) delay: u64,
    pub(crate) slept: u64,
    pub(crate) comm: String,
    /// The connection that was read last in the turn's first 20 ms.
    pub(crate) asked: Option<Ends>,
    pub(crate) moved: MovedBytes,
}

impl Lasted {
    pub(crate) fn read(bytes: &[u8]) -> Self {
        let mut r = Reader(bytes);
        let counted_from = if r.u32() == 0 { CountedFrom::Poll } else { CountedFrom::Watch };
        let (tid, pid, slept_in) = (r.u32(), r.u32(), r.u32());
        let (began, ended, cpu, delay, slept) = (r.u64(), r.u64(), r.u64(), r.u64(), r.u64());
        let (comm, asked) = (r.name(), Ends::known(&mut r));
        let moved = MovedBytes::read(r.0, began);
        Self {
            counted_from,
            tid,
            pid,
            slept_in,
            began,
            ended,
            cpu,
            delay,
            slept,
            comm,
            asked,
            moved,
        }
    }
}

/// What the ring holds of a watch.
#[derive(Clone, Debug)]
pub(crate) enum Item {
    Lasted(Box<Lasted>),
    Stack(StackSample),
}

impl Item {
    pub(crate) fn read(bytes: &[u8]) -> Self {
        if Reader(bytes).u32() == StackSample::KIND {
            Self::Stack(StackSample::read(bytes))
        } else {
            Self::Lasted(Box::new(Lasted::read(bytes)))
        }
    }
}

/// Where a thread was in a turn: `struct stack_sample`. Times in ns.
#[derive(Clone, Debug, Default)]
pub(crate) struct StackSample {
    pub(crate) tid: u32,
    pub(crate) pid: u32,
    /// Start of its turn.
    pub(crate) began: u64,
    /// When it was taken; of a sleep, its start.
    pub(crate) at: u64,
    /// 0: it ran.
    pub(crate) slept: u64,
    /// Return addresses, the innermost first.
    pub(crate) kernel: Vec<u64>,
    pub(crate) user: Vec<u64>,
}

impl StackSample {
    /// What its first number is: `STACK_SAMPLE` of the programs.
    const KIND: u32 = 2;

    pub(crate) fn read(bytes: &[u8]) -> Self {
        let mut r = Reader(bytes);
        let (_kind, tid, pid) = (r.u32(), r.u32(), r.u32());
        let (in_kernel, in_process) = (usize::from(r.u16()), usize::from(r.u16()));
        let (began, at, slept) = (r.u64(), r.u64(), r.u64());
        let mut frames = |known: usize| {
            let mut all: Vec<u64> = (0..FRAMES).map(|_| r.u64()).collect();
            all.truncate(known);
            all
        };
        let (kernel, user) = (frames(in_kernel), frames(in_process));
        Self { tid, pid, began, at, slept, kernel, user }
    }
}

/// Both ends of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ends {
    pub(crate) local: SocketAddr,
    pub(crate) remote: SocketAddr,
    /// As in include/net/tcp_states.h.
    pub(crate) state: u16,
}

impl Ends {
    pub(crate) fn read(r: &mut Reader<'_>) -> Self {
        let (local, remote): ([u8; 16], [u8; 16]) = (r.take(), r.take());
        let (local_port, remote_port, family, state) = (r.u16(), r.u16(), r.u16(), r.u16());
        // AF_INET
        let addr = |[a, b, c, d, ..]: [u8; 16], all: [u8; 16]| match family {
            2 => IpAddr::V4(Ipv4Addr::new(a, b, c, d)),
            _ => Ipv6Addr::from(all).to_canonical(),
        };
        Self {
            local: SocketAddr::new(addr(local, local), local_port),
            remote: SocketAddr::new(addr(remote, remote), u16::from_be(remote_port)),
            state,
        }
    }
}

impl Ends {
    /// `None`: there is no connection. A turn that has read none yet has no family; the rest is then of an
    /// earlier turn's.
    fn known(r: &mut Reader<'_>) -> Option<Self> {
        let is_known = r.0.get(36..38).is_some_and(|family| family != [0, 0]);
        let ends = Self::read(r);
        is_known.then_some(ends)
    }
}

/// What eight connections moved within a turn, and what others did: `struct moved`.
#[derive(Clone, Debug, Default)]
pub(crate) struct MovedBytes {
    pub(crate) flows: Vec<Moved>,
    pub(crate) elsewhere: u64,
}

impl MovedBytes {
    /// Of the turn that began at `began`; of another, nothing.
    pub(crate) fn read(bytes: &[u8], began: u64) -> Self {
        let mut r = Reader(bytes);
        if r.u64() != began {
            return Self::default();
        }
        let elsewhere = r.u64();
        let flows = (0..8).filter_map(|_| {
            let (sk, read, written) = (r.u64(), Bytes(r.u64()), Bytes(r.u64()));
            let Ends { local, remote, .. } = Ends::read(&mut r);
            (sk != 0).then_some(Moved { local, remote, read, written })
        });
        Self { flows: flows.collect(), elsewhere }
    }
}

/// What happened: `struct event`, with its slots.
#[derive(Clone, Debug, Default)]
pub(crate) struct Event {
    pub(crate) kind: u32,
    pub(crate) tid: u32,
    pub(crate) at: u64,
    pub(crate) cpu: u64,
    /// Time without a CPU that its thread wanted, as of its last leave or call.
    pub(crate) delay: u64,
    /// Time in its short sleeps that were uninterruptible.
    pub(crate) deep: u64,
    pub(crate) a: u64,
    pub(crate) b: u64,
    pub(crate) c: u32,
    pub(crate) slots: Vec<Slot>,
    /// Of a socket that is told of.
    pub(crate) ends: Option<Ends>,
}

impl Event {
    /// Of a sleep: what could have ended it.
    pub(crate) fn sleep(&self) -> Sleep {
        if self.kind == SLEPT_DEEP { Sleep::Uninterruptible } else { Sleep::Interruptible }
    }

    pub(crate) fn read(bytes: &[u8]) -> Self {
        let mut r = Reader(bytes);
        let (kind, tid, at) = (r.u32(), r.u32(), r.u64());
        let (cpu, delay, deep) = (r.u64(), r.u64(), r.u64());
        let (a, b, c, slots) = (r.u64(), r.u64(), r.u32(), r.u32());
        let slots = (0..slots.min(4)).map(|_| Slot::read(&mut r)).collect();
        let ends = matches!(kind, ACCEPTED | CONNECTED | SOCKET) && !r.0.is_empty();
        let ends = ends.then(|| Ends::read(&mut r));
        Self { kind, tid, at, cpu, delay, deep, a, b, c, slots, ends }
    }
}

/// What a descriptor is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// A TCP connection, by the kernel's address of it.
    Socket(u64),
    File,
    Other,
}

/// Which way a call moves bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    In,
    Out,
}

/// What came of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Came {
    Data,
    Again,
    Nothing,
    Error,
}

/// A run of calls of one number upon one descriptor: `struct slot`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slot {
    pub(crate) what: What,
    pub(crate) bytes: u64,
    /// Return of the first that moved bytes, or of the first.
    pub(crate) first: u64,
    /// Return of the last.
    pub(crate) last: u64,
    pub(crate) fd: u32,
    /// Calls that moved bytes, and those that did not.
    pub(crate) data: u32,
    pub(crate) other: u32,
    pub(crate) call: u32,
    pub(crate) direction: Direction,
    came_last: Came,
    came: u8,
}

impl Slot {
    fn read(r: &mut Reader<'_>) -> Self {
        let (sk, bytes, first, last) = (r.u64(), r.u64(), r.u64(), r.u64());
        let (fd, data, other) = (r.u32(), r.u32(), r.u32());
        let (call, kind, came) = (r.u16(), r.u8(), r.u8());
        Self {
            what: match kind >> 4 {
                1 => What::Socket(sk),
                2 => What::File,
                _ => What::Other,
            },
            bytes,
            first,
            last,
            fd,
            data,
            other,
            call: u32::from(call),
            direction: if kind & 15 == 4 { Direction::Out } else { Direction::In },
            came_last: match came & 15 {
                0 => Came::Data,
                1 => Came::Again,
                2 => Came::Nothing,
                _ => Came::Error,
            },
            came: came >> 4,
        }
    }

    /// What came of its last call.
    pub(crate) fn ended(&self) -> Came {
        self.came_last
    }

    /// Whether this came of any of its calls.
    pub(crate) fn had(&self, came: Came) -> bool {
        self.came & (1 << came as u8) != 0
    }
}
