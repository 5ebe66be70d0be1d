//! Looks at workers through `/proc`, a thousand times a second, without any right but to read.
//!
//! What it can tell: that a worker was not seen in its poll for a while, and how often it was then
//! ready to run, without a CPU, or asleep elsewhere. What it cannot: what a worker did; that it was
//! away between two looks; a worker that never sleeps in its poll, because it always has work, from
//! one that never gets there. So it tells absences, and no turns, steps, holds or stretches.
//!
//! Invariant: its cost is bounded. Files are held open, and when looking takes more than 5 % of a
//! CPU it looks less often, down to once in 8 ms.

mod absence;
mod look;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use records::{Micros, Record};
use rustix::time::{ClockId, clock_gettime};

pub(crate) use self::look::{Doing, Watched};

use self::absence::Absences;
use crate::error::ProbeError;
use crate::tracer::Target;

/// How often a worker is looked at: 1 kHz.
const EVERY: Duration = Duration::from_millis(1);
/// How rarely, when looking is expensive.
const AT_MOST: Duration = Duration::from_millis(8);
/// Shorter absences are not told: twenty looks say more than three.
const SHORTEST: Micros = Micros(20_000);
/// How often the own cost is looked at, and the part of a CPU that it may be, as a divisor.
const COST_EVERY: Duration = Duration::from_millis(200);
const COST_PART: u32 = 20;

/// The thread that looks.
#[derive(Debug)]
pub(crate) struct Sampler {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Sampler {
    /// Begins to look; the first look has been taken when this returns.
    pub(crate) fn attach(
        targets: &[Target],
        hold: Micros,
        take: Box<dyn FnMut(Record) + Send>,
    ) -> Result<Self, ProbeError> {
        let mut watched = Vec::with_capacity(targets.len());
        for target in targets {
            let mut worker = Watched::open(target)?;
            worker.look();
            watched.push((worker, Absences::of(target.worker, hold.max(SHORTEST))));
        }
        let stop = Arc::new(AtomicBool::new(false));
        let thread = thread::Builder::new()
            .name("trace-sample".into())
            .spawn({
                let stop = Arc::clone(&stop);
                move || watch(watched, &stop, take)
            })
            .map_err(|source| ProbeError::Start { what: "a thread", source })?;
        Ok(Self { stop, thread: Some(thread) })
    }

    /// Ends, after what is left was told.
    pub(crate) fn stop(mut self) -> Result<(), ProbeError> {
        self.end();
        Ok(())
    }

    fn end(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            let _ = thread.join();
        }
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        self.end();
    }
}

fn watch(
    mut watched: Vec<(Watched, Absences)>,
    stop: &AtomicBool,
    mut take: Box<dyn FnMut(Record) + Send>,
) {
    let mut every = EVERY;
    let mut due = Instant::now();
    let mut cost = Cost::now();
    while !stop.load(Ordering::Relaxed) {
        for (worker, absences) in &mut watched {
            let doing = worker.look();
            let told = absences.looked(net::clock::now(), doing, || worker.times());
            told.into_iter().for_each(|absence| take(Record::Absence(absence)));
        }
        every = cost.adapt(every);
        // Looks that were missed are not made up for: they would see the same moment twice.
        due = (due + every).max(Instant::now());
        thread::park_timeout(due.saturating_duration_since(Instant::now()));
    }
    for (worker, absences) in &mut watched {
        if let Some(absence) = absences.finish(net::clock::now(), || worker.times()) {
            take(Record::Absence(absence));
        }
    }
}

/// What looking costs.
struct Cost {
    since: Instant,
    cpu: Duration,
}

impl Cost {
    fn now() -> Self {
        let time = clock_gettime(ClockId::ThreadCPUTime);
        let secs = u64::try_from(time.tv_sec).unwrap_or(0);
        let nanos = u32::try_from(time.tv_nsec).unwrap_or(0);
        Self { since: Instant::now(), cpu: Duration::new(secs, nanos) }
    }

    /// How long to wait between looks, from now on.
    fn adapt(&mut self, every: Duration) -> Duration {
        let passed = self.since.elapsed();
        if passed < COST_EVERY {
            return every;
        }
        let now = Self::now();
        let used = now.cpu.saturating_sub(self.cpu);
        *self = now;
        if used > passed / COST_PART {
            (every * 2).min(AT_MOST)
        } else if used < passed / (COST_PART * 4) {
            (every / 2).max(EVERY)
        } else {
            every
        }
    }
}

#[cfg(test)]
mod tests;
