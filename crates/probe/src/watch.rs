//! A watch of live processes.

use std::collections::{BTreeMap, BTreeSet, HashMap as Names};
use std::fmt;
use std::path::Path;
use std::time::Duration;

use aya::maps::{HashMap, MapData};
use records::{Micros, MonoNs, StepHistogram};

use crate::engine::{
    ALL_THREADS, ARMED, ENDED, Engine, HELD, RECEIVED, SWITCHED, Told, Way, namespace, refused,
};
use crate::error::ProbeError;
use crate::guard::Guard;
use crate::hold::{CountedFrom, Hold, HoldOptions, HoldState, Seen, Turns};
use crate::process;
use crate::stacks::{Stack, Stacks};
use crate::wire::{self, Item, Lasted, MovedBytes, StackSample, Thread};

/// How often [`Watch::read`] wants to be called: the ring of closed holds has room for 1,700, and an
/// open hold is told no later than this after it passed the threshold.
pub const READ_EVERY: Duration = Duration::from_millis(200);

/// How often a process is looked at for a loop that is held already.
const LOOKS: u32 = 5;

/// For how long after a process was added polls are seen that do not sleep: a loop that is never idle has no
/// others.
const SEEN_ALL: Duration = Duration::from_millis(100);

/// Processes being watched. Dropped, or with the end of this process, however it ends, nothing of it
/// stays in the kernel.
pub struct Watch {
    options: HoldOptions,
    watched: HashMap<MapData, u32, [u8; 4]>,
    moves: HashMap<MapData, u32, [u8; wire::MOVED]>,
    /// Where those that sleep fell asleep.
    asleep_at: HashMap<MapData, u32, [u8; wire::STACK]>,
    stacks: Stacks,
    no_stacks: Option<ProbeError>,
    told: Told,
    names: Names<u32, String>,
    /// Processes whose loops may be held since before they were watched.
    fresh: Vec<Fresh>,
    /// When the last was added.
    added: MonoNs,
    /// Starts of turns that were under way already, by thread.
    underway: BTreeMap<u32, u64>,
    /// Whether the kernel's own ids of threads are those of this namespace.
    is_first_namespace: bool,
    guard: Guard,
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch").field("options", &self.options).finish_non_exhaustive()
    }
}

/// A process that was just added.
struct Fresh {
    pid: u32,
    looks: u32,
    /// Threads that were out of their poll at the last look.
    out: BTreeSet<u32>,
}

impl Watch {
    /// Watches all threads of the processes `targets`, numbered as in this PID namespace, and tells
    /// their holds. A thread is told of from its first return from a poll on; a loop that is held already,
    /// from the second look on. Returns when the hooks are in place.
    ///
    /// # Errors
    /// There is no such process, or this host does not allow it; the message says what is missing.
    pub fn holds(targets: &[u32], options: HoldOptions) -> Result<Self, ProbeError> {
        let always = [ENDED, RECEIVED, SWITCHED];
        let hooks = [&always[..], &ARMED].concat();
        let mut engine = Engine::load(Way::Holds(options.threshold), &hooks)?;
        let (watched, moves) = (engine.table("watched")?, engine.table("moves")?);
        let asleep_at = engine.table("asleep_at")?;
        let told = engine.told()?;
        for hook in always {
            engine.attach(hook)?;
        }
        // Some hosts do not allow it: then all else is told.
        let sampler = engine.load_sampler(HELD).and_then(|()| engine.attach_sampler(HELD));
        let no_stacks = sampler.and_then(|links| engine.detach_sampler(HELD, links)).err();
        let stacks_from = no_stacks.is_none().then_some(options.threshold);
        let mut watch = Self {
            options,
            watched,
            moves,
            asleep_at,
            stacks: Stacks::default(),
            no_stacks,
            told,
            names: Names::new(),
            fresh: Vec::new(),
            added: MonoNs(0),
            underway: BTreeMap::new(),
            is_first_namespace: namespace()? == 0,
            guard: Guard::start(engine, stacks_from)?,
        };
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
        let mut seen = Seen { at: now, lost: self.told.lost()?, ..Seen::default() };
        let (mut closed, mut samples, mut open) = (Vec::new(), Vec::new(), Vec::new());
        while let Some(item) = self.told.ring.next().map(|item| Item::read(&item)) {
            match item {
                Item::Stack(sample) => samples.push(sample),
                Item::Lasted(turn) => closed.push(*turn),
            }
        }
        let threads = self.told.threads();
        let mut names = std::mem::take(&mut self.names);
        for (host, thread) in &threads {
            let known = names.remove(&thread.tid);
            let comm = known.unwrap_or_else(|| process::comm(thread.pid, thread.tid));
            self.names.insert(thread.tid, comm.clone());
            let turn = (thread.began != 0).then(|| thread.turn(since, now.0, comm.clone()));
            if let Some(mut turn) = turn.filter(|turn| self.lasts(turn, since)) {
                if let Ok(bytes) = self.moves.get(host, 0) {
                    turn.moved = MovedBytes::read(&bytes, thread.began);
                }
                open.push((turn, thread, self.asleep_at(*host, thread)));
            }
            if thread.total > 0 {
                seen.turns.push(Turns {
                    pid: thread.pid,
                    tid: thread.tid,
                    comm,
                    turns_us: Micros(thread.total / 1_000),
                    turn_lengths: StepHistogram(thread.turns.clone()),
                });
            }
        }
        // Names take a while at first: nothing above waits for them.
        samples.iter().for_each(|sample| self.stacks.take(sample));
        for turn in closed {
            let stacks = self.stacks.closed(turn.tid, turn.began, turn.ended);
            seen.closed.push(self.hold(turn, HoldState::Closed, stacks));
        }
        for (turn, thread, asleep) in open {
            let stacks = self.stacks.open(thread, asleep.as_ref(), now.0);
            seen.open.push(self.hold(turn, HoldState::Open, stacks));
        }
        seen.open.sort_by_key(|hold| std::cmp::Reverse(hold.length_us));
        seen.turns.sort_by_key(|turns| (turns.pid, turns.tid));
        self.look_for_held(&threads, now.0);
        self.stacks.forget(&threads, now);
        Ok(seen)
    }

    /// Why the holds have no stacks of threads that run; `None`: they have.
    pub fn no_stacks(&self) -> Option<&ProbeError> {
        self.no_stacks.as_ref()
    }

    /// Watches another process, as one that a watched one has forked; or again one that became another
    /// program.
    ///
    /// # Errors
    /// There is no such process.
    pub fn add(&mut self, pid: u32) -> Result<(), ProbeError> {
        if !Path::new(&format!("/proc/{pid}")).exists() {
            return Err(ProbeError::NoProcess { pid });
        }
        let threads = ALL_THREADS.to_ne_bytes();
        self.watched.insert(pid, threads, 0).map_err(|e| refused("watch another process", e))?;
        let out = process::out_of_poll(pid).into_keys().collect();
        self.fresh.push(Fresh { pid, looks: 0, out });
        self.added = net::clock::now();
        self.guard.suspect(Some(self.added.0));
        Ok(())
    }

    /// Whether a turn under way is a hold, and was seen to be one: the rule of `certain` in the programs.
    fn lasts(&self, turn: &Lasted, since: u64) -> bool {
        let threshold = self.options.threshold.0.saturating_mul(1_000);
        let certain = turn.ended.saturating_sub(turn.began.max(since));
        since != 0 && turn.ended.saturating_sub(turn.began) >= threshold && certain >= threshold / 2
    }

    fn hold(&self, turn: Lasted, state: HoldState, stacks: Vec<Stack>) -> Hold {
        let was_underway = self.underway.get(&turn.tid) == Some(&turn.began);
        let counted_from = if was_underway { CountedFrom::Watch } else { turn.counted_from };
        Hold::of(Lasted { counted_from, ..turn }, state, stacks)
    }

    /// Where a thread fell asleep, if it sleeps.
    fn asleep_at(&self, host: u32, thread: &Thread) -> Option<StackSample> {
        let since = thread.asleep_since()?;
        let sample = StackSample::read(&self.asleep_at.get(&host, 0).ok()?);
        (sample.at == since).then_some(sample)
    }

    /// Nobody sees a loop that is held already come out of its poll: one that is out of it at two looks
    /// in a row, and was not seen to poll between them, is put into the table as in its turn.
    fn look_for_held(&mut self, threads: &[(u32, Thread)], now: u64) {
        let of = |tid: u32| threads.iter().find(|(_, thread)| thread.tid == tid);
        for mut fresh in std::mem::take(&mut self.fresh) {
            if fresh.out.is_empty() {
                continue;
            }
            let out = process::out_of_poll(fresh.pid);
            for (&tid, &asleep_in) in out.iter().filter(|(tid, _)| fresh.out.contains(tid)) {
                let known = of(tid);
                let polls = known.is_some_and(|(_, thread)| thread.total > 0 || thread.began > 0);
                let host = known.map(|(host, _)| *host).or(self.is_first_namespace.then_some(tid));
                let turn = Thread::out_of_poll(fresh.pid, tid, now, asleep_in);
                if let Some(host) = host.filter(|_| !polls)
                    && self.told.place(host, &turn)
                {
                    self.underway.insert(tid, now);
                }
            }
            fresh.out = out.into_keys().collect();
            fresh.looks += 1;
            if fresh.looks < LOOKS {
                self.fresh.push(fresh);
            }
        }
        let lasts = |(tid, began): (&u32, &u64)| {
            of(*tid).filter(|(_, thread)| thread.began == *began).map(|_| *began)
        };
        // The programs have not marked these turns as under way.
        let underway = self.underway.iter().filter_map(lasts).min();
        let is_new = now < (self.added + SEEN_ALL).0;
        self.guard.suspect(underway.or(is_new.then_some(self.added.0)));
    }
}
