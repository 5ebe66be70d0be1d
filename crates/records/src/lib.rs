//! Units, and all that crosses a process boundary or is kept: records, and the options that roles are
//! handed.
//!
//! A role (origin, proxy, slow, fast) prints one [`Record`] a line on its
//! standard output; the harness files those lines in a run directory and makes
//! [`Summary`] from them. Both sides know each other by this crate alone.
//!
//! Not for: any arithmetic on records beyond units. Nothing here reads a clock or a
//! socket, and no file but those of a run directory ([`RunRecords::load`]).
//!
//! Invariants:
//! - Times are integers on `CLOCK_MONOTONIC` of the host that wrote the record, with the unit in the
//!   field's name.
//! - Fields are only ever added within one [`SCHEMA_VERSION`].

mod arm;
mod arm_row;
mod cause;
mod download;
mod fetch;
mod line;
mod manifest;
mod options;
mod ready;
pub mod run_dir;
mod run_records;
mod seen;
mod session;
mod summary;
mod units;
mod verdict;
mod worker;

pub use arm::{Arm, Namespaces, Pin, Placement, Recording};
pub use arm_row::{ArmRow, ArmSpec, shell_line};
pub use cause::{
    Cause, CauseShare, HiddenCause, Holder, HoldingStep, LateSummary, Law, LogTruth, WorstFetch,
};
pub use download::{Dialed, Download, DownloadEnd, DownloadInterval, Requests, SlowOrder};
pub use fetch::{Fetch, Outcome, OutcomeCounts, Phase};
pub use line::{LineError, Record, SCHEMA_VERSION};
pub use manifest::{Fault, Host, Manifest, PhaseSpan, RoleProcess, Side};
pub use options::{
    AcceptMode, Arrivals, BufferingMode, Coding, Congestion, Content, FaultToggles, FetchToggles,
    ListenerMode, LogMode, ProxyKind, ProxyToggles, Rcvbuf, ReadPolicy, ServerToggles, Sink,
    SlowToggles, Spool, ToggleError, TraceMode, from_words, socket_addr, some_time, within,
};
pub use ready::{Effective, Program, Ready, Role, SocketSetting, UnreadLines, Visibility};
pub use run_records::{LoadError, RunRecords};
pub use seen::{
    Absence, Blocked, CallTotal, CallTotals, CounterSpan, CpuSample, ListenerSample, SchedSample,
    SocketEnd, SocketSample, Watched,
};
pub use session::{
    Accepted, Answered, AnswersLost, LogEscaped, LogSeconds, LogTimes, Session, SessionEnd,
};
pub use summary::{
    AbsenceSummary, BlockedSummary, CompletionUs, FetchSummary, LatencyUs, LogGap, ProxySummary,
    SchedulerFigures, SlowSummary, Summary, WorkerSummary,
};
pub use units::{
    Bytes, BytesPerSec, Micros, MonoNs, ParseUnitError, count, percent, percent_beside,
};
pub use verdict::{Caveat, CaveatCode, STARVED_SHARE, Verdict};
pub use worker::{Hold, LoopTurn, StepEnd, StepHistogram, Stretch, WorkerSample, WorkerTotals};

#[cfg(test)]
mod tests;
