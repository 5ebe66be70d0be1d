//! When the dear hooks are attached: while a turn is suspected to last, and not otherwise.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use aya::maps::{Array, MapData};
use aya::programs::perf_event::PerfEventLink;
use aya::programs::tp_btf::BtfTracePointLink;
use records::Micros;

use crate::background::Background;
use crate::engine::{ARMED, Engine, HELD, only};
use crate::error::ProbeError;
use crate::wire;

/// How long a turn may last before it is suspected, and how late that may be seen. None that is too young
/// needs a look before its time.
const SUSPECTED: u64 = 20_000_000;
const LOOK: u64 = 5_000_000;
/// How long hooks stay when no turn is suspected any more: so long that a turn which begins then is.
const LINGER: u64 = 30_000_000;
/// Turns this short, in the mean of those seen by the hooks, are of a thread that polls without sleep: then
/// the hooks go at once, or in the end were a false alarm.
const SHORT: u64 = 2_000_000;
const FALSE_ALARM: u64 = 10_000_000;
/// How long they rest after one: meanwhile only turns are suspected that have begun since.
const REST: u64 = 200_000_000;

/// The thread that attaches the dear hooks while a hold is suspected.
#[derive(Debug)]
pub(crate) struct Guard {
    shared: Arc<Shared>,
    thread: Background,
}

/// What the thread and its owner tell each other.
#[derive(Debug, Default)]
struct Shared {
    armed: AtomicU64,
    suspect: AtomicU64,
}

impl Guard {
    /// `stacks_from`: from which length on of a turn its thread is sampled; absent: it is not.
    pub(crate) fn start(
        mut engine: Engine,
        stacks_from: Option<Micros>,
    ) -> Result<Self, ProbeError> {
        let shared = Arc::new(Shared::default());
        let mut alarm = Alarm {
            board: engine.map("board")?,
            armed: engine.map("armed")?,
            engine,
            links: Vec::new(),
            stacks_from: stacks_from.map(|length| length.0.saturating_mul(1_000)),
            sampler: Vec::new(),
            since: 0,
            last: 0,
            rests: 0,
            alarmed: 0,
        };
        let own = Arc::clone(&shared);
        let thread = Background::start("probe-guard", move |ends| {
            // Hooks that come late tell less. Without the right to go first it goes on as it is.
            let _ = rustix::process::setpriority_process(None, -20);
            while !ends.load(Ordering::Relaxed) {
                let suspect = own.suspect.load(Ordering::Relaxed);
                let due = alarm.look(suspect, net::clock::now().0)?;
                own.armed.store(alarm.since, Ordering::Relaxed);
                thread::park_timeout(Duration::from_nanos(due));
            }
            Ok(())
        })?;
        Ok(Self { shared, thread })
    }

    /// A turn that is under way since then, and that the programs have not marked.
    pub(crate) fn suspect(&self, began: Option<u64>) {
        self.shared.suspect.store(began.unwrap_or(0), Ordering::Relaxed);
    }

    /// Since when the hooks are attached; 0: they are not.
    pub(crate) fn armed(&mut self) -> Result<u64, ProbeError> {
        if !self.thread.goes_on() {
            self.thread.end()?;
        }
        Ok(self.shared.armed.load(Ordering::Relaxed))
    }
}

/// When hooks are attached: see the module of the programs.
struct Alarm {
    engine: Engine,
    board: Array<MapData, [u64; wire::BOARD]>,
    /// `struct armed`.
    armed: Array<MapData, [u64; 3]>,
    links: Vec<BtfTracePointLink>,
    stacks_from: Option<u64>,
    /// Empty: it is not attached.
    sampler: Vec<PerfEventLink>,
    /// Attached since; 0: they are not.
    since: u64,
    /// When a turn was last suspected.
    last: u64,
    /// Turns that began before are not suspected; 0: all are.
    rests: u64,
    /// When a false alarm was last known to be one.
    alarmed: u64,
}

impl Alarm {
    /// Looks at all turns under way, `suspect` among them; 0: there is no such turn. Returns in how long the
    /// next look is due, ns.
    fn look(&mut self, suspect: u64, now: u64) -> Result<u64, ProbeError> {
        let board = only(&self.board)?;
        if self.rests != 0 && now.saturating_sub(self.rests) >= REST {
            self.set(self.since, 0)?;
        }
        let oldest = board.into_iter().chain([suspect]).filter(|at| *at > self.rests).min();
        let lasted = oldest.map_or(0, |oldest| now.saturating_sub(oldest));
        if lasted >= SUSPECTED {
            self.last = now;
            if self.since == 0 {
                for hook in ARMED {
                    self.links.push(self.engine.attach(hook)?);
                }
                self.set(net::clock::now().0, 0)?;
            }
            // Dearer than a hook where there are many CPUs: only for what is a hold by now.
            if self.sampler.is_empty() && self.stacks_from.is_some_and(|from| lasted >= from) {
                self.sampler = self.engine.attach_sampler(HELD)?;
            }
        } else if self.since != 0 {
            let [_, _, polls] = only(&self.armed)?;
            let mean_turn = now.saturating_sub(self.since) / (polls + 1);
            if mean_turn < SHORT || now.saturating_sub(self.last) >= LINGER {
                self.disarm(mean_turn, now)?;
            }
        }
        let is_armed = self.since != 0;
        Ok(if is_armed { LOOK } else { SUSPECTED.saturating_sub(lasted).max(LOOK) })
    }

    fn disarm(&mut self, mean_turn: u64, now: u64) -> Result<(), ProbeError> {
        self.set(0, 0)?;
        self.links.clear();
        self.sampler.clear();
        if mean_turn < FALSE_ALARM {
            // A turn that began since the last look may be a hold all the same; but of a thread whose turns
            // are short only once.
            let again = mean_turn < SHORT && now.saturating_sub(self.alarmed) < 3 * SUSPECTED;
            self.alarmed = now;
            let rests = if again { net::clock::now().0 } else { now - LOOK };
            self.set(0, rests)?;
        }
        Ok(())
    }

    /// Tells the programs too.
    fn set(&mut self, since: u64, rests: u64) -> Result<(), ProbeError> {
        (self.since, self.rests) = (since, rests);
        self.armed.set(0, [since, rests, 0], 0).map_err(ProbeError::refused("write a table"))
    }
}
