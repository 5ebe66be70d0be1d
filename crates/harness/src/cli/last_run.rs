//! The run that is meant, also when none is named.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use records::run_dir::MANIFEST;

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
    pub(super) fn dir(&self) -> Result<PathBuf, NoRun> {
        self.dir.clone().map_or_else(|| last_run(&self.runs_dir), Ok)
    }
}

/// The run in `runs_dir` that began last, whole or not: the names of run directories begin with
/// their time in whole seconds; of several, the one that was written last.
fn last_run(runs_dir: &Path) -> Result<PathBuf, NoRun> {
    let unreadable = |source| NoRun::Unreadable { runs_dir: runs_dir.to_owned(), source };
    let none = || NoRun::None { runs_dir: runs_dir.to_owned() };
    let entries = fs::read_dir(runs_dir).map_err(|source| match source.kind() {
        io::ErrorKind::NotFound => none(),
        _ => unreadable(source),
    })?;
    let mut last: Option<(String, SystemTime, PathBuf)> = None;
    for entry in entries {
        let entry = entry.map_err(unreadable)?;
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
    let fits = |(letter, place): (char, char)| match place {
        '0' => letter.is_ascii_digit(),
        place => letter == place,
    };
    let shape = "00000000T000000Z";
    let ours = time.len() == shape.len() && time.chars().zip(shape.chars()).all(fits);
    ours.then(|| time.to_owned())
}

/// There is no run to tell of.
#[derive(Debug, thiserror::Error)]
pub(super) enum NoRun {
    #[error(
        "there is no run in {}: make one with turnstile, or name a run directory",
        runs_dir.display()
    )]
    None { runs_dir: PathBuf },
    #[error("failed to look for runs in {}", runs_dir.display())]
    Unreadable { runs_dir: PathBuf, source: io::Error },
}
