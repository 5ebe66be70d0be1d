//! Files that a command was asked to write at its end: looked at before its trials, which take minutes,
//! and what became of them.
//!
//! Not for: the directory of the runs, which is made before the first trial anyway.
//!
//! Invariants:
//! - A look leaves everything as it was.
//! - What cannot be written keeps nothing else from being written, and is never a success.

use std::fs;
use std::path::{Path, PathBuf};

use analysis::guard::{ERROR, Gate};
use anyhow::Context;
use rustix::fs::{Access, access};
use rustix::io::Errno;

use super::output;
use trial::run_dir;

#[cfg(test)]
mod tests;

/// How a file is going to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// Where it is; it may be a device or a pipe.
    InPlace,
    /// As a whole, by rename: an earlier one stays until the new one is there.
    Replaced,
}

/// Looks at the files that options name, each as `--junit`.
///
/// # Errors
/// The first that cannot be written, with its option and why.
pub(super) fn look_at<'a>(
    files: impl IntoIterator<Item = (&'static str, &'a Option<PathBuf>, Way)>,
) -> Result<(), String> {
    let named =
        |(option, path, way): (_, &'a Option<PathBuf>, _)| Some((option, path.as_ref()?, way));
    files.into_iter().filter_map(named).try_for_each(|(option, path, way)| {
        look(path, way).map_err(|why| format!("{option} {}: {why}", path.display()))
    })
}

fn look(path: &Path, way: Way) -> Result<(), String> {
    let said = |error: Errno| format!("no file can be written there: {error}");
    if path.file_name().is_none() {
        return Err("it names no file".to_owned());
    }
    match (fs::metadata(path), way) {
        (Ok(there), _) if there.is_dir() => Err("it is a directory".to_owned()),
        (Ok(there), Way::Replaced) if !there.is_file() => Err(run_dir::NOT_A_FILE.to_owned()),
        (Ok(_), Way::InPlace) => access(path, Access::WRITE_OK).map_err(said),
        // Its directory takes the file, or the new one that is to replace it.
        (Ok(_), Way::Replaced) | (Err(_), _) => {
            let dir = path.parent().unwrap_or(Path::new("")).join(".");
            access(&dir, Access::WRITE_OK | Access::EXEC_OK).map_err(said)
        }
    }
}

/// What could not be written of all that was to be.
#[derive(Debug, Default)]
pub(super) struct Written {
    failed: Vec<anyhow::Error>,
}

impl Written {
    /// Notes how a step went.
    pub(super) fn note(&mut self, step: anyhow::Result<()>) {
        self.failed.extend(step.err());
    }

    /// Writes a file where it is.
    pub(super) fn file(&mut self, path: &Path, text: &str) {
        let written = fs::write(path, text);
        self.note(written.with_context(|| format!("failed to write {}", path.display())));
    }

    /// Tells people of all that failed.
    pub(super) fn say(&self) {
        self.failed.iter().for_each(|error| output::say(&format!("turnstile: {error:#}")));
    }

    /// What the process ends with: the gate's code, if there is one; but an error where something is
    /// missing, unless the gate found something worse.
    pub(super) fn exit_code(&self, gate: Option<Gate>) -> u8 {
        match gate {
            Some(Gate::Breached) => Gate::Breached.exit_code(),
            _ if !self.failed.is_empty() => ERROR,
            gate => gate.map_or(0, Gate::exit_code),
        }
    }
}
