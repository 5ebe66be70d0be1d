//! bpftrace as a child: started, understood, stopped.
//!
//! What it can tell is in the head of `script/head.bt`. What it cannot: connections of a thread that
//! never polls (Apache's pool), calls through io_uring, which bytes of one upstream connection were
//! whose when requests are multiplexed upon it. Whose an upstream connection is, it learns from the
//! order of calls: a proxy that asks for many clients before it connects for the first has them
//! paired in that order, and mended when what is read from one is written to the other.
//!
//! A step begins where the one before it ended, or the poll returned: what a loop does between two
//! steps belongs to the later one.
//!
//! It costs the worker about 0.45 us a call and 1.6 us a turn with one step: 15 % of the bytes that a
//! worker moves per second of CPU, where it copies 4 KiB a call (nine pairs of runs of 6 s each, the
//! mirror and nginx 1.22, 2 vCPUs of a KVM guest, Linux 6.18, November 2026).
//!
//! Invariants:
//! - The child dies with this process. It is started with `setpriv --pdeathsig KILL` (util-linux),
//!   since the signal has to be asked for between fork and exec; and by the thread that attaches,
//!   since the signal is sent when the *thread* that started a child ends.
//! - Nothing of this host stays changed: where nobody has mounted tracefs, the child has it in a
//!   mount namespace of its own (unshare(1)).

mod book;
mod calls;
mod child;
mod line;
mod numbers;
mod script;

use std::collections::BTreeSet;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use net::child::Child;
use records::{Micros, Record};
use rustix::process::{Pid, Signal, getpgid, getsid};

pub(crate) use self::calls::POLLS;
pub(crate) use self::numbers::Numbers;

use self::child::{Event, Watch};
use self::script::{Fred, Script};
use crate::error::TracerError;
use crate::patience;
use crate::sample::{Doing, Watched};
use crate::tracer::Target;

/// Time between two looks whether steps have ended.
const LOOK: Duration = Duration::from_millis(5);

/// No process: PID_MAX_LIMIT is far below. Asked about ourselves, the kernel answers 0 where our
/// session began outside of our PID namespace, which rustix takes for a fault of its own.
const NOBODY: Option<Pid> = Pid::from_raw(i32::MAX);

/// Workers watched by bpftrace.
#[derive(Debug)]
pub(crate) struct Bpf {
    targets: Vec<Target>,
    child: Child,
    events: Receiver<Event>,
}

impl Bpf {
    /// Starts bpftrace; returns when all its probes are in place.
    pub(crate) fn attach(
        targets: &[Target],
        hold: Micros,
        take: Box<dyn FnMut(Record) + Send>,
    ) -> Result<Self, TracerError> {
        let pids: BTreeSet<u32> = targets.iter().map(|target| target.pid).collect();
        let listening = pids.into_iter().flat_map(crate::workers::listening_ports).collect();
        let own_pid = std::process::id();
        let numbers = Numbers::learn(targets).map_err(|why| TracerError::NoNumbers { why })?;
        let seen = targets.iter().map(|target| numbers.of_target(target));
        let seen: Vec<Target> = seen.collect::<Result<_, _>>()?;
        let own_pid = numbers.of(own_pid).unwrap_or(own_pid);
        let script = Script { targets: &seen, own_pid, hold, listening: &listening, fred: fred() };
        let script = script.text();
        let watch = Watch { script, targets: targets.to_vec(), seen, hold, take };
        let (tell, events) = mpsc::channel();
        let bpf = Self { targets: targets.to_vec(), child: child::start(watch, tell)?, events };
        bpf.await_live()?;
        Ok(bpf)
    }

    /// Makes the calls that the first and the last probe wait for until both were seen.
    fn await_live(&self) -> Result<(), TracerError> {
        let until = Instant::now() + patience::LIVE;
        loop {
            // Nobody else in this process makes them; neither does anything.
            let _ = (getsid(NOBODY), getpgid(NOBODY));
            match self.events.recv_timeout(Duration::from_millis(10)) {
                Ok(Event::Live) => return Ok(()),
                Ok(Event::Ended(end)) => return end.and(Err(ended_early())),
                Err(RecvTimeoutError::Timeout) if Instant::now() < until => {}
                Err(RecvTimeoutError::Timeout) => {
                    return Err(TracerError::Blind { seconds: patience::LIVE.as_secs() });
                }
                Err(RecvTimeoutError::Disconnected) => return Err(ended_early()),
            }
        }
    }

    /// Ends bpftrace in order: what its maps hold has been told when this returns.
    pub(crate) fn stop(self) -> Result<(), TracerError> {
        self.settle();
        self.child.signal(Signal::INT);
        let until = Instant::now() + patience::END;
        loop {
            match self.events.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(Event::Ended(end)) => return end,
                Ok(Event::Live) => {}
                Err(_) => return Err(ended_early()),
            }
        }
    }

    /// Waits until no worker is inside a step, if that is soon: a line that is printed while bpftrace
    /// takes its probes away is lost (seen with 0.17), and steps end in numbers when their clients
    /// have just been hung up. One that goes on is told from the maps.
    fn settle(&self) {
        let until = Instant::now() + patience::SETTLED;
        let rests = |target: &Target| {
            let looked = Watched::open(target).ok().and_then(|mut watched| watched.look());
            looked.is_none_or(|doing| doing == Doing::Polling)
        };
        while Instant::now() < until && !self.targets.iter().all(rests) {
            thread::sleep(LOOK);
        }
        // bpftrace looks at its buffers ten times a second at least.
        thread::sleep(patience::DELIVERED);
    }
}

fn ended_early() -> TracerError {
    TracerError::Ended { said: "nothing".into() }
}

/// Whether this kernel was built to know FRED: it then has an entry for it.
fn fred() -> Fred {
    let symbols = std::fs::read_to_string("/proc/kallsyms").unwrap_or_default();
    if symbols.contains("asm_fred_entrypoint_user") { Fred::Known } else { Fred::Unknown }
}
