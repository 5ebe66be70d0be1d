//! Options that several commands share, each stated once; among them the run that is meant, also when
//! none is named.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context, anyhow};
use jiff::civil::DateTime;
use records::run_dir::MANIFEST;

use report::Style;

use crate::output::{self, Color};

/// How a command prints, and where.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Output")]
pub struct OutputOptions {
    /// Write there what would be printed
    #[arg(id = "output", short, long, value_name = "FILE")]
    pub file: Option<PathBuf>,

    /// Print JSON instead of text
    #[arg(short, long)]
    pub json: bool,

    /// When to use colour
    #[arg(long, hide_short_help = true, value_enum, default_value_t, value_name = "WHEN")]
    pub color: Color,
}

impl OutputOptions {
    /// The style of the text: of a file without colour, unless it is asked for.
    pub(super) fn style(&self) -> Style {
        match (&self.file, self.color) {
            (Some(_), Color::Auto) => Style::Plain,
            (_, color) => color.style(),
        }
    }

    /// Prints `text`, or writes it where it was asked for.
    ///
    /// # Errors
    /// It could not be written.
    pub(super) fn print(&self, text: &str) -> anyhow::Result<()> {
        match &self.file {
            Some(path) => {
                fs::write(path, text).with_context(|| format!("failed to write {}", path.display()))
            }
            None => output::print(text.as_bytes()).context("failed to print"),
        }
    }
}

/// How much the report of a run says.
#[derive(Clone, Copy, Debug, clap::Args)]
#[command(next_help_heading = "Output")]
pub struct DetailOptions {
    /// Print more: outcomes, times, workers, every caveat
    #[arg(short, long, conflicts_with = "json")]
    pub verbose: bool,
}

/// Where trials are kept, and whether people see how they go.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Output")]
pub struct TrialsOptions {
    /// Where run directories, and those of campaigns, are made
    #[arg(long, hide_short_help = true, value_name = "DIR", default_value = "runs")]
    pub runs_dir: PathBuf,

    /// Show no progress
    #[arg(short, long)]
    pub quiet: bool,
}

/// Which run is meant.
#[derive(Clone, Debug, clap::Args)]
pub struct WhichRun {
    /// The directory of a run, or for report that of a campaign [default: the last run]
    pub dir: Option<PathBuf>,

    /// Where to look for the last run
    #[arg(long, value_name = "DIR", default_value = "runs", conflicts_with = "dir")]
    pub runs_dir: PathBuf,
}

impl WhichRun {
    /// The directory that was named; else that of the last run.
    ///
    /// # Errors
    /// There is none, or `--runs-dir` cannot be read.
    pub(super) fn dir(&self) -> anyhow::Result<PathBuf> {
        self.dir.clone().map_or_else(|| last_run(&self.runs_dir), Ok)
    }
}

/// The run in `runs_dir` that began last, whole or not: the names of run directories begin with
/// their time in whole seconds; of several, the one that was written last.
fn last_run(runs_dir: &Path) -> anyhow::Result<PathBuf> {
    let unreadable = || format!("failed to look for runs in {}", runs_dir.display());
    let none = || {
        let there = runs_dir.display();
        anyhow!("there is no run in {there}: make one with turnstile, or name a run directory")
    };
    let entries = match fs::read_dir(runs_dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(none()),
        entries => entries.with_context(unreadable)?,
    };
    let mut last: Option<(String, SystemTime, PathBuf)> = None;
    for entry in entries {
        let entry = entry.with_context(unreadable)?;
        let Some(began) = began(&entry.file_name().to_string_lossy()) else { continue };
        // One that is taken away meanwhile is not the last one.
        let Ok(about) = entry.metadata() else { continue };
        // Campaigns and shows have their runs further down: which of them is meant, nobody knows.
        if about.is_dir() && entry.path().join(MANIFEST).is_file() {
            let written = about.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            last = last.max(Some((began, written, entry.path())));
        }
    }
    last.map(|(_, _, dir)| dir).ok_or_else(none)
}

/// The time in a run directory's name, as `20260301T123005Z`; absent: it is none of ours.
fn began(name: &str) -> Option<String> {
    let time = name.split('-').next()?;
    DateTime::strptime("%Y%m%dT%H%M%SZ", time).ok().map(|_| time.to_owned())
}
