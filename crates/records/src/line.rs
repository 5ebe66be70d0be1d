//! One record, one line: the form in which records leave a process.

use serde::{Deserialize, Serialize};

use crate::{
    Absence, Accepted, Answered, AnswersLost, Blocked, CallTotals, CpuSample, Dialed, Download,
    DownloadInterval, Fetch, Hold, ListenerSample, LoopTurn, Ready, SchedSample, Session,
    SocketSample, Stretch, UnreadLines, WorkerSample, WorkerTotals,
};

/// Version of every record and document. Fields may be added within one version.
pub const SCHEMA_VERSION: u32 = 1;

/// Anything a role says on its standard output: one JSON object a line, named by `record`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "record", rename_all = "snake_case")]
pub enum Record {
    /// A role is up.
    Ready(Ready),
    /// A fetch ended.
    Fetch(Fetch),
    /// A download's connection is open.
    Dialed(Dialed),
    /// Bytes of all downloads in an interval.
    DownloadInterval(DownloadInterval),
    /// A download ended.
    Download(Download),
    /// A worker accepted a connection.
    Accepted(Accepted),
    /// A session ended.
    Session(Session),
    /// The origin had a request.
    Answered(Answered),
    /// The origin had requests that it could not tell of.
    AnswersLost(AnswersLost),
    /// A long step.
    Hold(Hold),
    /// A long loop turn.
    LoopTurn(LoopTurn),
    /// A worker's count of its work.
    WorkerTotals(WorkerTotals),
    /// A stretch of a worker's time.
    Stretch(Stretch),
    /// A worker's sleep outside its poll.
    Blocked(Blocked),
    /// A worker's system calls.
    CallTotals(CallTotals),
    /// A worker that was not seen in its poll.
    Absence(Absence),
    /// A worker as the scheduler sees it.
    WorkerSample(WorkerSample),
    /// A thread's time on and without a CPU.
    SchedSample(SchedSample),
    /// CPU time withheld by the hypervisor.
    CpuSample(CpuSample),
    /// A listener's accept queue.
    ListenerSample(ListenerSample),
    /// A socket's queues.
    SocketSample(SocketSample),
    /// Lines of a foreign proxy's log that nobody could read.
    UnreadLines(UnreadLines),
}

impl Record {
    /// The record as one line of JSON, with its newline.
    ///
    /// # Errors
    /// [`LineError`] never arises for our own records, whose keys are all strings; it is handed on
    /// so that no writer has to assume that.
    pub fn to_line(&self) -> Result<String, LineError> {
        let mut line = serde_json::to_string(self).map_err(|source| LineError { source })?;
        line.push('\n');
        Ok(line)
    }

    /// Reads one line.
    ///
    /// # Errors
    /// The line is torn, not JSON, or a record this version does not know.
    pub fn from_line(line: &str) -> Result<Self, LineError> {
        serde_json::from_str(line).map_err(|source| LineError { source })
    }
}

/// A line that is not a record.
#[derive(Debug, thiserror::Error)]
#[error("not a record of schema version {SCHEMA_VERSION}")]
pub struct LineError {
    #[source]
    source: serde_json::Error,
}
