//! Many trials, one after the other: arms in turn, round after round, each trial in a process of its
//! own, so that none inherits anything from the one before. What was planned and what is done stands in
//! the directory of the campaign: `campaign.json`, and the run directories of its trials.
//!
//! - [`arm`]: one setting, as typed
//! - [`runner`]: starts the trials and waits for them
//!
//! Not for: comparing or judging. Who has run a campaign does that from its summaries.
//!
//! Invariants:
//! - A trial is the command that stands in its run directory: nobody needs a campaign to repeat it.
//! - `campaign.json` is replaced by rename after every trial; a campaign that dies loses the trial in
//!   progress and nothing else, and can be told as far as it came.
//! - All trials are of one build of every program, on one machine since one boot: a campaign does not
//!   go on later, it is run again.
//! - A host that grows slower in the course of a campaign must not make one arm look worse: every round
//!   has each arm once (a block), and the order within it is drawn anew.

pub mod arm;
pub mod runner;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use jiff::Timestamp;
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use rand::seq::SliceRandom;
use records::run_dir::SUMMARY;
use records::{ArmSpec, SCHEMA_VERSION, Summary, Verdict};
use serde::{Deserialize, Serialize};
use trial::run_dir;

pub use runner::{Ended, run};

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
    pub fn new(purpose: &str, rounds: u32, seed: u64, arms: Vec<ArmSpec>) -> Self {
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
    pub fn planned(&self) -> usize {
        self.arms.len() * self.rounds as usize
    }

    /// Every trial, in the order of their start: the same seed, arms and rounds make the same order.
    pub fn order(&self) -> Vec<Slot> {
        let mut random = ChaCha8Rng::seed_from_u64(self.seed);
        let block = |round| {
            let mut block: Vec<Slot> =
                (0..self.arms.len()).map(|arm| Slot { round, arm }).collect();
            block.shuffle(&mut random);
            block
        };
        (0..self.rounds).flat_map(block).collect()
    }

    /// The name of an arm.
    pub fn arm_name(&self, slot: Slot) -> &str {
        self.arms.get(slot.arm).map_or("", |arm| arm.name.as_str())
    }
}

/// A campaign on the disk.
#[derive(Clone, Debug)]
pub struct Campaign {
    /// Its directory.
    pub dir: PathBuf,
    /// What stands in it.
    pub journal: Journal,
}

/// The journal's file.
pub const CAMPAIGN: &str = "campaign.json";
/// Where the run directories are.
const TRIALS: &str = "trials";

impl Campaign {
    /// A new one in `<runs_dir>/<time>-<purpose>/`.
    ///
    /// # Errors
    /// The directory cannot be made or written.
    pub fn create(runs_dir: &Path, journal: Journal) -> anyhow::Result<Self> {
        let time = Timestamp::now().strftime("%Y%m%dT%H%M%SZ");
        fs::create_dir_all(runs_dir)
            .with_context(|| format!("failed to make {}", runs_dir.display()))?;
        let name = format!("{time}-{}", arm::slug(&journal.purpose));
        let campaign = Self { dir: run_dir::make_new(runs_dir, &name)?, journal };
        campaign.save()?;
        Ok(campaign)
    }

    /// The one in `dir`.
    ///
    /// # Errors
    /// There is none, another version of turnstile made it, or it was not turnstile.
    pub fn open(dir: &Path) -> anyhow::Result<Self> {
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
        Ok(run_dir::write_json(&self.dir.join(CAMPAIGN), &self.journal)?)
    }

    /// The trials that are still to be run, in order.
    pub fn to_do(&self) -> Vec<Slot> {
        let mut order = self.journal.order();
        order.retain(|slot| self.journal.done.iter().all(|done| done.slot != *slot));
        order
    }

    /// A directory for the run directory of a trial, one that no earlier attempt used.
    fn place_for(&self, slot: Slot) -> anyhow::Result<PathBuf> {
        let trials = self.dir.join(TRIALS);
        fs::create_dir_all(&trials)
            .with_context(|| format!("failed to make {}", trials.display()))?;
        let slug = arm::slug(self.journal.arm_name(slot));
        let name = format!("{:02}-{}-{slug}", slot.round + 1, slot.arm + 1);
        Ok(run_dir::make_new(&trials, &name)?)
    }

    /// Notes that a trial ended.
    fn note(&mut self, slot: Slot, dir: &Path, verdict: Verdict) -> anyhow::Result<()> {
        let dir = dir.strip_prefix(&self.dir).unwrap_or(dir).to_owned();
        self.journal.done.push(Done { slot, dir, verdict });
        self.save()
    }

    /// The summary of a trial that is done.
    ///
    /// # Errors
    /// Its run directory has no whole summary any more.
    pub fn summary(&self, done: &Done) -> anyhow::Result<Summary> {
        let path = self.dir.join(&done.dir).join(SUMMARY);
        let no_summary = || format!("{} is no whole summary", path.display());
        let text = fs::read(&path).with_context(no_summary)?;
        serde_json::from_slice(&text).with_context(no_summary)
    }
}
