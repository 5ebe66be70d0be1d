//! Looks at workers through `/proc`, a thousand times a second, without any right but to read.
//!
//! What it can tell: that a worker was not seen in its poll for a while, and how often it was then
//! ready to run, without a CPU, or asleep elsewhere. What it cannot: what a worker did; that it was
//! away between two looks; a worker that never sleeps in its poll, because it always has work, from
//! one that never gets there. So it tells absences, and no turns, steps, holds or stretches.
//!
//! Invariant: its cost is bounded. Files are held open, and of many workers each is looked at less often.

mod absence;
mod look;

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use records::{Micros, Record};

pub(crate) use self::look::{Doing, Watched};

use self::absence::Absences;
use crate::background::Background;
use crate::error::ProbeError;
use crate::tracer::{Take, Target};

/// How often up to eight workers are looked at: 1 kHz. A look takes 2 to 4 us.
const EVERY: Duration = Duration::from_millis(1);
const AT_ONCE: usize = 8;
/// Shorter absences are not told: twenty looks say more than three.
const SHORTEST: Micros = Micros(20_000);

/// Begins to look; the first look has been taken when this returns.
pub(crate) fn start(
    targets: &[Target],
    hold: Micros,
    take: Take,
) -> Result<Background, ProbeError> {
    let mut watched = Vec::with_capacity(targets.len());
    for target in targets {
        let mut worker = Watched::open(target)?;
        worker.look();
        watched.push((worker, Absences::of(target.worker, hold.max(SHORTEST))));
    }
    Background::start("trace-sample", move |ends| {
        watch(watched, ends, take);
        Ok(())
    })
}

fn watch(mut watched: Vec<(Watched, Absences)>, ends: &AtomicBool, mut take: Take) {
    let times = u32::try_from(watched.len().div_ceil(AT_ONCE)).unwrap_or(u32::MAX);
    let every = EVERY.saturating_mul(times);
    let mut due = Instant::now();
    while !ends.load(Ordering::Relaxed) {
        for (worker, absences) in &mut watched {
            let doing = worker.look();
            let told = absences.looked(net::clock::now(), doing, || worker.times());
            told.into_iter().for_each(|absence| take(Record::Absence(absence)));
        }
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

#[cfg(test)]
mod tests;
