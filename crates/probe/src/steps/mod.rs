//! Every step of workers, as the programs tell it: for a trial.
//!
//! What it cannot see: connections of a thread that never polls (Apache's pool), calls through
//! io_uring, which bytes of one upstream connection were whose when requests are multiplexed upon it.
//! Whose an upstream connection is, it learns from the order of calls: a proxy that asks for many
//! clients before it connects for the first has them paired in that order, and mended when what is
//! read from one is written to the other.
//!
//! A step begins where the one before it ended, or the poll returned: what a loop does between two
//! steps belongs to the later one.

mod book;
mod connections;
mod session;
mod worker;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use aya::maps::{HashMap, MapData};
use records::{Micros, MonoNs, Record};

use self::book::{Book, CallCounts};
use crate::background::Background;
use crate::calls::Call;
use crate::engine::{ENDED, Engine, RETURNED, SAMPLED_HZ, STATED, SWITCHED, Told, Way, refused};
use crate::error::ProbeError;
use crate::sample::{Doing, Watched};
use crate::tracer::{self, SETTLED, Target};
use crate::wire::{self, Event, Reader};

/// Where records go.
type Take<'a> = &'a mut dyn FnMut(Record);

/// How often the ring is emptied, and totals are told.
const READ_EVERY: Duration = Duration::from_millis(20);
const TOLD_EVERY: Duration = Duration::from_secs(1);

/// Time between two looks whether steps have ended.
const LOOK: Duration = Duration::from_millis(5);

/// Attaches the programs and begins to tell every step; returns when all are in place.
pub(crate) fn start(
    targets: &[Target],
    hold: Micros,
    take: tracer::Take,
) -> Result<Background, ProbeError> {
    let pids: BTreeSet<u32> = targets.iter().map(|target| target.pid).collect();
    let listening = pids.into_iter().flat_map(crate::process::listening_ports).collect();
    let hooks = [SWITCHED, STATED, ENDED, RETURNED];
    let mut engine = Engine::load(Way::EveryStep, &hooks)?;
    let mut watched: HashMap<_, u32, [u8; 4]> = engine.table("watched")?;
    let one_thread = 2_u32.to_ne_bytes();
    for target in targets {
        let inserted = watched.insert(target.tid, one_thread, 0);
        inserted.map_err(|e| refused("watch a worker", e))?;
    }
    let (told, calls) = (engine.told()?, engine.table("calls")?);
    for hook in hooks {
        engine.attach(hook)?;
    }
    engine.sample()?;
    let book = Book::new(targets, listening, hold, net::clock::now());
    let reader = Follower { engine: Some(engine), told, calls, book, take };
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
    book: Book,
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
                self.book.tell_totals(net::clock::now(), lost, &mut self.take);
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
            self.book.event(&Event::read(&item), &mut self.take);
        }
    }

    /// Tells what was under way when the programs were taken away.
    fn finish(mut self, end: MonoNs) -> Result<(), ProbeError> {
        for (_, thread) in self.told.threads() {
            self.book.finish_thread(thread, end, &mut self.take);
        }
        let mut calls = CallCounts::new();
        for found in self.calls.iter() {
            let ([tid, number], bytes) = found.map_err(|e| refused("read a table", e))?;
            let mut r = Reader(&bytes);
            let (count, asleep, samples) = (r.u64(), r.u64(), r.u64());
            let time = samples.saturating_mul(1_000_000) / SAMPLED_HZ + asleep / 1_000;
            let call = calls.entry((tid, Call::of(number))).or_default();
            (call.count, call.asleep_us, call.time_us) =
                (count, Micros(asleep / 1_000), Micros(time));
        }
        let lost = self.told.lost()?;
        self.book.finish(end, lost, calls, &mut self.take);
        Ok(())
    }
}
