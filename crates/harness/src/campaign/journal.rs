//! The directory of a campaign: `campaign.json`, and the run directories of its trials.
//!
//! Invariant: `campaign.json` is replaced by rename after every trial; a campaign that dies loses the
//! trial in progress and nothing else.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use records::{ArmSpec, SCHEMA_VERSION, Summary, Verdict};
use serde::{Deserialize, Serialize};

use super::arm;
use super::plan::{MAX_ROUNDS, Seed, Slot, order};
use records::run_dir::SUMMARY;
use trial::run_dir::{self, WriteError};

/// What was planned and what is done: `campaign.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Journal {
    /// [`SCHEMA_VERSION`] of the writer.
    pub schema_version: u32,
    /// What it is for: `compare`, `check`, `zoo`, or `case` with its name.
    pub purpose: String,
    /// The command, as it was typed.
    pub command: Vec<String>,
    /// Rounds wanted.
    pub rounds: u32,
    /// What the order was drawn from.
    pub seed: Seed,
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

impl Journal {
    /// Trials wanted: every arm in every round.
    pub fn planned(&self) -> usize {
        self.arms.len() * self.rounds as usize
    }

    /// What cannot be in one that turnstile wrote.
    fn fault(&self) -> Option<String> {
        // A check adds a round for each that was inconclusive.
        let done = u32::try_from(self.done.len()).unwrap_or(u32::MAX);
        let most = MAX_ROUNDS.saturating_add(done);
        if !(1..=most).contains(&self.rounds) {
            return Some(format!("it has {} rounds, where 1 to {most} may be", self.rounds));
        }
        let is_planned = |slot: &Slot| slot.round < self.rounds && slot.arm < self.arms.len();
        let stray = self.done.iter().map(|done| done.slot).find(|slot| !is_planned(slot))?;
        let Slot { round, arm } = stray;
        Some(format!("it has a trial of arm {arm} in round {round}, from 0, that was not planned"))
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
    pub fn create(runs_dir: &Path, journal: Journal) -> Result<Self, CampaignError> {
        let time = Timestamp::now().strftime("%Y%m%dT%H%M%SZ");
        let word: String = journal
            .purpose
            .chars()
            .map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '-' })
            .collect();
        fs::create_dir_all(runs_dir).map_err(|source| CampaignError::io(runs_dir, source))?;
        let dir = run_dir::make_new(runs_dir, &format!("{time}-{word}"))?;
        let campaign = Self { dir, journal };
        campaign.save()?;
        Ok(campaign)
    }

    /// The one in `dir`.
    ///
    /// # Errors
    /// There is none, another version of turnstile made it, or it was not turnstile.
    pub fn open(dir: &Path) -> Result<Self, CampaignError> {
        let path = dir.join(CAMPAIGN);
        let text = fs::read(&path).map_err(|source| match source.kind() {
            io::ErrorKind::NotFound => CampaignError::None { dir: dir.to_owned() },
            _ => CampaignError::io(&path, source),
        })?;
        let journal: Journal = serde_json::from_slice(&text)
            .map_err(|source| CampaignError::Foreign { path: path.clone(), source })?;
        if journal.schema_version != SCHEMA_VERSION {
            return Err(CampaignError::Schema { path, found: journal.schema_version });
        }
        if let Some(what) = journal.fault() {
            return Err(CampaignError::Faulty { path, what });
        }
        Ok(Self { dir: dir.to_owned(), journal })
    }

    /// Writes the journal.
    ///
    /// # Errors
    /// As `write(2)` and `rename(2)`; an earlier journal stays as it was.
    pub fn save(&self) -> Result<(), CampaignError> {
        Ok(run_dir::write_json(&self.dir.join(CAMPAIGN), &self.journal)?)
    }

    /// The trials that are still to be run, in order.
    pub fn to_do(&self) -> Vec<Slot> {
        let Journal { rounds, seed, arms, done, .. } = &self.journal;
        let mut order = order(arms.len(), *rounds, *seed);
        order.retain(|slot| done.iter().all(|done| done.slot != *slot));
        order
    }

    /// A directory for the run directory of a trial, one that no earlier attempt used.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn place_for(&self, slot: Slot) -> Result<PathBuf, CampaignError> {
        let trials = self.dir.join(TRIALS);
        fs::create_dir_all(&trials).map_err(|source| CampaignError::io(&trials, source))?;
        let slug = self.journal.arms.get(slot.arm).map(arm::slug).unwrap_or_default();
        let name = format!("{:02}-{}-{slug}", slot.round + 1, slot.arm + 1);
        Ok(run_dir::make_new(&trials, &name)?)
    }

    /// Notes that a trial ended.
    ///
    /// # Errors
    /// As [`Self::save`].
    pub fn note(&mut self, slot: Slot, dir: &Path, verdict: Verdict) -> Result<(), CampaignError> {
        let dir = dir.strip_prefix(&self.dir).unwrap_or(dir).to_owned();
        self.journal.done.push(Done { slot, dir, verdict });
        self.save()
    }

    /// The summary of a trial that is done.
    ///
    /// # Errors
    /// Its run directory has no whole summary any more.
    pub fn summary(&self, done: &Done) -> Result<Summary, CampaignError> {
        let path = self.dir.join(&done.dir).join(SUMMARY);
        let text = fs::read(&path).map_err(|source| CampaignError::io(&path, source))?;
        serde_json::from_slice(&text).map_err(|source| CampaignError::Foreign { path, source })
    }
}

/// A campaign that cannot be run or read.
#[derive(Debug, thiserror::Error)]
pub enum CampaignError {
    /// No journal.
    #[error("{} is not the directory of a campaign: it has no {CAMPAIGN}", dir.display())]
    None {
        /// What was named.
        dir: PathBuf,
    },
    /// A journal of another version.
    #[error("{} has schema {found}; this turnstile reads {SCHEMA_VERSION}", path.display())]
    Schema {
        /// The journal.
        path: PathBuf,
        /// Its version.
        found: u32,
    },
    /// A document that is not ours.
    #[error("{} is not ours, or torn", path.display())]
    Foreign {
        /// The document.
        path: PathBuf,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// A journal that turnstile cannot have written.
    #[error("{} was changed by other hands: {what}", path.display())]
    Faulty {
        /// The journal.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// A file that cannot be read or made.
    #[error("failed to use {}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file that cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// A trial that was refused before it began, or left nothing behind.
    #[error("a trial of arm {arm} ended without a run ({status}){}", said(words))]
    NoRun {
        /// Which arm.
        arm: String,
        /// How its process ended.
        status: std::process::ExitStatus,
        /// The last it said.
        words: String,
    },
}

impl CampaignError {
    pub(super) fn io(path: &Path, source: io::Error) -> Self {
        Self::Io { path: path.to_owned(), source }
    }
}

fn said(words: &str) -> String {
    if words.is_empty() { String::new() } else { format!(": {words}") }
}

#[cfg(test)]
mod tests;
