//! When the dear hooks are attached: while a turn is suspected to last, and not otherwise.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use aya::maps::{Array, MapData};
use aya::programs::tp_btf::BtfTracePointLinkId;

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
    stop: Arc<AtomicBool>,
    suspect: Arc<AtomicU64>,
    state: Arc<Mutex<Result<u64, ProbeError>>>,
    thread: Option<JoinHandle<()>>,
}

impl Guard {
    pub(crate) fn start(mut engine: Engine) -> Result<Self, ProbeError> {
        let board = engine.value("board")?;
        let armed = engine.value("armed")?;
        let stop = Arc::new(AtomicBool::new(false));
        let state = Arc::new(Mutex::new(Ok(0)));
        let suspect = Arc::new(AtomicU64::new(0));
        let mut alarm = Alarm {
            engine,
            board,
            armed,
            suspect: Arc::clone(&suspect),
            links: Vec::new(),
            since: 0,
            last: 0,
            rest: 0,
        };
        let thread = thread::Builder::new().name("probe-guard".into()).spawn({
            let (stop, state) = (Arc::clone(&stop), Arc::clone(&state));
            move || {
                while !stop.load(Ordering::Relaxed) {
                    let looked = alarm.look(net::clock::now().0);
                    let failed = looked.is_err();
                    *state.lock().unwrap_or_else(PoisonError::into_inner) = looked;
                    if failed {
                        return;
                    }
                    thread::park_timeout(LOOK);
                }
            }
        });
        let thread = thread.map_err(|source| ProbeError::Start { what: "a thread", source })?;
        Ok(Self { stop, suspect, state, thread: Some(thread) })
    }

    /// A turn that is under way since then, and that the programs have not marked.
    pub(crate) fn suspect(&self, began: Option<u64>) {
        self.suspect.store(began.unwrap_or(0), Ordering::Relaxed);
    }

    /// Since when the hooks are attached; 0: they are not.
    pub(crate) fn armed(&self) -> Result<u64, ProbeError> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match &*state {
            Ok(since) => Ok(*since),
            // Told once; the watch is of no use after it.
            Err(_) => std::mem::replace(&mut *state, Ok(0)),
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // Its programs go with it.
            let _ = thread.join();
        }
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
