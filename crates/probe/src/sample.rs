//! Looks at workers through `/proc`, a thousand times a second, without any right but to read.
//!
//! What it can tell: that a worker was not seen in its poll for a while, and how often it was then
//! ready to run, without a CPU, or asleep elsewhere. What it cannot: what a worker did; that it was
//! away between two looks; a worker that never sleeps in its poll, because it always has work, from
//! one that never gets there. So it tells absences, and no turns, steps, holds or stretches.
//!
//! Invariants:
//! - Its cost is bounded. Files are held open, and of many workers each is looked at less often.
//! - An absence is at least as long as asked for, and no two of a worker overlap.
//! - Its looks are running, waiting and blocked ones, and no others.

use std::fs::File;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use records::{Absence, Micros, MonoNs, Record};
use rustix::io::pread;

use crate::background::Background;
use crate::error::ProbeError;
use crate::process::{Wait, wait_of};
use crate::target::Target;

/// How often up to eight workers are looked at: 1 kHz. A look takes 2 to 4 us.
const EVERY: Duration = Duration::from_millis(1);
const AT_ONCE: usize = 8;
/// Shorter absences are not told: twenty looks say more than three.
const SHORTEST: Micros = Micros(20_000);

/// Begins to look; the first look has been taken when this returns.
pub(crate) fn start(
    targets: &[Target],
    hold: Micros,
    take: impl FnMut(Record) + Send + 'static,
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

fn watch(mut watched: Vec<(Watched, Absences)>, ends: &AtomicBool, mut take: impl FnMut(Record)) {
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

/// What a thread was found doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Doing {
    /// Asleep in its poll.
    Polling,
    /// Running, or ready to.
    Ready,
    /// Asleep elsewhere.
    Blocked,
}

/// CPU time and time without one, in ns (the first two fields of `schedstat`,
/// Documentation/scheduler/sched-stats.rst).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Times {
    ran: u64,
    waited: u64,
}

/// A thread that is looked at, with the files it is looked at through.
#[derive(Debug)]
struct Watched {
    /// `syscall`: the call it sleeps in. For its parents and root (PTRACE_MODE_ATTACH).
    syscall: Option<File>,
    /// `stat`: asleep or not. For everybody.
    stat: File,
    schedstat: Option<File>,
}

impl Watched {
    fn open(target: &Target) -> Result<Self, ProbeError> {
        let path = |file: &str| format!("/proc/{}/task/{}/{file}", target.pid, target.tid);
        let stat = path("stat");
        Ok(Self {
            syscall: File::open(path("syscall")).ok(),
            stat: File::open(&stat).map_err(ProbeError::host(format!("read {stat}")))?,
            schedstat: File::open(path("schedstat")).ok(),
        })
    }

    /// What it does now; `None`: it has ended. The most telling file that can be read decides.
    fn look(&mut self) -> Option<Doing> {
        let mut buffer = [0; 512];
        if let Some(text) = read(self.syscall.as_ref(), &mut buffer) {
            return Some(by_syscall(text));
        }
        // It may be read by nobody who may not read it now: do not ask a thousand times a second.
        self.syscall = None;
        read(Some(&self.stat), &mut buffer).and_then(by_stat)
    }

    /// CPU time and waits so far; a running thread's are as of its last tick.
    fn times(&self) -> Times {
        let mut buffer = [0; 96];
        read(self.schedstat.as_ref(), &mut buffer).and_then(parse_times).unwrap_or_default()
    }
}

fn read<'a>(file: Option<&File>, buffer: &'a mut [u8]) -> Option<&'a str> {
    let got = pread(file?.as_fd(), &mut *buffer, 0).ok()?;
    std::str::from_utf8(buffer.get(..got)?).ok().filter(|text| !text.is_empty())
}

fn by_syscall(text: &str) -> Doing {
    match wait_of(text) {
        Wait::Epoll(_) | Wait::Poll => Doing::Polling,
        Wait::Running => Doing::Ready,
        Wait::Futex | Wait::Accept | Wait::Call(_) => Doing::Blocked,
    }
}

/// proc_pid_stat(5): the state after the name in brackets. Which sleep it is, is not shown: a sleep
/// that can be interrupted is taken for the poll, where a worker sleeps most.
fn by_stat(text: &str) -> Option<Doing> {
    match text.rsplit_once(") ")?.1.chars().next()? {
        'R' => Some(Doing::Ready),
        'S' | 'I' => Some(Doing::Polling),
        'Z' | 'X' | 'x' => None,
        _ => Some(Doing::Blocked),
    }
}

fn parse_times(text: &str) -> Option<Times> {
    let mut fields = text.split_ascii_whitespace().map(str::parse);
    Some(Times { ran: fields.next()?.ok()?, waited: fields.next()?.ok()? })
}

/// Looks at one worker, made into absences: pure.
#[derive(Debug)]
struct Absences {
    worker: u32,
    shortest: Micros,
    away: Option<Away>,
}

/// The absence under way.
#[derive(Debug)]
struct Away {
    start: MonoNs,
    ready: u32,
    blocked: u32,
    times: Times,
}

impl Absences {
    /// Of `worker`, from the length `shortest` on.
    fn of(worker: u32, shortest: Micros) -> Self {
        Self { worker, shortest, away: None }
    }

    /// Takes in a look; `None`: the worker has ended. An absence that ended with it is returned.
    /// `times` is asked where one begins and where it ends.
    fn looked(
        &mut self,
        at: MonoNs,
        doing: Option<Doing>,
        times: impl FnOnce() -> Times,
    ) -> Option<Absence> {
        let Some(doing @ (Doing::Ready | Doing::Blocked)) = doing else {
            return self.finish(at, times);
        };
        let away = || Away { start: at, ready: 0, blocked: 0, times: times() };
        let away = self.away.get_or_insert_with(away);
        if doing == Doing::Ready {
            away.ready += 1;
        } else {
            away.blocked += 1;
        }
        None
    }

    /// Ends the absence under way.
    fn finish(&mut self, at: MonoNs, times: impl FnOnce() -> Times) -> Option<Absence> {
        let away = self.away.take()?;
        if at.micros_since(away.start) < self.shortest {
            return None;
        }
        let waiting = away.waiting(times());
        Some(Absence {
            worker: self.worker,
            start_ns: away.start,
            end_ns: at,
            looks: away.ready + away.blocked,
            running: away.ready - waiting,
            waiting,
            blocked: away.blocked,
        })
    }
}

impl Away {
    /// A look does not tell who runs from who would like to: what the scheduler counted over the
    /// whole absence does, and parts the looks accordingly.
    fn waiting(&self, now: Times) -> u32 {
        let ran = now.ran.saturating_sub(self.times.ran);
        let waited = now.waited.saturating_sub(self.times.waited);
        let both = u128::from(ran) + u128::from(waited);
        let part = (u128::from(self.ready) * u128::from(waited)).checked_div(both).unwrap_or(0);
        u32::try_from(part).unwrap_or(u32::MAX).min(self.ready)
    }
}

#[cfg(test)]
mod tests;
