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

mod answered;
mod arm;
mod arm_row;
mod cause;
mod download;
mod fetch;
mod line;
mod log_text;
mod manifest;
mod options;
mod order;
mod outcome;
mod ready;
pub mod run_dir;
mod run_records;
mod sample;
mod seen;
mod server;
mod session;
mod step;
mod stretch;
mod summary;
mod units;
mod verdict;
mod worker;

pub use answered::{Answered, AnswersLost};
pub use arm::{Arm, Namespaces, Pin, Placement, Recording};
pub use arm_row::{ArmRow, ArmSpec, shell_line};
pub use cause::{
    Cause, CauseShare, HiddenCause, Holder, HoldingStep, LateSummary, Law, LogTruth, WorstFetch,
};
pub use download::{Dialed, Download, DownloadEnd, DownloadInterval};
pub use fetch::{Fetch, Phase};
pub use line::{LineError, Record, SCHEMA_VERSION};
pub use log_text::{LogEscaped, LogSeconds};
pub use manifest::{Fault, Host, Manifest, PhaseSpan, RoleProcess, Side};
pub use options::{
    AcceptMode, Arrivals, BufferingMode, Coding, Congestion, Content, FaultToggles, FetchToggles,
    ListenerMode, LogMode, ParsePolicyError, ProxyKind, ProxyToggles, Rcvbuf, ReadPolicy,
    ServerToggles, Sink, SlowToggles, Spool, ToggleError, TraceMode, from_words, socket_addr,
    some_time, within,
};
pub use order::{Requests, SlowOrder};
pub use outcome::{Outcome, OutcomeCounts};
pub use ready::{Effective, Ready, Role, SocketSetting};
pub use run_records::{LoadError, RunRecords};
pub use sample::{
    CounterSpan, CpuSample, ListenerSample, SchedSample, SocketEnd, SocketSample, Watched,
};
pub use seen::{Absence, Blocked, CallTotal, CallTotals};
pub use server::{Program, UnreadLines, Visibility};
pub use session::{Accepted, LogTimes, Session, SessionEnd};
pub use step::{Hold, LoopTurn, StepEnd, StepHistogram, WorkerTotals};
pub use stretch::Stretch;
pub use summary::{
    AbsenceSummary, BlockedSummary, CompletionUs, FetchSummary, LatencyUs, LogGap, ProxySummary,
    SchedulerFigures, SlowSummary, Summary, WorkerSummary,
};
pub use units::{
    Bytes, BytesPerSec, Micros, MonoNs, ParseUnitError, count, percent, percent_beside,
};
pub use verdict::{Caveat, CaveatCode, STARVED_SHARE, Verdict};
pub use worker::WorkerSample;

#[cfg(test)]
mod tests;
