//! What is known of one arm while its trial runs and after: fed by records, asked by the drawing.
//!
//! Not for: figures of a report. The verdict comes with the summary that the trial itself makes.
//!
//! Invariant: a record changes what is known of the time it tells of, and of nothing else; records
//! may come in any order, and make any claim.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use records::{
    Arm, Bytes, BytesPerSec, DownloadInterval, Fetch, Hold, ListenerSample, Manifest, Micros,
    MonoNs, Outcome, Phase, PhaseSpan, Record, SchedSample, Stretch, Summary, Watched,
};

use crate::lane::{Extent, Holder, Span, SpanKind, Window, Worker};

/// An arm as it is announced.
#[derive(Clone, Debug, PartialEq)]
pub struct ArmPlan {
    /// What it is called: `starved`, `cured`.
    pub name: String,
    /// The options that set it apart, as typed.
    pub options: String,
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
    /// Ended, all its processes too.
    Over(Ending),
}

/// How a trial ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Ending {
    /// With a summary, also when it was cut short.
    Judged(Box<Summary>),
    /// Without one; the last words tell why.
    Broken(String),
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

/// The longest step that was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Longest {
    /// Its worker, from 0.
    pub worker: u32,
    /// Whom it served.
    pub holder: Holder,
    /// Its length.
    pub length: Micros,
    /// What it moved.
    pub bytes: Bytes,
}

/// All that is known of one arm.
#[derive(Clone, Debug)]
pub struct ArmView {
    plan: ArmPlan,
    stage: Stage,
    phases: Vec<PhaseSpan>,
    /// Inodes, by listener.
    listeners: Vec<u64>,
    queues: Vec<Queue>,
    workers: Vec<Worker>,
    /// The download of each client port.
    slots: BTreeMap<u16, u32>,
    fetches: Vec<Mark>,
    idle: Counts,
    load: Counts,
    longest: Option<Longest>,
    intervals: VecDeque<(MonoNs, MonoNs, Bytes)>,
    latest: MonoNs,
}

/// A fetch that ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mark {
    pub(crate) end: MonoNs,
    pub(crate) fate: Fate,
    phase: Phase,
    total: Micros,
}

/// Whether a fetch was served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Good,
    Failed,
}

/// A listener's accept queue over time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Queue {
    pub(crate) samples: Vec<(MonoNs, u32)>,
}

/// Workers and listeners are shown up to this many; a record of another is not kept.
const MOST_WORKERS: usize = 256;

impl ArmView {
    /// An arm of which nothing is known but its plan.
    pub fn new(plan: ArmPlan) -> Self {
        let workers = usize::try_from(plan.arm.workers).unwrap_or(0).min(MOST_WORKERS);
        let listeners = if plan.arm.reuseport { workers } else { workers.min(1) };
        Self {
            plan,
            stage: Stage::Waiting,
            phases: Vec::new(),
            listeners: Vec::new(),
            queues: vec![Queue::default(); listeners],
            workers: vec![Worker::default(); workers],
            slots: BTreeMap::new(),
            fetches: Vec::new(),
            idle: Counts::default(),
            load: Counts::default(),
            longest: None,
            intervals: VecDeque::new(),
            latest: MonoNs(0),
        }
    }

    /// Its trial was started.
    pub fn started(&mut self) {
        self.stage = Stage::Running(Phase::Setup);
    }

    /// The manifest as it is now: phases and listeners.
    pub fn manifest(&mut self, manifest: &Manifest) {
        self.phases.clone_from(&manifest.phases);
        if !manifest.listeners.is_empty() {
            self.listeners.clone_from(&manifest.listeners);
            self.listeners.truncate(MOST_WORKERS);
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

    /// Its trial is over.
    pub fn over(&mut self, ending: Ending) {
        self.stage = Stage::Over(ending);
    }

    /// How it is announced.
    pub const fn plan(&self) -> &ArmPlan {
        &self.plan
    }

    /// Where its trial stands.
    pub const fn stage(&self) -> &Stage {
        &self.stage
    }

    /// Its summary, once there is one.
    pub fn summary(&self) -> Option<&Summary> {
        match &self.stage {
            Stage::Over(Ending::Judged(summary)) => Some(summary),
            _ => None,
        }
    }

    /// Fetches without load.
    pub const fn idle(&self) -> Counts {
        self.idle
    }

    /// Fetches under load.
    pub const fn load(&self) -> Counts {
        self.load
    }

    /// The longest step told since the downloads began to start.
    pub const fn longest(&self) -> Option<Longest> {
        self.longest
    }

    /// What the downloads received in the last second that was told.
    pub fn rate(&self) -> Option<BytesPerSec> {
        let ((start, ..), (_, end, _)) = (self.intervals.front()?, self.intervals.back()?);
        let bytes: Bytes = self.intervals.iter().map(|&(_, _, bytes)| bytes).sum();
        Some(bytes.per(end.since(*start)))
    }

    /// The time by which half of the fetches of `phase` had ended, failed ones at their true age.
    pub fn median(&self, phase: Phase) -> Option<Micros> {
        let of_phase = self.fetches.iter().filter(|mark| mark.phase == phase);
        let mut times: Vec<Micros> = of_phase.map(|mark| mark.total).collect();
        times.sort_unstable();
        times.get(times.len().checked_sub(1)? / 2).copied()
    }

    /// Connections in each listener's queue when last seen by `now`; empty where nobody could look.
    pub fn queued(&self, now: MonoNs) -> Vec<u32> {
        let seen = self.queues.iter().filter(|queue| !queue.samples.is_empty());
        seen.map(|queue| queue.at(now)).collect()
    }

    /// What to show at `now` in `count` cells: about the last `length` of it while the trial runs, all
    /// of its load once it is over.
    pub(crate) fn window(&self, now: MonoNs, length: Duration, count: usize) -> (Window, Extent) {
        let whole = matches!(self.stage, Stage::Over(_)).then(|| self.load_span()).flatten();
        whole.map_or_else(
            || (Window::before(now, length, count), Extent::Lately),
            |window| (window, Extent::Load),
        )
    }

    fn load_span(&self) -> Option<Window> {
        let load = self.phases.iter().find(|span| span.phase == Phase::Load)?;
        let down = self.phases.iter().find(|span| span.phase == Phase::Teardown);
        let end = down.map_or(self.latest, |span| span.start_ns);
        (load.start_ns < end).then_some(Window { start: load.start_ns, end })
    }

    pub(crate) fn workers(&self) -> &[Worker] {
        &self.workers
    }

    pub(crate) fn queues(&self) -> &[Queue] {
        &self.queues
    }

    pub(crate) fn fetches(&self) -> &[Mark] {
        &self.fetches
    }

    /// When the phase in progress began.
    pub(crate) fn phase_began(&self) -> Option<MonoNs> {
        self.phases.last().map(|span| span.start_ns)
    }

    fn fetch(&mut self, fetch: &Fetch) {
        let end = fetch.start_ns + fetch.total_us.as_duration();
        self.seen(end);
        let fate = match fetch.outcome {
            Outcome::Ok => Fate::Good,
            // Nobody was asked.
            Outcome::LocalError => return,
            _ => Fate::Failed,
        };
        let counts = if fetch.phase == Phase::Idle { &mut self.idle } else { &mut self.load };
        match fate {
            Fate::Good => counts.good += 1,
            Fate::Failed => counts.failed += 1,
        }
        self.fetches.push(Mark { end, fate, phase: fetch.phase, total: fetch.total_us });
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
        let slot = self.slots.get(&hold.client_port);
        let holder = slot.map_or(Holder::Other, |slot| Holder::Download(*slot));
        let length = hold.length_us();
        // What an idle machine does is the baseline's matter.
        let loaded = self.phases.iter().any(|span| span.phase == Phase::Load);
        if loaded && self.longest.is_none_or(|longest| longest.length < length) {
            let Hold { worker, bytes, .. } = *hold;
            self.longest = Some(Longest { worker, holder, length, bytes });
        }
        self.span(hold.worker, hold.start_ns, hold.end_ns, SpanKind::Hold(holder));
    }

    fn stretch(&mut self, stretch: &Stretch) {
        let asleep = stretch.poll_us.0.saturating_mul(2) >= stretch.length_us().0;
        let kind = if asleep { SpanKind::Asleep } else { SpanKind::Turning };
        self.span(stretch.worker, stretch.start_ns, stretch.end_ns, kind);
    }

    fn span(&mut self, worker: u32, start: MonoNs, end: MonoNs, kind: SpanKind) {
        self.seen(end);
        if let Some(worker) = self.worker(worker) {
            worker.told(Span { start, end, kind });
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
        let known = self.listeners.iter().position(|inode| *inode == sample.inode);
        let index = known.unwrap_or_else(|| {
            self.listeners.push(sample.inode);
            self.listeners.len() - 1
        });
        if index >= MOST_WORKERS {
            self.listeners.truncate(MOST_WORKERS);
            return;
        }
        if index >= self.queues.len() {
            self.queues.resize(index + 1, Queue::default());
        }
        self.seen(sample.at_ns);
        if let Some(queue) = self.queues.get_mut(index) {
            queue.samples.push((sample.at_ns, sample.queue));
        }
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
