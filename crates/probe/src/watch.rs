//! A watch of live processes.

use std::collections::HashMap as Names;
use std::fmt;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use aya::maps::{Array, HashMap, MapData, RingBuf};
use records::{Bytes, Micros, MonoNs, StepHistogram};

use crate::calls::Call;
use crate::engine::{ARMED, ENDED, Engine, SWITCHED, Way, refused};
use crate::error::ProbeError;
use crate::seen::{Hold, HoldOptions, HoldState, Moved, Seen, Turns};
use crate::wire::{self, Flow, Reader, Thread};

/// How often [`Watch::read`] wants to be called: the ring of closed holds has room for 1,700, and an
/// open hold is told no later than this after it passed the threshold.
pub const READ_EVERY: Duration = Duration::from_millis(200);

/// How often it is looked whether a turn lasts, and how long it may before it is suspected.
const LOOK: Duration = Duration::from_millis(5);
const SUSPECTED: u64 = 20_000_000;
/// How long hooks stay when no turn is suspected any more, and rest after they showed no hold.
const LINGER: u64 = 15_000_000;
const REST: u64 = 200_000_000;
/// A suspicion that ends so soon after the hooks are there was none: the thread polled without sleep.
const FALSE_ALARM: u64 = 40_000_000;

/// Which threads of a process are watched, as the programs have it.
const ALL_THREADS: u32 = 1;
/// There is one, and it polls: when it is first seen on a CPU its turn is under way already.
const ONE_THAT_POLLS: u32 = 3;

/// Processes being watched. Dropped, or with the end of this process, however it ends, nothing of it
/// stays in the kernel.
pub struct Watch {
    options: HoldOptions,
    watched: HashMap<MapData, u32, [u8; 4]>,
    threads: HashMap<MapData, u32, [u8; wire::THREAD]>,
    moves: HashMap<MapData, u32, [u8; wire::MOVED]>,
    lost: Array<MapData, [u8; 8]>,
    ring: RingBuf<MapData>,
    names: Names<u32, String>,
    guard: Guard,
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch").field("options", &self.options).finish_non_exhaustive()
    }
}

impl Watch {
    /// Watches all threads of the processes `targets`, numbered as in this PID namespace, and tells
    /// their holds. A thread is told of from its first sleep in a poll on. Returns when the hooks are
    /// in place.
    ///
    /// # Errors
    /// There is no such process, or this host does not allow it; the message says what is missing.
    pub fn holds(targets: &[u32], options: HoldOptions) -> Result<Self, ProbeError> {
        let mut engine = Engine::load(Way::Holds(options.threshold))?;
        let watched = engine.table("watched")?;
        let threads = engine.table("threads")?;
        let moves = engine.table("moves")?;
        let lost = engine.value("lost")?;
        let ring = engine.ring()?;
        for hook in ARMED {
            engine.prepare(hook)?;
        }
        engine.keep(ENDED)?;
        engine.keep(SWITCHED)?;
        let guard = Guard::start(engine)?;
        let names = Names::new();
        let mut watch = Self { options, watched, threads, moves, lost, ring, names, guard };
        for &pid in targets {
            watch.add(pid)?;
        }
        Ok(watch)
    }

    /// What was seen since the last call, and what is under way now. Does not wait; call it every
    /// [`READ_EVERY`].
    ///
    /// # Errors
    /// The kernel's tables cannot be read any more.
    pub fn read(&mut self) -> Result<Seen, ProbeError> {
        let since = self.guard.armed()?;
        let now = net::clock::now();
        let mut seen = Seen { at: now, ..Seen::default() };
        while let Some(item) = self.ring.next() {
            seen.closed.extend(closed(&item));
        }
        let hosts: Vec<u32> = self.threads.keys().filter_map(Result::ok).collect();
        let names = std::mem::take(&mut self.names);
        for host in hosts {
            // A thread that ends meanwhile has no entry any more.
            let Ok(bytes) = self.threads.get(&host, 0) else { continue };
            let thread = Thread::read(&bytes);
            let comm = names.get(&thread.tid).cloned();
            let comm = comm.unwrap_or_else(|| comm_of(thread.pid, thread.tid));
            self.names.insert(thread.tid, comm.clone());
            if let Some(hold) = self.open(host, &thread, now, since) {
                seen.open.push(hold);
            }
            if thread.total > 0 {
                seen.turns.push(Turns {
                    pid: thread.pid,
                    tid: thread.tid,
                    comm,
                    lengths: StepHistogram(thread.turns),
                    total: Micros(thread.total / 1_000),
                });
            }
        }
        seen.open.sort_by_key(|hold| std::cmp::Reverse(hold.length));
        seen.turns.sort_by_key(|turns| (turns.pid, turns.tid));
        let lost = self.lost.get(&0, 0).map_err(|e| refused("read a table", e))?;
        seen.lost = u64::from_ne_bytes(lost);
        Ok(seen)
    }

    /// Watches another process, as one that a watched one has forked.
    ///
    /// # Errors
    /// There is no such process.
    pub fn add(&mut self, pid: u32) -> Result<(), ProbeError> {
        if !Path::new(&format!("/proc/{pid}")).exists() {
            return Err(ProbeError::NoProcess { pid });
        }
        let threads = if is_a_loop(pid) { ONE_THAT_POLLS } else { ALL_THREADS };
        let threads = threads.to_ne_bytes();
        self.watched.insert(pid, threads, 0).map_err(|e| refused("watch another process", e))
    }

    /// Watches a process no longer. One that has ended needs no call: it is dropped by itself, with
    /// its threads.
    ///
    /// # Errors
    /// The kernel's tables cannot be written any more.
    pub fn remove(&mut self, pid: u32) -> Result<(), ProbeError> {
        // It may be gone already, and its threads with it.
        let _ = self.watched.remove(&pid);
        let threads: Vec<_> = self.threads.iter().filter_map(Result::ok).collect();
        for (host, bytes) in threads {
            if Thread::read(&bytes).pid == pid {
                let _ = self.threads.remove(&host);
                let _ = self.moves.remove(&host);
            }
        }
        Ok(())
    }

    /// The hold that a thread is in, if its turn has lasted and was seen to.
    fn open(&self, host: u32, thread: &Thread, now: MonoNs, since: u64) -> Option<Hold> {
        let threshold = self.options.threshold.0.saturating_mul(1_000);
        let length = now.0.saturating_sub(thread.began);
        // The rule of `certain` in the programs.
        let certain = now.0.saturating_sub(thread.began.max(since));
        if thread.began == 0 || since == 0 || length < threshold || certain < threshold / 2 {
            return None;
        }
        let off = if thread.on == 0 { now.0.saturating_sub(thread.off) } else { 0 };
        let (sleeping, waiting) = if thread.asleep { (off, 0) } else { (0, off) };
        let on = if thread.on == 0 { 0 } else { now.0.saturating_sub(thread.on) };
        let delay = thread.delay.saturating_sub(thread.delay_before);
        let delay = if thread.delay_known { delay } else { 0 };
        let asleep_in = if sleeping > thread.slept { thread.off_in } else { thread.slept_in };
        let times = Times {
            length,
            cpu: (thread.cpu + on).saturating_sub(thread.cpu_before),
            delay: delay + waiting,
            slept: thread.slept.max(sleeping),
            asleep_in,
        };
        let moved = self.moves.get(&host, 0).ok();
        let moved = moved.map(|bytes| wire::moved(&mut Reader(&bytes)));
        let moved = moved.filter(|(began, ..)| *began == thread.began);
        let (_, flows, elsewhere) = moved.unwrap_or_default();
        let hold = Hold {
            pid: thread.pid,
            tid: thread.tid,
            comm: self.names.get(&thread.tid).cloned().unwrap_or_default(),
            began: MonoNs(thread.began),
            ..times.hold(HoldState::Open)
        };
        Some(with_flows(hold, flows, elsewhere))
    }
}

/// The parts of a hold, in ns.
struct Times {
    length: u64,
    cpu: u64,
    delay: u64,
    slept: u64,
    asleep_in: u32,
}

impl Times {
    fn hold(&self, state: HoldState) -> Hold {
        let cpu = self.cpu.min(self.length);
        let runnable = self.delay.min(self.length - cpu);
        Hold {
            pid: 0,
            tid: 0,
            comm: String::new(),
            began: MonoNs(0),
            length: Micros(self.length / 1_000),
            state,
            on_cpu: Micros(cpu / 1_000),
            runnable: Micros(runnable / 1_000),
            asleep: Micros((self.length - cpu - runnable) / 1_000),
            asleep_in: (self.slept > 0).then(|| Call::of(self.asleep_in)),
            moved: Vec::new(),
            moved_elsewhere: Bytes(0),
        }
    }
}

fn with_flows(hold: Hold, flows: Vec<Flow>, elsewhere: u64) -> Hold {
    let one = |flow: Flow| Moved {
        local: flow.ends.local,
        remote: flow.ends.remote,
        read: Bytes(flow.read),
        written: Bytes(flow.written),
    };
    let mut moved: Vec<Moved> = flows.into_iter().map(one).collect();
    moved.sort_by_key(|moved| std::cmp::Reverse(moved.read.0 + moved.written.0));
    Hold { moved, moved_elsewhere: Bytes(elsewhere), ..hold }
}

/// A hold that has ended: `struct hold`.
fn closed(bytes: &[u8]) -> Option<Hold> {
    let mut r = Reader(bytes);
    if r.u32() != wire::HOLD {
        return None;
    }
    let (tid, pid, asleep_in) = (r.u32(), r.u32(), r.u32());
    let (began, ended, cpu, delay, slept) = (r.u64(), r.u64(), r.u64(), r.u64(), r.u64());
    let comm = r.name();
    let length = ended.saturating_sub(began);
    let times = Times { length, cpu, delay, slept, asleep_in };
    let (of, flows, elsewhere) = wire::moved(&mut r);
    let hold = Hold { pid, tid, comm, began: MonoNs(began), ..times.hold(HoldState::Closed) };
    Some(if of == began { with_flows(hold, flows, elsewhere) } else { hold })
}

/// The name of a thread; empty: it has ended.
fn comm_of(pid: u32, tid: u32) -> String {
    let name = fs::read_to_string(format!("/proc/{pid}/task/{tid}/comm")).unwrap_or_default();
    name.trim_end().to_owned()
}

/// The thread that attaches the dear hooks while a hold is suspected.
#[derive(Debug)]
struct Guard {
    stop: Arc<AtomicBool>,
    state: Arc<Mutex<Result<u64, ProbeError>>>,
    thread: Option<JoinHandle<()>>,
}

impl Guard {
    fn start(mut engine: Engine) -> Result<Self, ProbeError> {
        let board = engine.value("board")?;
        let armed = engine.value("armed")?;
        let stop = Arc::new(AtomicBool::new(false));
        let state = Arc::new(Mutex::new(Ok(0)));
        let mut alarm =
            Alarm { engine, board, armed, links: Vec::new(), since: 0, last: 0, rest: 0 };
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
        Ok(Self { stop, state, thread: Some(thread) })
    }

    /// Since when the hooks are attached; 0: they are not.
    fn armed(&self) -> Result<u64, ProbeError> {
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
    links: Vec<(crate::engine::Hook, aya::programs::tp_btf::BtfTracePointLinkId)>,
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
        let oldest =
            starts.iter().map(|start| u64::from_ne_bytes(*start)).filter(|at| *at != 0).min();
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

/// Whether a process has one thread and an epoll: a loop, also where it has not come back to its poll for as
/// long as anybody looks. What may not be seen is none.
fn is_a_loop(pid: u32) -> bool {
    let entries =
        |of: &str| fs::read_dir(format!("/proc/{pid}/{of}")).into_iter().flatten().flatten();
    let is_epoll = |at: fs::DirEntry| {
        fs::read_link(at.path()).is_ok_and(|to| to.as_os_str() == "anon_inode:[eventpoll]")
    };
    entries("task").count() == 1 && entries("fd").any(is_epoll)
}
