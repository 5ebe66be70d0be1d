//! Reads a run directory back: everything that was recorded, typed, or a message that says which
//! line is wrong.
//!
//! Invariant: all or nothing. A record that cannot be read is never skipped, because every figure
//! made from the rest would look ordinary.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::run_dir::{MANIFEST, ORIGIN, RECORD_FILES, SOCKETS};
use crate::{
    Absence, Accepted, Answered, Blocked, CallTotals, CpuSample, Dialed, Download,
    DownloadInterval, Fetch, Hold, LineError, ListenerSample, LoopTurn, Manifest, Record,
    SCHEMA_VERSION, SchedSample, Session, SocketSample, Stretch, WorkerSample, WorkerTotals,
};

/// Everything a run recorded, in the order of its files.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunRecords {
    /// What the run was.
    pub manifest: Manifest,
    /// Fetches, by their client.
    pub fetches: Vec<Fetch>,
    /// Connections of downloads, by their client.
    pub dialed: Vec<Dialed>,
    /// Bytes of all downloads by interval.
    pub intervals: Vec<DownloadInterval>,
    /// Downloads that ended.
    pub downloads: Vec<Download>,
    /// Connections that a worker accepted.
    pub accepted: Vec<Accepted>,
    /// Sessions that ended.
    pub sessions: Vec<Session>,
    /// Requests that the origin had.
    pub answered: Vec<Answered>,
    /// Long steps.
    pub holds: Vec<Hold>,
    /// Long loop turns.
    pub turns: Vec<LoopTurn>,
    /// Workers' counts of their own work.
    pub totals: Vec<WorkerTotals>,
    /// Stretches of workers' time.
    pub stretches: Vec<Stretch>,
    /// Workers' sleeps outside their polls, as traced.
    pub blocked: Vec<Blocked>,
    /// Workers' system calls, as traced.
    pub calls: Vec<CallTotals>,
    /// Times in which a worker was not seen in its poll.
    pub absences: Vec<Absence>,
    /// Workers as the scheduler sees them.
    pub samples: Vec<WorkerSample>,
    /// Threads on and without a CPU.
    pub sched: Vec<SchedSample>,
    /// CPU time withheld by the hypervisor.
    pub stolen: Vec<CpuSample>,
    /// Accept queues.
    pub listeners: Vec<ListenerSample>,
    /// Sockets of downloads.
    pub sockets: Vec<SocketSample>,
}

impl RunRecords {
    /// Reads the manifest and every record file of `dir`.
    ///
    /// # Errors
    /// `dir` is no run directory, was made by another schema version, lacks a file, or holds a line
    /// that is torn or foreign; see [`LoadError`].
    pub fn load(dir: &Path) -> Result<Self, LoadError> {
        if !dir.is_dir() {
            return Err(LoadError::NotADirectory { dir: dir.to_owned() });
        }
        let mut records = Self::new(read_manifest(dir)?);
        for name in RECORD_FILES {
            match records.read_file(dir, name) {
                // A file that runs of earlier builds have not.
                Err(LoadError::Missing { .. }) if [SOCKETS, ORIGIN].contains(&name) => {}
                other => other?,
            }
        }
        Ok(records)
    }

    /// A run of which nothing is recorded yet but what it was.
    pub fn new(manifest: Manifest) -> Self {
        Self { manifest, ..Self::default() }
    }

    fn read_file(&mut self, dir: &Path, name: &str) -> Result<(), LoadError> {
        let path = dir.join(name);
        let file = File::open(&path).map_err(|source| match source.kind() {
            io::ErrorKind::NotFound => LoadError::Missing { path: path.clone() },
            _ => LoadError::Io { path: path.clone(), source },
        })?;
        let mut file = BufReader::new(file);
        let mut bytes = Vec::new();
        for line in 1.. {
            bytes.clear();
            let read = file.read_until(b'\n', &mut bytes);
            if read.map_err(|source| LoadError::Io { path: path.clone(), source })? == 0 {
                break;
            }
            if bytes.last() != Some(&b'\n') {
                return Err(LoadError::Torn { path, line });
            }
            let record = Record::from_line(&String::from_utf8_lossy(&bytes))
                .map_err(|source| LoadError::Foreign { path: path.clone(), line, source })?;
            if record.file() != Some(name) {
                return Err(LoadError::Misplaced { path, line });
            }
            self.add(record);
        }
        Ok(())
    }

    /// Takes one record in; one that stands in no file is left to the manifest.
    pub fn add(&mut self, record: Record) {
        match record {
            Record::Ready(_) | Record::UnreadLines(_) | Record::AnswersLost(_) => {}
            Record::Fetch(fetch) => self.fetches.push(fetch),
            Record::Dialed(dialed) => self.dialed.push(dialed),
            Record::DownloadInterval(interval) => self.intervals.push(interval),
            Record::Download(download) => self.downloads.push(download),
            Record::Accepted(accepted) => self.accepted.push(accepted),
            Record::Session(session) => self.sessions.push(session),
            Record::Answered(answered) => self.answered.push(answered),
            Record::Hold(hold) => self.holds.push(hold),
            Record::LoopTurn(turn) => self.turns.push(turn),
            Record::WorkerTotals(totals) => self.totals.push(totals),
            Record::Stretch(stretch) => self.stretches.push(stretch),
            Record::Blocked(blocked) => self.blocked.push(blocked),
            Record::CallTotals(calls) => self.calls.push(calls),
            Record::Absence(absence) => self.absences.push(absence),
            Record::WorkerSample(sample) => self.samples.push(sample),
            Record::SchedSample(sample) => self.sched.push(sample),
            Record::CpuSample(sample) => self.stolen.push(sample),
            Record::ListenerSample(sample) => self.listeners.push(sample),
            Record::SocketSample(sample) => self.sockets.push(sample),
        }
    }
}

/// The one field that every version of a manifest has.
#[derive(Deserialize)]
struct Version {
    schema_version: u32,
}

fn read_manifest(dir: &Path) -> Result<Manifest, LoadError> {
    let path = dir.join(MANIFEST);
    let text = std::fs::read(&path).map_err(|source| match source.kind() {
        io::ErrorKind::NotFound => LoadError::NoManifest { dir: dir.to_owned() },
        _ => LoadError::Io { path: path.clone(), source },
    })?;
    let wrong = |source| LoadError::Manifest { path: path.clone(), source };
    let found = serde_json::from_slice::<Version>(&text).map_err(wrong)?.schema_version;
    if found != SCHEMA_VERSION {
        return Err(LoadError::Schema { path, found });
    }
    serde_json::from_slice(&text).map_err(wrong)
}

/// Why a run directory cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// There is no directory of that name.
    #[error("{} is not a directory: name a run directory, as runs/<time>-<label>", dir.display())]
    NotADirectory {
        /// What was named.
        dir: PathBuf,
    },
    /// A directory, but not of a run.
    #[error(
        "{} is not a run directory: it has no {MANIFEST}; name one that turnstile made",
        dir.display()
    )]
    NoManifest {
        /// What was named.
        dir: PathBuf,
    },
    /// The manifest is torn or was changed by hand; the source names line and column.
    #[error("{} is not a manifest: restore it, or make the run again", path.display())]
    Manifest {
        /// The manifest.
        path: PathBuf,
        /// What is wrong, and where.
        source: serde_json::Error,
    },
    /// Made by another version of turnstile.
    #[error(
        "{} was made by {} turnstile, schema {found}; this one reads {SCHEMA_VERSION}: \
         read it with the turnstile that made it",
        path.display(),
        if *found < SCHEMA_VERSION { "an older" } else { "a newer" },
    )]
    Schema {
        /// The manifest.
        path: PathBuf,
        /// The schema version in it.
        found: u32,
    },
    /// A file that every run has is not there.
    #[error("{} is missing: the run directory is not whole; make the run again", path.display())]
    Missing {
        /// The file.
        path: PathBuf,
    },
    /// The last line has no end.
    #[error(
        "{}:{line} is torn: the run was killed while it wrote, so records are missing; \
         make the run again",
        path.display()
    )]
    Torn {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
    },
    /// A line that is no record.
    #[error(
        "{}:{line} is not ours: restore the file, or make the run again",
        path.display()
    )]
    Foreign {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        /// What is wrong with it.
        source: LineError,
    },
    /// A record that belongs into another file.
    #[error(
        "{}:{line} is a record of another file: restore the file, or make the run again",
        path.display()
    )]
    Misplaced {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
    },
    /// The file could not be read.
    #[error("cannot read {}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}
