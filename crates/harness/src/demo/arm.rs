//! What is known of a trial while it runs and after: its records, as far as they are there.
//!
//! Invariant: what moves comes from records, in any order. What none tells yet is shown as silence.

use std::path::PathBuf;
use std::time::Duration;

use records::{
    Arm, ArmSpec, Fetch, Hold, Holder, Micros, MonoNs, Outcome, Phase, RunRecords, Stretch, Summary,
};

/// Where its trial stands.
#[derive(Clone, Debug)]
pub enum Stage {
    /// Not started.
    Waiting,
    /// Its phases tell how far it is.
    Running,
    /// Ended, all its processes too: with a summary, also when it was cut short, or without one, and why.
    Over(Result<Box<Summary>, String>),
}

/// All that is known of one arm.
#[derive(Clone, Debug)]
pub struct ArmView {
    /// What it is called, `starved` or `cured`, and all options of its trial.
    pub spec: ArmSpec,
    /// The options that set it apart, as typed.
    pub options: String,
    /// What these do, in one sentence for a room.
    pub says: &'static str,
    /// The setting of all toggles.
    pub arm: Arm,
    /// Where its trial stands.
    pub stage: Stage,
    /// Where its run directory is made.
    pub(super) place: Option<PathBuf>,
    /// What it has recorded by now.
    pub(super) records: RunRecords,
}

impl ArmView {
    /// An arm of which nothing is known but its plan.
    pub fn new(spec: ArmSpec, options: String, says: &'static str, arm: Arm) -> Self {
        let (stage, place, records) = (Stage::Waiting, None, RunRecords::default());
        Self { spec, options, says, arm, stage, place, records }
    }

    /// The phase in progress, or the last.
    pub(super) fn phase(&self) -> Option<Phase> {
        self.records.manifest.phases.last().map(|span| span.phase)
    }

    /// When a phase began, if it did.
    pub(super) fn began(&self, phase: Phase) -> Option<MonoNs> {
        let mut phases = self.records.manifest.phases.iter();
        phases.find(|span| span.phase == phase).map(|span| span.start_ns)
    }

    /// When its load ended, as far as is known.
    pub(super) fn load_ended(&self) -> Option<MonoNs> {
        let told = || self.records.stretches.iter().map(|stretch| stretch.end_ns).max();
        self.began(Phase::Teardown).or_else(told)
    }

    /// Its summary, once there is one.
    pub fn summary(&self) -> Option<&Summary> {
        match &self.stage {
            Stage::Over(Ok(summary)) => Some(summary),
            _ => None,
        }
    }

    /// Fetches without load, or those under load. Of what this host could not try, nobody was asked.
    pub(super) fn fetches(&self, idle: bool) -> impl Iterator<Item = &Fetch> {
        let fetches = self.records.fetches.iter();
        let tried = fetches.filter(|fetch| fetch.outcome != Outcome::LocalError);
        tried.filter(move |fetch| (fetch.phase == Phase::Idle) == idle)
    }

    /// Those of them that failed, and all.
    pub(super) fn counts(&self, idle: bool) -> (usize, usize) {
        let failed = self.fetches(idle).filter(|fetch| fetch.outcome.is_failed());
        (failed.count(), self.fetches(idle).count())
    }

    /// The time by which half of the idle fetches had ended.
    pub(super) fn idle_median(&self) -> Option<Micros> {
        let mut times: Vec<Micros> = self.fetches(true).map(|fetch| fetch.total_us).collect();
        times.sort_unstable();
        times.get(times.len() / 2).copied()
    }

    /// The long steps of a worker, and what it told of its time beside them.
    pub(super) fn of_worker(&self, worker: u32) -> (Vec<&Hold>, Vec<&Stretch>) {
        let RunRecords { holds, stretches, .. } = &self.records;
        let holds = holds.iter().filter(|hold| hold.worker == worker).collect();
        (holds, stretches.iter().filter(|stretch| stretch.worker == worker).collect())
    }

    /// Whose step it was.
    pub(super) fn holder(&self, hold: &Hold) -> Holder {
        let dialed = self.records.dialed.iter().rev();
        let slot = dialed.filter(|dialed| dialed.client_port == hold.client_port);
        slot.map(|dialed| Holder::Download(dialed.slot))
            .next()
            .unwrap_or(Holder::Session(hold.session))
    }

    /// The longest step since the downloads began to start: what an idle machine does is the baseline's
    /// matter.
    pub(super) fn longest(&self) -> Option<&Hold> {
        let load = self.began(Phase::Load)?;
        let holds = self.records.holds.iter().filter(|hold| hold.start_ns >= load);
        holds.max_by_key(|hold| hold.length_us())
    }

    /// Since when a worker has told nothing beside downloads; shortly before `at` is only the way of the
    /// records.
    pub(super) fn silence(&self, worker: u32, at: MonoNs) -> Option<MonoNs> {
        const QUIET: Duration = Duration::from_millis(100);
        let (holds, stretches) = self.of_worker(worker);
        let told = holds.iter().map(|hold| hold.end_ns);
        let told = told.chain(stretches.iter().map(|stretch| stretch.end_ns)).max()?;
        let since = told.max(self.began(Phase::Load)?);
        let is_live = matches!(self.stage, Stage::Running);
        (is_live && at.since(since) > QUIET).then_some(since)
    }
}
