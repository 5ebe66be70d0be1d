//! Options that several commands share, each stated once; among them the run that is meant, also when
//! none is named, and the files that are to be written.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use records::run_dir::MANIFEST;
use report::Style;
use rustix::fs::{Access, access};

use crate::output;

/// How a command prints, and where.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Output")]
pub(super) struct OutputOptions {
    /// Write there what would be printed
    #[arg(id = "output", short, long, value_name = "FILE")]
    pub(super) file: Option<PathBuf>,

    /// Print JSON instead of text
    #[arg(short, long)]
    pub(super) json: bool,
}

impl OutputOptions {
    /// The style of the text: a file has no colour.
    pub(super) fn style(&self) -> Style {
        match &self.file {
            Some(_) => Style::Plain,
            None => Style::for_stream(&io::stdout()),
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

/// Where trials are kept, and whether people see how they go.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Output")]
pub(super) struct TrialsOptions {
    /// Where run directories, and those of campaigns, are made
    #[arg(long, hide_short_help = true, value_name = "DIR", default_value = "runs")]
    pub(super) runs_dir: PathBuf,

    /// Show no progress
    #[arg(short, long)]
    pub(super) quiet: bool,
}

/// Which run is meant.
#[derive(Debug, clap::Args)]
pub(super) struct WhichRun {
    /// The directory of a run, or for report that of a campaign [default: the last run]
    pub(super) dir: Option<PathBuf>,

    /// Where to look for the last run
    #[arg(long, value_name = "DIR", default_value = "runs", conflicts_with = "dir")]
    pub(super) runs_dir: PathBuf,
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

/// The run in `runs_dir` that began last, whole or not: the names of run directories begin with their time.
fn last_run(runs_dir: &Path) -> anyhow::Result<PathBuf> {
    let there = runs_dir.display();
    let dirs = match fs::read_dir(runs_dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        entries => Some(entries.with_context(|| format!("failed to look for runs in {there}"))?),
    };
    let dirs = dirs.into_iter().flatten().filter_map(Result::ok).map(|entry| entry.path());
    // Campaigns and shows have their runs further down: which of them is meant, nobody knows.
    let is_run = |dir: &PathBuf| {
        let name = dir.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with(|first: char| first.is_ascii_digit()) && dir.join(MANIFEST).is_file()
    };
    dirs.filter(is_run).max().ok_or_else(|| {
        anyhow!("there is no run in {there}: make one with turnstile, or name a run directory")
    })
}

/// Looks at files that a command is asked to write at its end, each named by its option: trials take
/// minutes. A look leaves everything as it was.
///
/// # Errors
/// The first that cannot be written, with its option and why.
pub(super) fn look_at(files: &[(&str, &Option<PathBuf>)]) -> Result<(), String> {
    let look = |path: &Path| match fs::metadata(path) {
        Ok(there) if there.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
        Ok(_) => access(path, Access::WRITE_OK).map_err(io::Error::from),
        // Its directory takes the file.
        Err(_) => {
            let dir = path.parent().ok_or(io::ErrorKind::NotFound)?.join(".");
            access(&dir, Access::WRITE_OK | Access::EXEC_OK).map_err(io::Error::from)
        }
    };
    files.iter().try_for_each(|(option, path)| {
        let Some(path) = path else { return Ok(()) };
        look(path).map_err(|why| {
            format!("{option} {}: no file can be written there: {why}", path.display())
        })
    })
}

#[cfg(test)]
mod tests;
