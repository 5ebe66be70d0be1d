//! What the programs tell, as bytes: the structures of bpf/probe.bpf.c, and what their numbers mean. Times
//! are CLOCK_MONOTONIC, ns.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use records::{Blocked, Micros, MonoNs, Record, Sleep, StepHistogram};
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout};

use crate::calls::Call;

/// Sizes of what tables hold.
pub(crate) const THREAD: usize = size_of::<Thread>();
pub(crate) const MOVED: usize = size_of::<Moves>();
pub(crate) const STACK: usize = size_of::<StackSample>();
/// Places of the board.
pub(crate) const BOARD: usize = 4_096;

/// Hooks that come so long after a turn began have rested: it counts from then (`LATE` of the programs).
const LATE: u64 = 40_000_000;

/// Kinds of events.
pub(crate) const POLLED: u32 = 2;
pub(crate) const BEGUN: u32 = 3;
pub(crate) const ACCEPTED: u32 = 4;
pub(crate) const CONNECTED: u32 = 5;
pub(crate) const SOCKET: u32 = 6;
pub(crate) const CLOSED: u32 = 7;
pub(crate) const SLEPT: u32 = 8;
/// The same, uninterruptible: for a disk, mostly.
pub(crate) const SLEPT_DEEP: u32 = 9;

/// What so many ns are.
pub(crate) fn micros(ns: u64) -> Micros {
    Micros(ns / 1_000)
}

/// A thread as the kernel keeps it: `struct thread`.
#[derive(Clone, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
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
    flushed: u64,
    /// Time in turns that have ended.
    pub(crate) total: u64,
    ran: u64,
    alone_sk: u64,
    /// While hooks rest: since when it has read no other socket.
    alone: u64,
    /// In all its short sleeps that were uninterruptible.
    pub(crate) deep: u64,
    pub(crate) pid: u32,
    pub(crate) tid: u32,
    slept_in: u32,
    /// The call in which it sleeps, and where it came off its CPU.
    pub(crate) off_in: u32,
    off_fd: u32,
    /// In which state of the kernel; 0: it does not.
    asleep: u8,
    epolls: u8,
    woken: u8,
    delay_known: u8,
    asked: Ends,
    pub(crate) turns: [u64; StepHistogram::BUCKETS],
    /// What its slots have gathered.
    pub(crate) pending: Event,
}

impl Thread {
    /// A thread with an epoll that is out of its poll, in a turn that counts from `now` on. `asleep_in`:
    /// the number of the call in which it sleeps; `None`: it runs.
    pub(crate) fn out_of_poll(pid: u32, tid: u32, now: u64, asleep_in: Option<u32>) -> Self {
        let (on, off) = if asleep_in.is_some() { (0, now) } else { (now, 0) };
        Self {
            on,
            off,
            began: now,
            flushed: now,
            pid,
            tid,
            off_in: asleep_in.unwrap_or(0),
            asleep: u8::from(asleep_in.is_some()),
            epolls: 1,
            ..Self::new_zeroed()
        }
    }

    /// Since when it sleeps.
    pub(crate) fn asleep_since(&self) -> Option<u64> {
        (self.asleep != 0 && self.on == 0).then_some(self.off)
    }

    /// What tells of its sleep.
    pub(crate) fn sleep(&self) -> u32 {
        // DEEP of the programs.
        if self.asleep & 2 != 0 { SLEPT_DEEP } else { SLEPT }
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

    /// The turn under way, as far as it has come, without what it moved. `since`: when the hooks were
    /// attached.
    pub(crate) fn turn(&self, since: u64, now: u64) -> Turn {
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
        Turn {
            late: u32::from(began != self.began),
            tid: self.tid,
            pid: self.pid,
            slept_in: if sleeping > self.slept { self.off_in } else { self.slept_in },
            began,
            ended: now,
            cpu: self.cpu_at(now).saturating_sub(self.cpu_before),
            delay: waiting + if self.delay_known != 0 { delay } else { 0 },
            slept: self.slept.max(sleeping),
            asked: self.asked,
            ..Turn::new_zeroed()
        }
    }
}

/// A turn that lasted: `struct hold`.
#[derive(Clone, Debug, FromBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(crate) struct Turn {
    /// Not 0: it may have begun before it counts.
    pub(crate) late: u32,
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
    comm: [u8; 16],
    /// The connection that was read last in the turn's first 20 ms.
    pub(crate) asked: Ends,
    pub(crate) moved: Moves,
}

impl Turn {
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        Self::read_from_bytes(bytes).ok()
    }

    /// The name of its thread, which ends with the first zero.
    pub(crate) fn comm(&self) -> String {
        String::from_utf8_lossy(&self.comm).trim_end_matches('\0').to_owned()
    }
}

/// What eight connections moved within a turn, and what others did: `struct moved`.
#[derive(Clone, Copy, Debug, FromBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(crate) struct Moves {
    /// The turn's start; of another turn it says nothing.
    pub(crate) began: u64,
    pub(crate) elsewhere: u64,
    flows: [Flow; 8],
}

#[derive(Clone, Copy, Debug, FromBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(crate) struct Flow {
    sk: u64,
    pub(crate) read: u64,
    pub(crate) written: u64,
    pub(crate) ends: Ends,
}

impl Moves {
    pub(crate) fn flows(&self) -> impl Iterator<Item = &Flow> {
        self.flows.iter().filter(|flow| flow.sk != 0)
    }
}

/// Where a thread was in a turn: `struct stack_sample`.
#[derive(Clone, Debug, FromBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(crate) struct StackSample {
    kind: u32,
    pub(crate) tid: u32,
    pub(crate) pid: u32,
    kernel_frames: u16,
    user_frames: u16,
    /// Start of its turn.
    pub(crate) began: u64,
    /// When it was taken; of a sleep, its start.
    pub(crate) at: u64,
    /// 0: it ran.
    pub(crate) slept: u64,
    kernel: [u64; 32],
    user: [u64; 32],
}

impl StackSample {
    /// `None`: it is another item of the ring, a turn.
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        // STACK_SAMPLE of the programs.
        Self::read_from_bytes(bytes).ok().filter(|sample| sample.kind == 2)
    }

    /// Return addresses in the kernel, the innermost first.
    pub(crate) fn kernel(&self) -> &[u64] {
        self.kernel.get(..usize::from(self.kernel_frames)).unwrap_or_default()
    }

    /// The same in the process.
    pub(crate) fn user(&self) -> &[u64] {
        self.user.get(..usize::from(self.user_frames)).unwrap_or_default()
    }

    /// That of a thread of this process in the function at an address.
    #[cfg(test)]
    pub(crate) fn of((tid, pid): (u32, u32), began: u64, at: u64, slept: u64, user: u64) -> Self {
        let mut sample = Self { tid, pid, began, at, slept, user_frames: 1, ..Self::new_zeroed() };
        sample.user[0] = user;
        sample
    }
}

/// Both ends of a connection: `struct ends`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(crate) struct Ends {
    local: [u8; 16],
    remote: [u8; 16],
    local_port: u16,
    remote_port: u16,
    family: u16,
    state: u16,
}

impl Ends {
    /// `None`: there is no connection. A turn that has read none yet has no family; the rest is then of an
    /// earlier turn's.
    pub(crate) fn known(self) -> Option<Self> {
        (self.family != 0).then_some(self)
    }

    pub(crate) fn local(&self) -> SocketAddr {
        SocketAddr::new(self.ip(self.local), self.local_port)
    }

    pub(crate) fn remote(&self) -> SocketAddr {
        SocketAddr::new(self.ip(self.remote), u16::from_be(self.remote_port))
    }

    fn ip(&self, bytes: [u8; 16]) -> IpAddr {
        let [a, b, c, d, ..] = bytes;
        // AF_INET
        match self.family {
            2 => IpAddr::V4(Ipv4Addr::new(a, b, c, d)),
            _ => Ipv6Addr::from(bytes).to_canonical(),
        }
    }
}

/// What happened: `struct event`, with its slots.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
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
    pub(crate) count: u32,
    pub(crate) slots: [Slot; 4],
}

impl Event {
    /// What is not there reads as zeros, which nothing that was told holds.
    pub(crate) fn read(bytes: &[u8]) -> Self {
        let mut event = Self::new_zeroed();
        event.as_mut_bytes().iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
        event
    }

    /// Calls that moved bytes, in their order.
    pub(crate) fn slots(&self) -> impl Iterator<Item = &Slot> {
        self.slots.iter().take(self.count as usize)
    }

    /// Of a socket that is told of, its ends: they stand where slots are else.
    pub(crate) fn ends(&self) -> Option<Ends> {
        let of_socket = matches!(self.kind, ACCEPTED | CONNECTED | SOCKET);
        let (ends, _) = Ends::read_from_prefix(self.slots.as_bytes()).ok()?;
        ends.known().filter(|_| of_socket)
    }

    /// The record of a sleep of `worker`.
    pub(crate) fn blocked(&self, worker: u32, client_port: Option<u16>) -> Record {
        let call = Call::of(self.c);
        let is_deep = self.kind == SLEPT_DEEP;
        Record::Blocked(Blocked {
            worker,
            start_ns: MonoNs(self.a),
            end_ns: MonoNs(self.at),
            call: if call == Call::PageFault { String::new() } else { call.to_string() },
            sleep: if is_deep { Sleep::Uninterruptible } else { Sleep::Interruptible },
            client_port,
        })
    }
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
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(crate) struct Slot {
    sk: u64,
    pub(crate) bytes: u64,
    /// Return of the first that moved bytes, or of the first.
    pub(crate) first: u64,
    /// Return of the last.
    pub(crate) last: u64,
    pub(crate) fd: u32,
    /// Calls that moved bytes, and those that did not.
    pub(crate) data: u32,
    pub(crate) other: u32,
    call: u16,
    /// Its class, and in the high half what the descriptor is.
    kind: u8,
    /// Of the last call, and in the high half a bit for each that came.
    came: u8,
}

impl Slot {
    /// The TCP connection, by the kernel's address of it; `None`: it is a file, or something else.
    pub(crate) fn socket(&self) -> Option<u64> {
        (self.kind >> 4 == 1).then_some(self.sk)
    }

    pub(crate) fn call(&self) -> u32 {
        u32::from(self.call)
    }

    pub(crate) fn direction(&self) -> Direction {
        // OUT of the programs.
        if self.kind & 15 == 4 { Direction::Out } else { Direction::In }
    }

    /// What came of its last call.
    pub(crate) fn ended(&self) -> Came {
        match self.came & 15 {
            0 => Came::Data,
            1 => Came::Again,
            2 => Came::Nothing,
            _ => Came::Error,
        }
    }

    /// Whether this came of any of its calls.
    pub(crate) fn had(&self, came: Came) -> bool {
        self.came >> 4 & (1 << came as u8) != 0
    }
}
