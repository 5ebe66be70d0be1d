//! A watch of live processes.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;
use std::time::Duration;

use aya::maps::{HashMap, MapData};
use aya::programs::tp_btf::BtfTracePointLink;
use records::{Bytes, Micros, MonoNs, StepHistogram};
use zerocopy::FromBytes;

use crate::calls::Call;
use crate::engine::{
    ALL_THREADS, ARMED, ENDED, Engine, HELD, RECEIVED, SWITCHED, Told, Way, namespace,
};
use crate::error::ProbeError;
use crate::guard::Guard;
use crate::hold::{CountedFrom, Hold, HoldState, Moved, Seen, Stack, Turns};
use crate::process;
use crate::stacks::Stacks;
use crate::wire::{self, Ends, Moves, StackSample, Thread, Turn, micros};

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
    threshold: Micros,
    watched: HashMap<MapData, u32, u32>,
    moves: HashMap<MapData, u32, [u8; wire::MOVED]>,
    /// Where those that sleep fell asleep.
    asleep_at: HashMap<MapData, u32, [u8; wire::STACK]>,
    stacks: Stacks,
    no_stacks: Option<ProbeError>,
    told: Told,
    /// Processes whose loops may be held since before they were watched.
    fresh: Vec<Fresh>,
    /// When the last was added.
    added: MonoNs,
    /// Starts of turns that were under way already, by thread.
    underway: BTreeMap<u32, u64>,
    /// Whether the kernel's own ids of threads are those of this namespace.
    is_first_namespace: bool,
    guard: Guard,
    /// The hooks that are always there.
    _always: Vec<BtfTracePointLink>,
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch").field("threshold", &self.threshold).finish_non_exhaustive()
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
    /// their holds: turns of the length `threshold` or longer, 50 ms at least. (A turn is suspected after
    /// 20 ms, and only from then on is it known to be one.) A thread is told of from its first return from a
    /// poll on; a loop that is held already, from the second look on. Returns when the hooks are in place.
    ///
    /// # Errors
    /// There is no such process, or this host does not allow it; the message says what is missing.
    pub fn holds(targets: &[u32], threshold: Micros) -> Result<Self, ProbeError> {
        let always = [ENDED, RECEIVED, SWITCHED];
        let mut engine = Engine::load(Way::Holds(threshold), &[&always[..], &ARMED].concat())?;
        let (watched, moves) = (engine.map("watched")?, engine.map("moves")?);
        let (asleep_at, told) = (engine.map("asleep_at")?, engine.told()?);
        let always = always.into_iter().map(|hook| engine.attach(hook));
        let always = always.collect::<Result<Vec<_>, _>>()?;
        // Some hosts do not allow it: then all else is told.
        let sampler = engine.load_sampler(HELD).and_then(|()| engine.attach_sampler(HELD));
        let no_stacks = sampler.err();
        let stacks_from = no_stacks.is_none().then_some(threshold);
        let mut watch = Self {
            threshold,
            watched,
            moves,
            asleep_at,
            stacks: Stacks::default(),
            no_stacks,
            told,
            fresh: Vec::new(),
            added: MonoNs(0),
            underway: BTreeMap::new(),
            is_first_namespace: namespace()? == 0,
            guard: Guard::start(engine, stacks_from)?,
            _always: always,
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
        while let Some(item) = self.told.ring.next() {
            match StackSample::read(&item) {
                Some(sample) => samples.push(sample),
                None => closed.extend(Turn::read(&item)),
            }
        }
        let threads = self.told.threads();
        for (host, thread) in &threads {
            let &Thread { pid, tid, began, total, .. } = thread;
            // Only those that poll have turns: few, however many threads there are.
            let comm = || process::comm(pid, tid);
            let turn = (began != 0).then(|| thread.turn(since, now.0));
            if let Some(mut turn) = turn.filter(|turn| self.lasts(turn, since)) {
                let moved = self.moves.get(host, 0).ok();
                let moved = moved.and_then(|bytes| Moves::read_from_bytes(&bytes).ok());
                if let Some(moved) = moved.filter(|moved| moved.began == began) {
                    turn.moved = moved;
                    turn.moved.began = turn.began;
                }
                open.push((turn, comm(), thread, self.asleep_at(*host, thread)));
            }
            if total > 0 {
                let turn_lengths = StepHistogram(thread.turns.to_vec());
                let turns_us = micros(total);
                seen.turns.push(Turns { pid, tid, comm: comm(), turns_us, turn_lengths });
            }
        }
        // Names take a while at first: nothing above waits for them.
        samples.iter().for_each(|sample| self.stacks.take(sample));
        for turn in closed {
            let stacks = self.stacks.closed(turn.tid, turn.began, turn.ended);
            seen.closed.push(self.hold(&turn, turn.comm(), HoldState::Closed, stacks));
        }
        for (turn, comm, thread, asleep) in open {
            let stacks = self.stacks.open(thread, asleep.as_ref(), now.0);
            seen.open.push(self.hold(&turn, comm, HoldState::Open, stacks));
        }
        seen.open.sort_by_key(|hold| Reverse(hold.length_us));
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
            return Err(ProbeError::Gone { pid, tid: pid });
        }
        let added = self.watched.insert(pid, ALL_THREADS, 0);
        added.map_err(ProbeError::refused("watch another process"))?;
        let out = process::out_of_poll(pid).into_keys().collect();
        self.fresh.push(Fresh { pid, looks: 0, out });
        self.added = net::clock::now();
        self.guard.suspect(Some(self.added.0));
        Ok(())
    }

    /// Whether a turn under way is a hold, and was seen to be one: the rule of `certain` in the programs.
    fn lasts(&self, turn: &Turn, since: u64) -> bool {
        let threshold = self.threshold.0.saturating_mul(1_000);
        let certain = turn.ended.saturating_sub(turn.began.max(since));
        since != 0 && turn.ended.saturating_sub(turn.began) >= threshold && certain >= threshold / 2
    }

    fn hold(&self, turn: &Turn, comm: String, state: HoldState, stacks: Vec<Stack>) -> Hold {
        let length = turn.ended.saturating_sub(turn.began);
        let on_cpu = turn.cpu.min(length);
        let runnable = turn.delay.min(length - on_cpu);
        let was_underway = self.underway.get(&turn.tid) == Some(&turn.began);
        let is_late = turn.late != 0 || was_underway;
        let bytes = |ends: Ends, read, written| {
            let (local, remote) = (ends.local(), ends.remote());
            Moved { local, remote, read: Bytes(read), written: Bytes(written) }
        };
        let moves = Some(&turn.moved).filter(|moved| moved.began == turn.began);
        let flows = moves.into_iter().flat_map(Moves::flows);
        let mut moved: Vec<_> =
            flows.map(|flow| bytes(flow.ends, flow.read, flow.written)).collect();
        moved.sort_by_key(|moved| Reverse(moved.read + moved.written));
        Hold {
            state,
            pid: turn.pid,
            tid: turn.tid,
            comm,
            began_ns: MonoNs(turn.began),
            counted_from: if is_late { CountedFrom::Watch } else { CountedFrom::Poll },
            length_us: micros(length),
            on_cpu_us: micros(on_cpu),
            runnable_us: micros(runnable),
            asleep_us: micros(length - on_cpu - runnable),
            asleep_in: (turn.slept > 0).then(|| Call::of(turn.slept_in)),
            asked: turn.asked.known().map(|ends| bytes(ends, 0, 0)),
            moved,
            moved_elsewhere: Bytes(moves.map_or(0, |moves| moves.elsewhere)),
            stacks,
        }
    }

    /// Where a thread fell asleep, if it sleeps.
    fn asleep_at(&self, host: u32, thread: &Thread) -> Option<StackSample> {
        let since = thread.asleep_since()?;
        let sample = StackSample::read(&self.asleep_at.get(&host, 0).ok()?)?;
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
