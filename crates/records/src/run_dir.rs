//! The run directory: one place for everything a trial leaves behind. Every kind of record: in which form it
//! leaves a process, in which file of a run it stands, which list takes it when the run is read; and how a
//! run is read back, typed, or with a message that says which line is wrong.
//!
//! The names below are the contract between who writes a run and who reads it, and with other
//! programs; they never change within one schema version. Every `.ndjson` file holds one [`Record`] a
//! line, named by its `record` field; [`Record::file`] says which record stands in which file.
//!
//! Invariant: reading is all or nothing. A record that cannot be read is never skipped, because every figure
//! made from the rest would look ordinary.

use std::error::Error;
use std::fmt::Display;
use std::fs;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};
use strum::VariantNames;

use crate::{
    Absence, Accepted, Answered, AnswersLost, Blocked, CallTotals, CpuSample, Dialed, Download,
    DownloadInterval, Fetch, FetchTotals, Hold, ListenerSample, LoopTurn, Manifest, Ready,
    SchedSample, Session, SocketSample, Stretch, Threads, ThrottleSample, UnreadLines,
    WorkerSample, WorkerTotals,
};

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

/// Version of every record and document. Fields may be added within one version.
pub const SCHEMA_VERSION: u32 = 1;

/// Makes [`Record`] and [`RunRecords`] of one table: records that the manifest tells of, and those that
/// are kept, each with its file and its list.
macro_rules! records {
    (
        told { $($(#[$said:meta])* $told:ident,)* }
        kept { $($(#[$doc:meta])* $kind:ident in $file:ident as $list:ident,)* }
    ) => {
        /// Anything a role says on its standard output: one JSON object a line, named by `record`.
        #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, VariantNames)]
        #[serde(tag = "record", rename_all = "snake_case")]
        #[strum(serialize_all = "snake_case")]
        pub enum Record {
            $($(#[$said])* $told($told),)*
            $($(#[$doc])* $kind($kind),)*
        }

        /// Everything a run recorded, in the order of its files.
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct RunRecords {
            /// What the run was.
            pub manifest: Manifest,
            $($(#[$doc])* pub $list: Vec<$kind>,)*
        }

        impl Record {
            /// The file in which it stands; `None`: in none, since the manifest tells of it.
            pub const fn file(&self) -> Option<&'static str> {
                match self {
                    $(Self::$told(_) => None,)*
                    $(Self::$kind(_) => Some($file),)*
                }
            }
        }

        impl RunRecords {
            /// Takes one record in; one that stands in no file is left to the manifest.
            pub fn add(&mut self, record: Record) {
                match record {
                    $(Record::$told(_) => {})*
                    $(Record::$kind(one) => self.$list.push(one),)*
                }
            }
        }
    };
}

records! {
    told {
        /// A role is up.
        Ready,
        /// The origin had requests that it could not tell of.
        AnswersLost,
        /// Lines of a foreign proxy's log that nobody could read.
        UnreadLines,
    }

    kept {
        /// A fetch ended.
        Fetch in FETCHES as fetches,
        /// Fetches without a record of their own.
        FetchTotals in FETCHES as fetch_totals,
        /// A download's connection is open.
        Dialed in DOWNLOADS as dialed,
        /// Bytes of all downloads in an interval.
        DownloadInterval in DOWNLOADS as intervals,
        /// A download ended.
        Download in DOWNLOADS as downloads,
        /// A worker accepted a connection.
        Accepted in SESSIONS as accepted,
        /// A session ended.
        Session in SESSIONS as sessions,
        /// The origin had a request.
        Answered in ORIGIN as answered,
        /// A long step.
        Hold in STEPS as holds,
        /// A long loop turn.
        LoopTurn in STEPS as turns,
        /// A worker's count of its work.
        WorkerTotals in STEPS as totals,
        /// A stretch of a worker's time.
        Stretch in STEPS as stretches,
        /// A worker's sleep outside its poll, as traced.
        Blocked in STEPS as blocked,
        /// Who of a program's threads ran, and for whom, as traced.
        Threads in STEPS as threads,
        /// A worker's system calls, as traced.
        CallTotals in STEPS as calls,
        /// A worker that was not seen in its poll.
        Absence in STEPS as absences,
        /// A worker as the scheduler sees it.
        WorkerSample in WORKERS as samples,
        /// A thread's time on and without a CPU.
        SchedSample in WORKERS as sched,
        /// CPU time withheld by the hypervisor.
        CpuSample in WORKERS as stolen,
        /// CPU time withheld by a quota.
        ThrottleSample in WORKERS as throttled,
        /// A listener's accept queue.
        ListenerSample in SOCKETS as listeners,
        /// A socket's queues.
        SocketSample in SOCKETS as sockets,
    }
}

impl Record {
    /// The words that name them on a line.
    pub const KINDS: &[&str] = Self::VARIANTS;

    /// The record as one line of JSON, with its newline.
    ///
    /// # Errors
    /// [`LineError`] never arises for our own records, whose keys are all strings; it is handed on
    /// so that no writer has to assume that.
    pub fn to_line(&self) -> Result<String, LineError> {
        Ok(serde_json::to_string(self)? + "\n")
    }

    /// Reads one line.
    ///
    /// # Errors
    /// The line is torn, not JSON, or a record this version does not know.
    pub fn from_line(line: &str) -> Result<Self, LineError> {
        Ok(serde_json::from_str(line)?)
    }
}

/// A line that is not a record.
#[derive(Debug, thiserror::Error)]
#[error("not a record of schema version {SCHEMA_VERSION}")]
pub struct LineError(#[from] serde_json::Error);

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
        let text = fs::read(path).map_err(|error| unread(path, path, missing, error))?;
        for (line, bytes) in (1..).zip(text.split_inclusive(|byte| *byte == b'\n')) {
            let wrong = |problem| LoadError::of(format!("{}:{line}", path.display()), problem);
            if !bytes.ends_with(b"\n") {
                return Err(wrong(
                    "is torn: the run was killed while it wrote, so records are missing; make the \
                     run again",
                ));
            }
            let record = Record::from_line(&String::from_utf8_lossy(bytes)).map_err(|error| {
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
