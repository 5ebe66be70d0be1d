//! The run directory: one place for everything a trial leaves behind; and how it is read back, typed, or with
//! a message that says which line is wrong.
//!
//! The names below are the contract between who writes a run and who reads it, and with other
//! programs; they never change within one schema version. Every `.ndjson` file holds one [`Record`] a
//! line, named by its `record` field; [`Record::file`] says which record stands in which file.
//!
//! Invariant: reading is all or nothing. A record that cannot be read is never skipped, because every figure
//! made from the rest would look ordinary.

use std::error::Error;
use std::fmt::Display;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use serde::Deserialize;

use crate::{Manifest, Record, RunRecords, SCHEMA_VERSION};

/// What the run was: command, host, processes, phases, faults.
pub const MANIFEST: &str = "manifest.json";
/// The proxy's access log, in nginx's text format.
pub const ACCESS_LOG: &str = "access.log";
/// `accepted` and `session` records.
pub const SESSIONS: &str = "sessions.ndjson";
/// `hold`, `loop_turn`, `worker_totals` and `stretch` records; of foreign workers also `blocked`,
/// `call_totals` and `absence`.
pub const STEPS: &str = "steps.ndjson";
/// `fetch` and `fetch_totals` records.
pub const FETCHES: &str = "fetches.ndjson";
/// `dialed`, `download_interval` and `download` records.
pub const DOWNLOADS: &str = "downloads.ndjson";
/// `worker_sample`, `sched_sample` and `cpu_sample` records.
pub const WORKERS: &str = "workers.ndjson";
/// `listener_sample` and `socket_sample` records; absent where an earlier build made the run.
pub const SOCKETS: &str = "sockets.ndjson";
/// `answered` records; absent where an earlier build made the run.
pub const ORIGIN: &str = "origin.ndjson";
/// The run as a page: one file, for a browser.
pub const REPORT: &str = "report.html";
/// What a tracer saw of workers that tell of themselves: the same records as [`STEPS`] and
/// [`SESSIONS`], to be laid beside them. Absent unless it was asked for.
pub const TRACED: &str = "traced.ndjson";
/// Heads of the packets between the proxy and its clients, as tcpdump keeps them. Absent unless they were
/// asked for (`--capture`).
pub const PACKETS: &str = "packets.pcap";
/// The hosts of the run and their links; absent: all was on loopback.
pub const NETWORK: &str = "network.json";
/// Configuration and files of a foreign proxy.
pub const PROXY_DIR: &str = "proxy";
/// What the run showed, made from all of the above.
pub const SUMMARY: &str = "summary.json";
/// Latencies of the fetches under load, as an HDR histogram log.
pub const HISTOGRAM_LOG: &str = "fast.hlog";
/// The same as percentiles, for plotting.
pub const PERCENTILES: &str = "fast.hgrm";
/// What the roles said on their standard error, if anything.
pub const ROLES_LOG: &str = "roles.log";

/// The record files that a run has from its start.
pub const RECORD_FILES: [&str; 7] = [FETCHES, DOWNLOADS, SESSIONS, STEPS, WORKERS, SOCKETS, ORIGIN];

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
