//! Reads a run directory back: everything that was recorded, typed, or a message that says which
//! line is wrong.
//!
//! Invariant: all or nothing. A record that cannot be read is never skipped, because every figure
//! made from the rest would look ordinary.

use std::error::Error;
use std::fmt::Display;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use serde::Deserialize;

use crate::run_dir::{MANIFEST, ORIGIN, RECORD_FILES, SOCKETS};
use crate::{Manifest, Record, RunRecords, SCHEMA_VERSION};

impl RunRecords {
    /// Reads the manifest and every record file of `dir`.
    ///
    /// # Errors
    /// `dir` is no run directory, was made by another schema version, lacks a file, or holds a line
    /// that is torn or foreign.
    pub fn load(dir: &Path) -> Result<Self, LoadError> {
        if !dir.is_dir() {
            let advice = "is not a directory: name a run directory, as runs/<time>-<label>";
            return Err(LoadError::of(dir.display(), advice));
        }
        let mut records = Self::new(read_manifest(dir)?);
        for name in RECORD_FILES {
            let path = dir.join(name);
            // Files that runs of earlier builds have not.
            if path.exists() || ![SOCKETS, ORIGIN].contains(&name) {
                records.read_file(&path, name)?;
            }
        }
        Ok(records)
    }

    /// A run of which nothing is recorded yet but what it was.
    pub fn new(manifest: Manifest) -> Self {
        Self { manifest, ..Self::default() }
    }

    fn read_file(&mut self, path: &Path, name: &str) -> Result<(), LoadError> {
        let missing = "is missing: the run directory is not whole; make the run again";
        let file = File::open(path).map_err(|error| unread(path, path, missing, error))?;
        let mut file = BufReader::new(file);
        let mut bytes = Vec::new();
        for line in 1.. {
            let wrong = |problem| LoadError::of(format!("{}:{line}", path.display()), problem);
            bytes.clear();
            match file.read_until(b'\n', &mut bytes) {
                Ok(0) => break,
                Ok(_) => {}
                Err(error) => return Err(unread(path, path, missing, error)),
            }
            if bytes.last() != Some(&b'\n') {
                return Err(wrong(
                    "is torn: the run was killed while it wrote, so records are missing; make the \
                     run again",
                ));
            }
            let record = Record::from_line(&String::from_utf8_lossy(&bytes)).map_err(|error| {
                wrong("is not ours: restore the file, or make the run again").because(error)
            })?;
            if record.file() != Some(name) {
                return Err(wrong(
                    "is a record of another file: restore the file, or make the run again",
                ));
            }
            self.add(record);
        }
        Ok(())
    }
}

/// The one field that every version of a manifest has.
#[derive(Deserialize)]
struct Version {
    schema_version: u32,
}

fn read_manifest(dir: &Path) -> Result<Manifest, LoadError> {
    let path = dir.join(MANIFEST);
    let none = "is not a run directory: it has no manifest.json; name one that turnstile made";
    let text = fs::read(&path).map_err(|error| unread(&path, dir, none, error))?;
    let wrong = |error| {
        let advice = "is not a manifest: restore it, or make the run again";
        LoadError::of(path.display(), advice).because(error)
    };
    let found = serde_json::from_slice::<Version>(&text).map_err(wrong)?.schema_version;
    if found != SCHEMA_VERSION {
        let age = if found < SCHEMA_VERSION { "an older" } else { "a newer" };
        return Err(LoadError::of(
            path.display(),
            format!(
                "was made by {age} turnstile, schema {found}; this one reads {SCHEMA_VERSION}: read \
                 it with the turnstile that made it"
            ),
        ));
    }
    serde_json::from_slice(&text).map_err(wrong)
}

/// The error of a file that could not be read: where it is not there, `of` that the problem is `missing`.
fn unread(path: &Path, of: &Path, missing: &str, error: io::Error) -> LoadError {
    match error.kind() {
        io::ErrorKind::NotFound => LoadError::of(of.display(), missing),
        _ => LoadError::of(path.display(), "cannot be read").because(error),
    }
}

/// Why a run directory cannot be read: the directory, file or line, what is wrong with it, and what to do.
#[derive(Debug, thiserror::Error)]
#[error("{place} {problem}")]
pub struct LoadError {
    place: String,
    problem: String,
    source: Option<Box<dyn Error + Send + Sync>>,
}

impl LoadError {
    fn of(place: impl Display, problem: impl Into<String>) -> Self {
        Self { place: place.to_string(), problem: problem.into(), source: None }
    }

    fn because(self, source: impl Error + Send + Sync + 'static) -> Self {
        Self { source: Some(Box::new(source)), ..self }
    }
}
