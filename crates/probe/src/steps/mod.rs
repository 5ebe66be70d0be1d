//! Every step of workers, as the programs tell it: for a trial.
//!
//! What it cannot see: connections of a thread that never polls (Apache's pool), calls through
//! io_uring, which bytes of one upstream connection were whose when requests are multiplexed upon it.
//! Whose an upstream connection is, it learns from the order of calls: a proxy that asks for many
//! clients before it connects for the first has them paired in that order, and mended when what is
//! read from one is written to the other.
//!
//! Threads that hand work to each other have no steps: [`crowd`] tells of all of them together.
//!
//! A step begins where the one before it ended, or the poll returned: what a loop does between two
//! steps belongs to the later one.

mod book;
mod calls;
mod connections;
mod crowd;
mod session;
mod slices;
mod worker;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use aya::maps::{HashMap, MapData};
use records::{Micros, MonoNs, Record};

use self::book::Book;
use self::calls::CallCounts;
use self::crowd::Crowd;
use crate::background::Background;
use crate::engine::{
    ALL_THREADS, ENDED, Engine, ONE_THREAD, RETURNED, SAMPLED, STATED, SWITCHED, Told, Way, refused,
};
use crate::error::ProbeError;
use crate::sample::{Doing, Watched};
use crate::tracer::{self, Means, SETTLED, Target};
use crate::wire::{self, Event};

/// Where records go.
type Take<'a> = &'a mut dyn FnMut(Record);

/// How often the ring is emptied, and totals are told.
const READ_EVERY: Duration = Duration::from_millis(20);
const TOLD_EVERY: Duration = Duration::from_secs(1);

/// Time between two looks whether steps have ended.
const LOOK: Duration = Duration::from_millis(5);

/// Who makes records of what the programs tell.
enum Books {
    /// Of each thread by itself.
    Steps(Book),
    /// Of all threads of a process together.
    Crowd(Crowd),
}

/// Attaches the programs and begins to tell every step, or what all threads of the workers' processes do;
/// returns when all are in place.
pub(crate) fn start(
    targets: &[Target],
    means: Means,
    hold: Micros,
    take: tracer::Take,
) -> Result<Background, ProbeError> {
    let pids: BTreeSet<u32> = targets.iter().map(|target| target.pid).collect();
    let listening = pids.into_iter().flat_map(crate::process::listening_ports).collect();
    let hooks = [SWITCHED, STATED, ENDED, RETURNED];
    let mut engine = Engine::load(Way::EveryStep, &hooks)?;
    let mut watched: HashMap<_, u32, [u8; 4]> = engine.table("watched")?;
    for target in targets {
        let (id, which) = match means {
            Means::Threads => (target.pid, ALL_THREADS),
            Means::Probe | Means::Sample => (target.tid, ONE_THREAD),
        };
        let inserted = watched.insert(id, which.to_ne_bytes(), 0);
        inserted.map_err(|e| refused("watch a worker", e))?;
    }
    let (told, calls) = (engine.told()?, engine.table("calls")?);
    for hook in hooks {
        engine.attach(hook)?;
    }
    engine.load_sampler(SAMPLED)?;
    engine.attach_sampler(SAMPLED)?;
    let live = net::clock::now();
    let books = match means {
        Means::Threads => Books::Crowd(Crowd::new(targets, listening, live)),
        Means::Probe | Means::Sample => Books::Steps(Book::new(targets, listening, hold, live)),
    };
    let reader = Follower { engine: Some(engine), told, calls, books, take };
    Background::start("trace-probe", move |ends| reader.follow(ends))
}

/// Waits for the end of steps, for a while: they end in numbers when their clients have just been hung up.
pub(crate) fn settle(targets: &[Target]) {
    let until = Instant::now() + SETTLED;
    let rests = |target: &Target| {
        let looked = Watched::open(target).ok().and_then(|mut watched| watched.look());
        looked.is_none_or(|doing| doing == Doing::Polling)
    };
    while Instant::now() < until && !targets.iter().all(rests) {
        thread::sleep(LOOK);
    }
}

/// Reads what is told, and makes records of it.
struct Follower {
    /// `None`: the programs have been taken away.
    engine: Option<Engine>,
    told: Told,
    calls: HashMap<MapData, [u32; 2], [u8; wire::CALL]>,
    books: Books,
    take: tracer::Take,
}

impl Follower {
    fn follow(mut self, ends: &AtomicBool) -> Result<(), ProbeError> {
        let mut due = Instant::now() + TOLD_EVERY;
        while !ends.load(Ordering::Relaxed) {
            self.drain();
            if Instant::now() >= due {
                due += TOLD_EVERY;
                let lost = self.told.lost()?;
                let at = net::clock::now();
                match &mut self.books {
                    Books::Steps(book) => book.tell_totals(at, lost, &mut self.take),
                    Books::Crowd(crowd) => crowd.tell_totals(at, lost, &mut self.take),
                }
            }
            thread::park_timeout(READ_EVERY);
        }
        let end = net::clock::now();
        drop(self.engine.take());
        self.drain();
        self.finish(end)
    }

    fn drain(&mut self) {
        while let Some(item) = self.told.ring.next() {
            let event = Event::read(&item);
            match &mut self.books {
                Books::Steps(book) => book.event(&event, &mut self.take),
                Books::Crowd(crowd) => crowd.event(&event, &mut self.take),
            }
        }
    }

    /// Tells what was under way when the programs were taken away.
    fn finish(mut self, end: MonoNs) -> Result<(), ProbeError> {
        let (take, threads) = (&mut self.take, self.told.threads());
        let (calls, lost) = (CallCounts::read(&self.calls)?, self.told.lost()?);
        match self.books {
            Books::Steps(mut book) => {
                threads.into_iter().for_each(|(_, thread)| book.finish_thread(thread, end, take));
                book.finish(end, lost, &calls, take);
            }
            Books::Crowd(mut crowd) => {
                threads.into_iter().for_each(|(_, thread)| crowd.finish_thread(thread, end, take));
                crowd.finish(end, lost, &calls, take);
            }
        }
        Ok(())
    }
}
