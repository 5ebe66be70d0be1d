//! When the dear hooks are attached: while a turn is suspected to last, and not otherwise.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use aya::maps::{Array, MapData};
use aya::programs::tp_btf::BtfTracePointLinkId;

use crate::background::Background;
use crate::engine::{ARMED, Engine, Hook, refused};
use crate::error::ProbeError;
use crate::wire;

/// How often it is looked whether a turn lasts, and how long it may before it is suspected.
const LOOK: Duration = Duration::from_millis(5);
const SUSPECTED: u64 = 20_000_000;
/// How long hooks stay when no turn is suspected any more, and rest after they showed no hold.
const LINGER: u64 = 15_000_000;
const REST: u64 = 200_000_000;
/// A suspicion that ends so soon after the hooks are there was none: the thread polled without sleep.
const FALSE_ALARM: u64 = 40_000_000;

/// The thread that attaches the dear hooks while a hold is suspected.
#[derive(Debug)]
pub(crate) struct Guard {
    armed: Arc<AtomicU64>,
    suspect: Arc<AtomicU64>,
    thread: Background,
}

impl Guard {
    pub(crate) fn start(mut engine: Engine) -> Result<Self, ProbeError> {
        let (armed, suspect) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
        let mut alarm = Alarm {
            board: engine.value("board")?,
            armed: engine.value("armed")?,
            engine,
            suspect: Arc::clone(&suspect),
            links: Vec::new(),
            since: 0,
            last: 0,
            rest: 0,
        };
        let told = Arc::clone(&armed);
        let thread = Background::start("probe-guard", move |ends| {
            while !ends.load(Ordering::Relaxed) {
                told.store(alarm.look(net::clock::now().0)?, Ordering::Relaxed);
                thread::park_timeout(LOOK);
            }
            Ok(())
        })?;
        Ok(Self { armed, suspect, thread })
    }

    /// A turn that is under way since then, and that the programs have not marked.
    pub(crate) fn suspect(&self, began: Option<u64>) {
        self.suspect.store(began.unwrap_or(0), Ordering::Relaxed);
    }

    /// Since when the hooks are attached; 0: they are not.
    pub(crate) fn armed(&mut self) -> Result<u64, ProbeError> {
        if !self.thread.goes_on() {
            self.thread.end()?;
        }
        Ok(self.armed.load(Ordering::Relaxed))
    }
}

/// When hooks are attached: see the module of the programs.
struct Alarm {
    engine: Engine,
    board: Array<MapData, [u8; wire::BOARD]>,
    armed: Array<MapData, [u8; 8]>,
    suspect: Arc<AtomicU64>,
    links: Vec<(Hook, BtfTracePointLinkId)>,
    /// Attached since; 0: they are not.
    since: u64,
    /// When a turn was last suspected.
    last: u64,
    /// Not again before.
    rest: u64,
}

impl Alarm {
    fn look(&mut self, now: u64) -> Result<u64, ProbeError> {
        let board = self.board.get(&0, 0).map_err(|e| refused("read a table", e))?;
        let (starts, _) = board.as_chunks();
        let marked = starts.iter().map(|start| u64::from_ne_bytes(*start));
        let all = marked.chain([self.suspect.load(Ordering::Relaxed)]);
        let oldest = all.filter(|at| *at != 0).min();
        let suspected = oldest.is_some_and(|oldest| now.saturating_sub(oldest) >= SUSPECTED);
        if suspected {
            self.last = now;
            if self.since == 0 && now >= self.rest {
                for hook in ARMED {
                    self.links.push((hook, self.engine.attach(hook)?));
                }
                self.set(net::clock::now().0)?;
            }
        } else if self.since != 0 && now.saturating_sub(self.last) >= LINGER {
            if self.last.saturating_sub(self.since) < FALSE_ALARM {
                self.rest = now + REST;
            }
            self.set(0)?;
            for (hook, link) in std::mem::take(&mut self.links) {
                self.engine.detach(hook, link)?;
            }
        }
        Ok(self.since)
    }

    fn set(&mut self, since: u64) -> Result<(), ProbeError> {
        self.since = since;
        self.armed.set(0, since.to_ne_bytes(), 0).map_err(|e| refused("write a table", e))
    }
}
