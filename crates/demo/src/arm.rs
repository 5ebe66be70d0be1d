//! What is known of one arm while its trial runs and after: fed by records, asked by the drawing.
//!
//! Not for: figures of a report. The verdict comes with the summary that the trial itself makes.
//!
//! Invariant: a record changes what is known of the time it tells of, and of nothing else; records
//! may come in any order, and make any claim.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use records::{
    Arm, Bytes, BytesPerSec, DownloadInterval, Fetch, Hold, Holder, ListenerSample, Manifest,
    Micros, MonoNs, Outcome, Phase, PhaseSpan, Record, SchedSample, Stretch, Summary, Watched,
};

use crate::lane::{Cell, Extent, Window, Worker};

/// An arm as it is announced.
#[derive(Clone, Debug, PartialEq)]
pub struct ArmPlan {
    /// What it is called: `starved`, `cured`.
    pub name: String,
    /// The options that set it apart, as typed.
    pub options: String,
    /// All options of its trial.
    pub words: Vec<String>,
    /// Those of them that are new beside the other arm.
    pub change: String,
    /// What these do, in one sentence for a room.
    pub says: String,
    /// The setting of all toggles.
    pub arm: Arm,
}

/// Where its trial stands.
#[derive(Clone, Debug, PartialEq)]
pub enum Stage {
    /// Not started.
    Waiting,
    /// In this phase.
    Running(Phase),
    /// Ended, all its processes too: with a summary, also when it was cut short, or without one, and why.
    Over(Result<Box<Summary>, String>),
}

/// Fetches by how they ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Served.
    pub good: u64,
    /// Not served; what this host could not try is neither.
    pub failed: u64,
}

impl Counts {
    /// All of them.
    pub const fn attempts(self) -> u64 {
        self.good.saturating_add(self.failed)
    }
}

/// All that is known of one arm.
#[derive(Clone, Debug)]
pub struct ArmView {
    /// How it is announced.
    pub plan: ArmPlan,
    /// Where its trial stands.
    pub stage: Stage,
    phases: Vec<PhaseSpan>,
    pub(crate) queues: Vec<Queue>,
    pub(crate) workers: Vec<Worker>,
    /// The download of each client port.
    slots: BTreeMap<u16, u32>,
    pub(crate) fetches: Vec<Fetched>,
    longest: Option<Hold>,
    intervals: VecDeque<(MonoNs, MonoNs, Bytes)>,
    latest: MonoNs,
}

/// A fetch that ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fetched {
    pub(crate) end: MonoNs,
    pub(crate) outcome: Outcome,
    phase: Phase,
    total: Micros,
}

/// A listener's accept queue over time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Queue {
    /// Of which socket, once that is known.
    inode: Option<u64>,
    pub(crate) samples: Vec<(MonoNs, u32)>,
}

/// Workers and listeners are shown up to this many; a record of another is not kept.
const MOST_WORKERS: usize = 256;

impl ArmView {
    /// An arm of which nothing is known but its plan.
    pub fn new(plan: ArmPlan) -> Self {
        let workers = usize::try_from(plan.arm.proxy.workers).unwrap_or(0).min(MOST_WORKERS);
        let listeners = if plan.arm.proxy.reuseport { workers } else { workers.min(1) };
        Self {
            plan,
            stage: Stage::Waiting,
            phases: Vec::new(),
            queues: vec![Queue::default(); listeners],
            workers: vec![Worker::default(); workers],
            slots: BTreeMap::new(),
            fetches: Vec::new(),
            longest: None,
            intervals: VecDeque::new(),
            latest: MonoNs(0),
        }
    }

    /// The manifest as it is now: phases and listeners.
    pub fn manifest(&mut self, manifest: &Manifest) {
        self.phases.clone_from(&manifest.phases);
        for inode in &manifest.listeners {
            self.queue_of(*inode);
        }
        if let (Stage::Running(_), Some(last)) = (&self.stage, manifest.phases.last()) {
            self.stage = Stage::Running(last.phase);
        }
    }

    /// A record of its trial.
    pub fn take(&mut self, record: &Record) {
        match record {
            Record::Fetch(fetch) => self.fetch(fetch),
            Record::Dialed(dialed) => {
                self.slots.insert(dialed.client_port, dialed.slot);
            }
            Record::DownloadInterval(interval) => self.interval(interval),
            Record::Hold(hold) => self.hold(hold),
            Record::Stretch(stretch) => self.stretch(stretch),
            Record::SchedSample(sample) => self.sched(sample),
            Record::ListenerSample(sample) => self.queue(sample),
            _ => {}
        }
    }

    /// Its summary, once there is one.
    pub fn summary(&self) -> Option<&Summary> {
        match &self.stage {
            Stage::Over(Ok(summary)) => Some(summary),
            _ => None,
        }
    }

    /// Fetches without load.
    pub fn idle(&self) -> Counts {
        self.counts(|phase| phase == Phase::Idle)
    }

    /// Fetches under load.
    pub fn load(&self) -> Counts {
        self.counts(|phase| phase != Phase::Idle)
    }

    fn counts(&self, wanted: impl Fn(Phase) -> bool) -> Counts {
        let mut counts = Counts::default();
        for fetch in self.fetches.iter().filter(|fetch| wanted(fetch.phase)) {
            match fetch.outcome {
                Outcome::Ok => counts.good += 1,
                _ => counts.failed += 1,
            }
        }
        counts
    }

    /// The longest step told since the downloads began to start, and whom it served.
    pub fn longest(&self) -> Option<(&Hold, Holder)> {
        self.longest.as_ref().map(|hold| (hold, self.holder(hold)))
    }

    fn holder(&self, hold: &Hold) -> Holder {
        let slot = self.slots.get(&hold.client_port);
        slot.map_or(Holder::Session(hold.session), |slot| Holder::Download(*slot))
    }

    /// What the downloads received in the last second that was told.
    pub fn rate(&self) -> Option<BytesPerSec> {
        let ((start, ..), (_, end, _)) = (self.intervals.front()?, self.intervals.back()?);
        let bytes: Bytes = self.intervals.iter().map(|&(_, _, bytes)| bytes).sum();
        Some(bytes.per(end.since(*start)))
    }

    /// The time by which half of the fetches of `phase` had ended, failed ones at their true age.
    pub fn median(&self, phase: Phase) -> Option<Micros> {
        let of_phase = self.fetches.iter().filter(|fetch| fetch.phase == phase);
        stats::median_whole(of_phase.map(|fetch| fetch.total.0)).map(Micros)
    }

    /// What to show at `now` in `count` cells: about the last `length` of it while the trial runs, all
    /// of its load once it is over.
    pub(crate) fn window(&self, now: MonoNs, length: Duration, count: usize) -> Window {
        let whole = matches!(self.stage, Stage::Over(_)).then(|| self.load_span()).flatten();
        whole.unwrap_or_else(|| Window::before(now, length, count))
    }

    fn load_span(&self) -> Option<Window> {
        let load = self.phases.iter().find(|span| span.phase == Phase::Load)?;
        let down = self.phases.iter().find(|span| span.phase == Phase::Teardown);
        let end = down.map_or(self.latest, |span| span.start_ns);
        let whole = Window { start: load.start_ns, end, extent: Extent::Load };
        (load.start_ns < end).then_some(whole)
    }

    /// The longest that any queue was.
    pub(crate) fn longest_queue(&self) -> u32 {
        let samples = self.queues.iter().flat_map(|queue| &queue.samples);
        samples.map(|(_, length)| *length).max().unwrap_or(0)
    }

    /// When the phase in progress began.
    pub(crate) fn phase_began(&self) -> Option<MonoNs> {
        self.phases.last().map(|span| span.start_ns)
    }

    fn fetch(&mut self, fetch: &Fetch) {
        let &Fetch { outcome, phase, total_us: total, .. } = fetch;
        let end = fetch.start_ns + total.as_duration();
        self.seen(end);
        // Of what this host could not try, nobody was asked.
        if outcome != Outcome::LocalError {
            self.fetches.push(Fetched { end, outcome, phase, total });
        }
    }

    fn interval(&mut self, interval: &DownloadInterval) {
        const KEPT: Duration = Duration::from_secs(1);
        let &DownloadInterval { start_ns, end_ns, ref bytes } = interval;
        self.seen(end_ns);
        self.intervals.push_back((start_ns, end_ns, bytes.iter().copied().sum()));
        while self.intervals.front().is_some_and(|(start, ..)| end_ns.since(*start) > KEPT) {
            self.intervals.pop_front();
        }
    }

    fn hold(&mut self, hold: &Hold) {
        // What an idle machine does is the baseline's matter.
        let loaded = self.phases.iter().any(|span| span.phase == Phase::Load);
        let longer = |longest: &Hold| longest.length_us() < hold.length_us();
        if loaded && self.longest.as_ref().is_none_or(longer) {
            self.longest = Some(*hold);
        }
        self.span(hold.worker, hold.start_ns, hold.end_ns, Cell::Held(self.holder(hold)));
    }

    fn stretch(&mut self, stretch: &Stretch) {
        let asleep = stretch.poll_us.0.saturating_mul(2) >= stretch.length_us().0;
        let kind = if asleep { Cell::Asleep } else { Cell::Turning };
        self.span(stretch.worker, stretch.start_ns, stretch.end_ns, kind);
    }

    fn span(&mut self, worker: u32, start: MonoNs, end: MonoNs, what: Cell) {
        self.seen(end);
        if let Some(worker) = self.worker(worker) {
            worker.told(start, end, what);
        }
    }

    fn sched(&mut self, sample: &SchedSample) {
        let Watched::Worker(worker) = sample.who else { return };
        let awake = sample.run_ns.saturating_add(sample.run_wait_ns);
        if let Some(worker) = self.worker(worker) {
            worker.watched(sample.at_ns, awake);
        }
    }

    /// The worker by its number. A foreign proxy may have more of them than were asked for.
    fn worker(&mut self, number: u32) -> Option<&mut Worker> {
        let index = usize::try_from(number).ok().filter(|index| *index < MOST_WORKERS)?;
        if index >= self.workers.len() {
            self.workers.resize(index + 1, Worker::default());
        }
        self.workers.get_mut(index)
    }

    fn queue(&mut self, sample: &ListenerSample) {
        self.seen(sample.at_ns);
        if let Some(queue) = self.queue_of(sample.inode) {
            queue.samples.push((sample.at_ns, sample.queue));
        }
    }

    /// The queue of a listener: the next one that is nobody's when it was not heard of before.
    fn queue_of(&mut self, inode: u64) -> Option<&mut Queue> {
        let those = |of| move |queue: &Queue| queue.inode == of;
        let known = self.queues.iter().position(those(Some(inode)));
        let index = known.or_else(|| self.queues.iter().position(those(None)));
        let index = index.unwrap_or(self.queues.len());
        if index == self.queues.len() && index < MOST_WORKERS {
            self.queues.push(Queue::default());
        }
        let queue = self.queues.get_mut(index)?;
        queue.inode = Some(inode);
        Some(queue)
    }

    fn seen(&mut self, at: MonoNs) {
        self.latest = self.latest.max(at);
    }
}

impl Queue {
    /// What was seen last by `now`.
    pub(crate) fn at(&self, now: MonoNs) -> u32 {
        let before = self.samples.iter().rev().find(|(at, _)| *at <= now);
        before.map_or(0, |(_, queue)| *queue)
    }
}
