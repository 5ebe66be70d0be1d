//! Many trials, one after the other: arms in turn, round after round, each trial in a process of its
//! own, so that none inherits anything from the one before. What was planned and what is done stands in
//! the directory of the campaign: `campaign.json`, and the run directories of its trials.
//!
//! - `arm`: one setting, as typed
//!
//! Not for: comparing or judging. Who has run a campaign does that from its trials.
//!
//! Invariants:
//! - A trial is the command that stands in its run directory: nobody needs a campaign to repeat it.
//! - `campaign.json` is replaced by rename after every trial; a campaign that dies loses the trial in
//!   progress and nothing else, and can be told as far as it came.
//! - All trials are of one build of every program, on one machine since one boot: a campaign does not
//!   go on later, it is run again.
//! - A host that grows slower in the course of a campaign must not make one arm look worse: every round
//!   has each arm once (a block), and the order within it is drawn anew.
//! - A trial is asked to end when this process ends, however that happens (PR_SET_PDEATHSIG), and its
//!   own children end with it. SIGINT and SIGTERM reach the trial in progress; what it had by then is kept
//!   as a part of it.

pub(crate) mod arm;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc::Receiver;
use std::time::Duration;

use analysis::guard::rounds::Ran;
use anyhow::{Context, bail, ensure};
use jiff::Timestamp;
use net::stop;
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use rand::seq::SliceRandom;
use records::run_dir::SUMMARY;
use records::{ArmSpec, RunRecords, SCHEMA_VERSION, Summary, Verdict};
use rustix::process::Signal;
use serde::{Deserialize, Serialize};
use signal_hook::consts::{SIGINT, SIGTERM};
use trial::run_dir;

use crate::live::{self, LiveTrial};
use crate::output;

#[cfg(test)]
mod tests;

/// What was planned and what is done: `campaign.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Journal {
    /// [`SCHEMA_VERSION`] of the writer.
    pub schema_version: u32,
    /// What it is for: `compare`, `check`, or `case` with its name.
    pub purpose: String,
    /// The command, as it was typed.
    pub command: Vec<String>,
    /// Rounds wanted.
    pub rounds: u32,
    /// What the order was drawn from.
    pub seed: u64,
    /// The arms.
    pub arms: Vec<ArmSpec>,
    /// The trials that ended, in the order of their end.
    pub done: Vec<Done>,
}

/// A trial that ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Done {
    /// Which one it was.
    #[serde(flatten)]
    pub slot: Slot,
    /// Its run directory, within the campaign's.
    pub dir: PathBuf,
    /// What it proved.
    pub verdict: Verdict,
}

/// One trial of a campaign.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Slot {
    /// Which round, from 0.
    pub round: u32,
    /// Which arm, by position.
    pub arm: usize,
}

impl Journal {
    /// One for `purpose`, of which nothing is done.
    pub(crate) fn new(purpose: &str, rounds: u32, seed: u64, arms: Vec<ArmSpec>) -> Self {
        Self {
            schema_version: SCHEMA_VERSION,
            purpose: purpose.to_owned(),
            command: std::env::args().collect(),
            rounds,
            seed,
            arms,
            done: Vec::new(),
        }
    }

    /// Trials wanted: every arm in every round.
    pub(crate) fn planned(&self) -> usize {
        self.arms.len() * self.rounds as usize
    }

    /// Every trial, in the order of their start: the same seed, arms and rounds make the same order.
    pub(crate) fn order(&self) -> Vec<Slot> {
        let mut random = ChaCha8Rng::seed_from_u64(self.seed);
        let block = |round| {
            let mut block: Vec<Slot> =
                (0..self.arms.len()).map(|arm| Slot { round, arm }).collect();
            block.shuffle(&mut random);
            block
        };
        (0..self.rounds).flat_map(block).collect()
    }

    /// The trials that are still to be run, in order.
    fn to_do(&self) -> Vec<Slot> {
        let mut order = self.order();
        order.retain(|slot| self.done.iter().all(|done| done.slot != *slot));
        order
    }

    /// About how long so many trials take: their phases, and what lies around them.
    pub(crate) fn length(&self, trials: usize) -> String {
        const AROUND: Duration = Duration::from_secs(2);
        let phases = self.arms.iter().filter_map(|arm| {
            let options = arm::options(arm).ok()?;
            Some(options.idle.as_duration() + options.duration.as_duration() + AROUND)
        });
        let arms = u32::try_from(self.arms.len()).unwrap_or(1).max(1);
        let all = phases.sum::<Duration>() / arms * u32::try_from(trials).unwrap_or(u32::MAX);
        humantime::format_duration(Duration::from_secs(all.as_secs())).to_string()
    }

    /// The name of an arm.
    pub(crate) fn arm_name(&self, slot: Slot) -> &str {
        self.arms.get(slot.arm).map_or("", |arm| arm.name.as_str())
    }
}

/// A campaign on the disk.
#[derive(Debug)]
pub(crate) struct Campaign {
    /// Its directory.
    pub(crate) dir: PathBuf,
    /// What stands in it.
    pub(crate) journal: Journal,
}

/// The journal's file.
pub(crate) const CAMPAIGN: &str = "campaign.json";
/// Where the run directories are.
const TRIALS: &str = "trials";

impl Campaign {
    /// A new one in `<runs_dir>/<time>-<purpose>/`.
    ///
    /// # Errors
    /// The directory cannot be made or written.
    pub(crate) fn create(runs_dir: &Path, journal: Journal) -> anyhow::Result<Self> {
        let time = Timestamp::now().strftime("%Y%m%dT%H%M%SZ");
        let name = format!("{time}-{}", arm::slug(&journal.purpose));
        let campaign = Self { dir: run_dir::make_new(runs_dir, &name)?, journal };
        campaign.save()?;
        Ok(campaign)
    }

    /// The one in `dir`.
    ///
    /// # Errors
    /// There is none, another version of turnstile made it, or it was not turnstile.
    pub(crate) fn open(dir: &Path) -> anyhow::Result<Self> {
        let path = dir.join(CAMPAIGN);
        let text = fs::read(&path).with_context(|| {
            format!("{} is not the directory of a campaign: it has no {CAMPAIGN}", dir.display())
        })?;
        let journal: Journal = serde_json::from_slice(&text)
            .with_context(|| format!("{} is not ours, or torn", path.display()))?;
        let found = journal.schema_version;
        let reads = format!("has schema {found}; this turnstile reads {SCHEMA_VERSION}");
        ensure!(found == SCHEMA_VERSION, "{} {reads}", path.display());
        Ok(Self { dir: dir.to_owned(), journal })
    }

    /// Writes the journal; an earlier one stays as it was where that fails.
    fn save(&self) -> anyhow::Result<()> {
        run_dir::write_json(&self.dir.join(CAMPAIGN), &self.journal)
    }

    /// A directory for the run directory of a trial, one that no earlier attempt used.
    fn place_for(&self, slot: Slot) -> anyhow::Result<PathBuf> {
        let slug = arm::slug(self.journal.arm_name(slot));
        let name = format!("{:02}-{}-{slug}", slot.round + 1, slot.arm + 1);
        run_dir::make_new(&self.dir.join(TRIALS), &name)
    }

    /// Notes that a trial ended.
    fn note(&mut self, slot: Slot, dir: &Path, verdict: Verdict) -> anyhow::Result<()> {
        let dir = dir.strip_prefix(&self.dir).unwrap_or(dir).to_owned();
        self.journal.done.push(Done { slot, dir, verdict });
        self.save()
    }

    /// What each trial that is done told, in the order of their end.
    ///
    /// # Errors
    /// A run directory has no whole summary or no whole records any more.
    pub(crate) fn ran(&self) -> anyhow::Result<Vec<Ran>> {
        let of = |done: &Done| -> anyhow::Result<Ran> {
            let dir = self.dir.join(&done.dir);
            let summary =
                live::summary(&dir).with_context(|| format!("it has no whole {SUMMARY}"))?;
            Ok(Ran::of(done.dir.clone(), done.slot.round, summary, RunRecords::load(&dir)?))
        };
        let told = |done: &Done| {
            of(done).with_context(|| format!("failed to read the trial in {}", done.dir.display()))
        };
        self.journal.done.iter().map(told).collect()
    }

    /// Runs what is still to do, and tells people how that goes: the signal that cut it short, if one did.
    ///
    /// # Errors
    /// A trial left no run behind, or the journal cannot be written.
    pub(crate) fn run(&mut self, quiet: bool) -> anyhow::Result<Option<i32>> {
        let progress = |line: String| {
            if !quiet {
                output::say(&line);
            }
        };
        // Once the last trial is over there is nobody to be asked to end but this process.
        let signals =
            stop::signals(&[SIGINT, SIGTERM]).context("failed to take note of signals")?;
        let to_do = self.journal.to_do();
        progress(format!("turnstile: about {}", self.journal.length(to_do.len())));
        for (slot, after) in to_do.iter().zip((0..to_do.len()).rev()) {
            let (round, rounds) = (slot.round + 1, self.journal.rounds);
            let arm = self.journal.arm_name(*slot);
            progress(format!("round {round}/{rounds}  {arm}  ({after} to come)"));
            let (summary, signal) = self.trial(*slot, &signals)?;
            if let Some(summary) = summary {
                let first = summary.verdict_reasons.first().map_or("", String::as_str);
                progress(format!("            {}: {first}", summary.verdict));
            }
            if signal.is_some() {
                return Ok(signal);
            }
        }
        Ok(None)
    }

    /// Runs one trial to its end: what it proved, if its run is whole, and the signal that came meanwhile,
    /// if one did.
    fn trial(
        &mut self,
        slot: Slot,
        signals: &Receiver<i32>,
    ) -> anyhow::Result<(Option<Box<Summary>>, Option<i32>)> {
        /// Between two looks for a signal.
        const LOOK: Duration = Duration::from_millis(100);
        let place = self.place_for(slot)?;
        let arm = self.journal.arms.get(slot.arm);
        let options = arm.map(|arm| arm.args.as_slice()).unwrap_or_default();
        let mut trial = LiveTrial::start(options, &place, []).context("failed to start a trial")?;
        let mut signal = None;
        while !trial.ends_within(LOOK) {
            if let Ok(told) = signals.try_recv() {
                signal = Some(told);
                // It takes each further one as haste.
                Signal::from_named_raw(told).into_iter().for_each(|told| trial.stop(told));
            }
        }
        let signal = signal.or_else(|| signals.try_recv().ok());
        let dir = trial.dir().map(Path::to_owned);
        match (trial.end(), dir) {
            // It was over when the signal came: what is done stays done.
            (Ok(summary), Some(dir)) if summary.interrupted.is_none() => {
                self.note(slot, &dir, summary.verdict)?;
                Ok((Some(summary), signal))
            }
            _ if signal.is_some() => Ok((None, signal)),
            (ended, _) => {
                let (arm, why) = (self.journal.arm_name(slot), ended.err().unwrap_or_default());
                bail!("a trial of arm {arm} ended without a whole run {why}")
            }
        }
    }
}
