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
mod slices;
mod worker;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use aya::maps::{HashMap, MapData};
use aya::programs::perf_event::PerfEventLink;
use aya::programs::tp_btf::BtfTracePointLink;
use records::{Micros, Record};

use self::book::Book;
use self::calls::CallCounts;
use self::connections::Connections;
use self::crowd::Crowd;
use crate::background::Background;
use crate::engine::{
    ALL_THREADS, ENDED, Engine, ONE_THREAD, RETURNED, SAMPLED, SWITCHED, Told, Way,
};
use crate::error::ProbeError;
use crate::target::Target;
use crate::wire::Event;

/// How often the ring is emptied, and totals are told.
const READ_EVERY: Duration = Duration::from_millis(20);
const TOLD_EVERY: Duration = Duration::from_secs(1);

/// Who makes records of what the programs tell.
enum Books {
    /// Of each thread by itself.
    Steps(Book),
    /// Of all threads of a process together.
    Crowd(Crowd),
}

/// Attaches the programs and begins to tell the steps of each worker, one by one from the length `hold` on;
/// without it, what all threads of their processes do together. Returns when all are in place.
pub(crate) fn start(
    targets: &[Target],
    hold: Option<Micros>,
    take: impl FnMut(Record) + Send + 'static,
) -> Result<Background, ProbeError> {
    let pids: BTreeSet<u32> = targets.iter().map(|target| target.pid).collect();
    let listening = pids.into_iter().flat_map(crate::process::listening_ports).collect();
    let hooks = [SWITCHED, ENDED, RETURNED];
    let mut engine = Engine::load(Way::EveryStep, &hooks)?;
    let mut watched: HashMap<MapData, u32, u32> = engine.map("watched")?;
    for target in targets {
        let all = (target.pid, ALL_THREADS);
        let (id, which) = hold.map_or(all, |_| (target.tid, ONE_THREAD));
        watched.insert(id, which, 0).map_err(ProbeError::refused("watch a worker"))?;
    }
    let (told, calls) = (engine.told()?, engine.map("calls")?);
    let hooks = hooks.into_iter().map(|hook| engine.attach(hook)).collect::<Result<_, _>>()?;
    engine.load_sampler(SAMPLED)?;
    let sampler = engine.attach_sampler(SAMPLED)?;
    let (connections, live) = (Connections::new(listening), net::clock::now());
    let books = match hold {
        None => Books::Crowd(Crowd::new(targets, connections, live)),
        Some(hold) => Books::Steps(Book::new(targets, connections, hold, live)),
    };
    let reader = Follower { attached: (hooks, sampler), told, calls, books, take };
    Background::start("trace-probe", move |ends| reader.follow(ends))
}

/// Reads what is told, and makes records of it.
struct Follower<T> {
    attached: (Vec<BtfTracePointLink>, Vec<PerfEventLink>),
    told: Told,
    calls: HashMap<MapData, [u32; 2], [u64; 3]>,
    books: Books,
    take: T,
}

impl<T: FnMut(Record)> Follower<T> {
    fn follow(mut self, ends: &AtomicBool) -> Result<(), ProbeError> {
        let mut due = Instant::now() + TOLD_EVERY;
        while !ends.load(Ordering::Relaxed) {
            self.drain();
            if Instant::now() >= due {
                due += TOLD_EVERY;
                let (at, lost) = (net::clock::now(), self.told.lost()?);
                match &mut self.books {
                    Books::Steps(book) => book.tell_totals(at, lost, &mut self.take),
                    Books::Crowd(crowd) => crowd.tell_totals(at, lost, &mut self.take),
                }
            }
            thread::park_timeout(READ_EVERY);
        }
        let end = net::clock::now();
        drop(std::mem::take(&mut self.attached));
        self.drain();
        // What was under way when the programs were taken away.
        let (take, threads) = (&mut self.take, self.told.threads());
        let (calls, lost) = (CallCounts::read(&self.calls)?, self.told.lost()?);
        match self.books {
            Books::Steps(mut book) => {
                threads.iter().for_each(|(_, thread)| book.finish_thread(thread, end, take));
                book.finish(end, lost, &calls, take);
            }
            Books::Crowd(mut crowd) => {
                threads.iter().for_each(|(_, thread)| crowd.finish_thread(thread, end, take));
                crowd.finish(end, lost, &calls, take);
            }
        }
        Ok(())
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
}
