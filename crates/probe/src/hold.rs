//! What a live watch tells: turns of every thread that polls, its holds, and where it was in them.

use std::fmt;
use std::net::SocketAddr;

use records::{Bytes, Micros, MonoNs, StepHistogram};
use serde::{Serialize, Serializer};

use crate::calls::Call;

/// What was seen since the last look, and what is under way at this one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// When it was looked (CLOCK_MONOTONIC).
    pub at: MonoNs,
    /// Holds that last still, the longest first. Each is told at every look while it lasts, and once
    /// more in `closed`.
    pub open: Vec<Hold>,
    /// Holds that ended since the last look, in the order of their ends.
    pub closed: Vec<Hold>,
    /// Turns of every watched thread that polls, since the watch began, by process and thread.
    pub turns: Vec<Turns>,
    /// Holds that ended and were lost since the watch began, as the ring was full.
    pub lost: u64,
}

/// A turn that lasted: a thread came out of its poll and has not gone back to sleep in it.
///
/// `on_cpu_us`, `runnable_us` and `asleep_us` add up to `length_us`, but for what rounding takes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Hold {
    /// Whether it is over.
    pub state: HoldState,
    /// The process, as the reader's PID namespace numbers it.
    pub pid: u32,
    /// The thread, likewise. With `began_ns` it tells one hold from another.
    pub tid: u32,
    /// The thread's name.
    pub comm: String,
    /// From when it is counted (CLOCK_MONOTONIC).
    pub began_ns: MonoNs,
    /// What was then.
    pub counted_from: CountedFrom,
    /// How long it has lasted, or lasted, since.
    pub length_us: Micros,
    /// Time on a CPU.
    pub on_cpu_us: Micros,
    /// Time without a CPU that it wanted.
    pub runnable_us: Micros,
    /// Time asleep, outside of its poll.
    pub asleep_us: Micros,
    /// The call in which it slept longest, or sleeps now; `None`: it did not sleep.
    pub asleep_in: Option<Call>,
    /// The connection that was read last in the turn's first 20 ms: in a turn that moves no bytes, whose
    /// request it serves. Its bytes are not known. `None`: none was read.
    #[serde(skip)]
    pub asked: Option<Moved>,
    /// Bytes by connection, most first; at most eight. They are counted from some 20 ms after
    /// `began_ns` on, when the hooks are armed. Empty: it moved none through TCP since.
    #[serde(skip)]
    pub moved: Vec<Moved>,
    /// Bytes of connections beyond those eight.
    #[serde(skip)]
    pub moved_elsewhere: Bytes,
    /// Where the thread was, most of the time first; at most five. Sampled 49 times a second where it runs,
    /// and at each sleep of 5 ms or more. Empty: the hold was too short for that, or stacks cannot be had
    /// ([`crate::Watch::no_stacks`]).
    pub stacks: Vec<Stack>,
}

/// Whether a hold is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum HoldState {
    /// It lasts still.
    Open,
    /// It has ended.
    Closed,
}

/// From when on a hold is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CountedFrom {
    /// The thread woke in its poll: that is all of the hold.
    Poll,
    /// It was held already when it began to be watched, or may have been, as the hooks rest between two
    /// suspicions: the hold may be longer.
    Watch,
}

/// Bytes of one TCP connection within a hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moved {
    /// The process's own end. IPv4 in IPv6 is written as IPv4.
    pub local: SocketAddr,
    /// The other end.
    pub remote: SocketAddr,
    /// Bytes received from the other end.
    pub read: Bytes,
    /// Bytes sent to it.
    pub written: Bytes,
}

/// Turns of one thread, all of them, by length.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Turns {
    /// The process.
    pub pid: u32,
    /// The thread.
    pub tid: u32,
    /// The thread's name.
    pub comm: String,
    /// Time of all of them.
    pub turns_us: Micros,
    /// How many took how long; turns that end without sleep in the poll count as one with the next.
    pub turn_lengths: StepHistogram,
}

/// Where a thread was for some time of a hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Stack {
    /// How long, as far as was sampled.
    pub time_us: Micros,
    /// The innermost first; those in the kernel before those of the process.
    pub frames: Vec<Frame>,
}

/// A function that was on the stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Its name; its address in hex where nothing names it.
    pub function: String,
    /// Where its code is.
    pub module: Module,
}

/// Where code is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Module {
    /// In the kernel.
    Kernel,
    /// In a file of this name.
    File(String),
    /// Made while the program ran, and named in its perf map (`/tmp/perf-PID.map`).
    Generated,
    /// Nothing says so.
    Unknown,
}

/// `clock_nanosleep (libc.so.6)`.
impl fmt::Display for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let function = &self.function;
        match &self.module {
            Module::Kernel => write!(f, "{function} (kernel)"),
            Module::File(file) => write!(f, "{function} ({file})"),
            Module::Generated | Module::Unknown => f.write_str(function),
        }
    }
}

/// As it is printed.
impl Serialize for Frame {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl Stack {
    /// The function that says most of what the program did: the innermost that was named at run time, by an
    /// interpreter or a compiler; else the innermost with a name outside of the C library and the kernel;
    /// `None`: there is none.
    pub fn top(&self) -> Option<&Frame> {
        let c_library = ["libc.", "libc-", "libpthread", "ld-", "[vdso]"];
        let is_of_program = |frame: &&Frame| match &frame.module {
            Module::File(file) => !c_library.iter().any(|start| file.starts_with(start)),
            Module::Kernel | Module::Generated | Module::Unknown => false,
        };
        let generated = self.frames.iter().find(|frame| frame.module == Module::Generated);
        generated.or_else(|| self.frames.iter().find(is_of_program))
    }
}
