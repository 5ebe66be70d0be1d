//! Workers being watched for a trial, by whichever means.

use std::thread;
use std::time::{Duration, Instant};

use records::{Micros, Record, TraceMode};

use crate::background::Background;
use crate::engine::{Engine, RETURNED, Way};
use crate::error::ProbeError;
use crate::process::{self, Wait};
use crate::target::Target;
use crate::{sample, steps};

/// How long steps may take to end before nobody watches any more, and how often it is looked.
const SETTLED: Duration = Duration::from_millis(300);
const LOOK: Duration = Duration::from_millis(5);

/// The longest that [`Tracer::attach`] takes: the kernel checks and attaches programs in a tenth of a
/// second on an idle CPU, in many times that where all are taken.
pub const ATTACHED_WITHIN: Duration = Duration::from_secs(10);

/// The longest that [`Tracer::stop`] takes: what is in the ring is still told.
pub const STOPPED_WITHIN: Duration = SETTLED.saturating_add(Duration::from_secs(5));

/// How workers are watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Means {
    /// Every system call and switch, by programs in the kernel.
    Probe,
    /// The same of all threads of the workers' processes, which hand work to each other: no step is one
    /// thread's, so each process is told as one worker ([`records::Threads`]).
    Threads,
    /// Samples of `/proc`.
    Sample,
}

/// What `mode` means on this host; `None`: nothing is watched.
///
/// [`TraceMode::Auto`] is the probe where the kernel offers what it needs and this user may use it,
/// else samples. Whether it is so is tried, which takes some 50 ms.
///
/// # Errors
/// The probe was asked for and cannot be had here; the message says what is missing.
pub fn means(mode: TraceMode) -> Result<Option<Means>, ProbeError> {
    let tried = || Engine::load(Way::EveryStep, &[RETURNED]);
    match mode {
        TraceMode::Off => Ok(None),
        TraceMode::Sample => Ok(Some(Means::Sample)),
        TraceMode::Auto if tried().is_err() => Ok(Some(Means::Sample)),
        TraceMode::Auto => Ok(Some(Means::Probe)),
        TraceMode::Probe => tried().map(|_| Some(Means::Probe)),
    }
}

/// Workers being watched. Dropped without [`Tracer::stop`], it ends at once.
#[derive(Debug)]
pub struct Tracer {
    targets: Vec<Target>,
    means: Means,
    thread: Background,
}

impl Tracer {
    /// Begins to watch; returns when the first event would be seen. Steps, loop turns and absences are told
    /// one by one from `hold` on (an absence from 20 ms on, if that is longer). `take` is called on a thread
    /// of the tracer.
    ///
    /// # Errors
    /// The workers are not there, or this host does not allow it.
    pub fn attach(
        targets: &[Target],
        means: Means,
        hold: Micros,
        take: impl FnMut(Record) + Send + 'static,
    ) -> Result<Self, ProbeError> {
        targets.iter().try_for_each(Target::must_run)?;
        let thread = match means {
            Means::Probe => steps::start(targets, Some(hold), take)?,
            Means::Threads => steps::start(targets, None, take)?,
            Means::Sample => sample::start(targets, hold, take)?,
        };
        Ok(Self { targets: targets.to_vec(), means, thread })
    }

    /// Ends: what is still to be told is told before this returns. A step, a turn or a poll that is
    /// under way is told as far as it has come.
    ///
    /// # Errors
    /// The tracer failed while it ran: what it told is not all there was.
    pub fn stop(mut self) -> Result<(), ProbeError> {
        if self.means == Means::Probe {
            self.settle();
        }
        self.thread.end()
    }

    /// Waits for the end of steps, for a while: they end in numbers when their clients have just been hung
    /// up.
    fn settle(&self) {
        let until = Instant::now() + SETTLED;
        let rests = |of: &Target| process::wait(of.pid, of.tid).is_none_or(Wait::is_poll);
        while Instant::now() < until && !self.targets.iter().all(rests) {
            thread::sleep(LOOK);
        }
    }
}

#[cfg(test)]
mod tests;
