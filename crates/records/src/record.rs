//! Every kind of record: in which form it leaves a process, in which file of a run it stands, and which
//! list takes it when the run is read.

use serde::{Deserialize, Serialize};
use strum::VariantNames;

use crate::run_dir::{DOWNLOADS, FETCHES, ORIGIN, SESSIONS, SOCKETS, STEPS, WORKERS};
use crate::{
    Absence, Accepted, Answered, AnswersLost, Blocked, CallTotals, CpuSample, Dialed, Download,
    DownloadInterval, Fetch, FetchTotals, Hold, ListenerSample, LoopTurn, Manifest, Ready,
    SchedSample, Session, SocketSample, Stretch, Threads, ThrottleSample, UnreadLines,
    WorkerSample, WorkerTotals,
};

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
