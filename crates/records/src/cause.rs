//! The words of judgement: what a trial proves, and what weakens that; what held late fetches, and the
//! figures a summary has of them.

use serde::{Deserialize, Serialize};
use strum::{Display, EnumCount, EnumMessage, IntoStaticStr, VariantArray};

use crate::units::every;
use crate::{Bytes, Micros, Outcome, Phase, StepEnd, Visibility};

/// Where time of a late fetch went; with each what it means, in a few words that fit behind its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[derive(Display, EnumCount, EnumMessage, IntoStaticStr, VariantArray)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Cause {
    /// Inside one step of another session, at least as long as a hold.
    #[strum(message = "inside one long step of another session")]
    HeldByStep,
    /// Inside many short steps of others.
    #[strum(message = "inside many short steps of others")]
    Convoy,
    /// In a listener's queue while the worker turned but did not accept it.
    #[strum(message = "waiting to be accepted while the worker turned")]
    AcceptQueue,
    /// Its handshake was dropped because a listener's queue was full.
    #[strum(message = "handshake dropped: the listener's queue was full")]
    BacklogOverflow,
    /// The worker was ready to run and had no CPU.
    #[strum(message = "the worker was ready and had no CPU")]
    OffCpuRunnable,
    /// The worker was ready to run, and its host gave it no CPU: its control group's quota was used up,
    /// or the hypervisor ran somebody else.
    #[strum(message = "CPU withheld by a quota or the hypervisor")]
    CpuWithheld,
    /// The worker slept in a system call other than its poll.
    #[strum(message = "the worker slept in a call other than its poll")]
    OffCpuBlocked,
    /// All CPUs that the server's threads could use were busy, with other connections.
    #[strum(message = "the server's threads busy with other connections")]
    ThreadsBusy,
    /// Its request was read, and no thread of the server ran: it waited for a lock, a timer or a turn that
    /// is kept inside the program.
    #[strum(message = "read, while no thread ran: a lock or a timer in the server")]
    BehindLock,
    /// Threads that serve slept in calls of their own work, and none was left for it.
    #[strum(message = "the server's threads asleep in other requests, none left")]
    PoolUsedUp,
    /// Its own session waited for the origin: it had not answered yet, whatever the worker did, or
    /// its bytes had not come while the worker was idle.
    #[strum(message = "waiting for the origin to answer or send")]
    Upstream,
    /// Its request waited for a worker of the origin: it answers so many at a time, and all were busy.
    #[strum(message = "all workers of the origin were busy")]
    UpstreamWorkers,
    /// Its proxy had no port left to dial the origin from: however soon it was told so, it failed for
    /// that, and all its time counts.
    #[strum(message = "no port was left to dial the origin from")]
    NoPorts,
    /// Its own bytes were moving.
    #[strum(message = "its own bytes moving")]
    OwnTransfer,
    /// Its client was late, or did not read.
    #[strum(message = "its client was late or did not read")]
    Client,
    /// None of these can be shown.
    #[strum(message = "nothing recorded shows why")]
    Unexplained,
}

impl Cause {
    /// Every cause, in the order of the design.
    pub const ALL: [Self; Self::COUNT] = every(Self::VARIANTS);

    /// Whether it can be of a server that was seen so: steps are of one thread each, and where threads hand
    /// work to each other no step is one thread's.
    pub const fn is_of(self, sight: Visibility) -> bool {
        let is_crowd = matches!(sight, Visibility::Threads);
        match self {
            Self::ThreadsBusy | Self::BehindLock | Self::PoolUsedUp => is_crowd,
            Self::HeldByStep | Self::Convoy | Self::AcceptQueue => !is_crowd,
            _ => true,
        }
    }

    /// What it means, in a few words that fit behind its name.
    pub fn words(self) -> &'static str {
        self.get_message().unwrap_or_default()
    }
}

/// One cause's part in the late time of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CauseShare {
    /// Which one.
    pub cause: Cause,
    /// Its part of the late time, 0 to 1.
    pub share_of_late_time: f64,
    /// The same as time, over all late fetches.
    pub time_us: Micros,
    /// Late fetches of which it took the largest part.
    pub fetches: u64,
}

/// The late fetches of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LateSummary {
    /// Of which phase they are: those without load where these stall by themselves, else those under it.
    #[serde(default)]
    pub phase: Phase,
    /// A fetch is late when it failed or took longer than this: 3 x idle p99; without load, as long as
    /// one must take to stall.
    pub limit_us: Micros,
    /// How many were late.
    pub fetches: u64,
    /// Their whole time, from intended start to end: what the causes' shares are shares of.
    pub time_us: Micros,
    /// The one that waited longest; of those as long to a hundredth, one whose holder is known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub worst: Option<WorstFetch>,
    /// Causes that this run could not have shown, and why: their time stands under `unexplained`.
    #[serde(default)]
    pub hidden: Vec<HiddenCause>,
}

/// A cause for which the evidence is not there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HiddenCause {
    /// Which one.
    pub cause: Cause,
    /// Why it cannot be told.
    pub reason: String,
}

/// The fetch that waited longest, and what took the largest part of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorstFetch {
    /// Its number.
    pub fetch: u64,
    /// Intended start to end.
    pub response_us: Micros,
    /// How it ended.
    pub outcome: Outcome,
    /// The worker that owned it, as far as known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub worker: Option<u32>,
    /// The largest cause.
    pub cause: Cause,
    /// That cause's time.
    pub cause_us: Micros,
    /// The step it waited longest for, if a step held it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub step: Option<HoldingStep>,
}

impl WorstFetch {
    /// The part of its time that the largest cause took, 0 to 1.
    pub fn cause_share(&self) -> f64 {
        self.cause_us.0 as f64 / self.response_us.0.max(1) as f64
    }
}

/// A step that held a fetch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HoldingStep {
    /// Whose step it was.
    pub holder: Holder,
    /// Which worker made it.
    pub worker: u32,
    /// Its length.
    pub length_us: Micros,
    /// How much of that the fetch waited.
    pub waited_us: Micros,
    /// Bytes read from the upstream in it.
    pub bytes: Bytes,
    /// What ended it.
    pub ended_by: StepEnd,
}

/// Whose step held a fetch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Holder {
    /// A download, by slot.
    Download(u32),
    /// The same where slow work sends a body.
    Upload(u32),
    /// Another fetch, by number.
    Fetch(u64),
    /// A session that joins neither: its number within the worker.
    Session(u64),
}

/// The law beside the measurement; `docs/internals/model.md` derives it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Law {
    /// Loop turns that a fetch needs.
    pub turns: f64,
    /// Downloads that a worker holds.
    pub downloads_per_worker: f64,
    /// Bytes that one step of a download moves.
    pub bytes_per_step: Bytes,
    /// Bytes of a fetch, which the worker moves as well.
    #[serde(default)]
    pub fetch_bytes: Bytes,
    /// Bytes per second that one worker moves, while it shares its CPU as in the run.
    pub drain_rate: crate::BytesPerSec,
    /// What the law says a fetch takes.
    pub predicted_us: Micros,
    /// The measured median.
    pub measured_us: Micros,
}

/// The access log beside what clients saw, over the fetches of the measure phase.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LogTruth {
    /// Fetches that failed for their client.
    pub failed: u64,
    /// Of these, logged with status 200.
    pub called_ok: u64,
    /// Of these, in no log line.
    pub unlogged: u64,
    /// Fetches, failed or not, whose logged time was under half of the true one, 10 ms or more off.
    pub understated: u64,
    /// Fetches whose logged time was over twice the true one, 10 ms or more off.
    pub overstated: u64,
    /// The largest difference between logged and true time.
    pub largest_gap_us: Micros,
}

/// What a trial proves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[derive(Display, IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Verdict {
    /// Fetches failed or waited, because of the load.
    Starved,
    /// Some fetches were much later than without load.
    Degraded,
    /// Fetches were served under load as without.
    Healthy,
    /// The run cannot carry a conclusion; the reasons say why.
    Inconclusive,
}

/// Failed share under load from which a run is [`Verdict::Starved`]. 0.05. No text may round a share
/// across it ([`crate::percent_beside`]).
pub const STARVED_SHARE: f64 = 0.05;

/// A reason to trust a number less, attached to the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Caveat {
    /// Which one, for programs.
    pub code: CaveatCode,
    /// What it means here, for people.
    pub message: String,
}

/// Every caveat there is, the weightiest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CaveatCode {
    /// The run was cut short.
    Interrupted,
    /// Some workers hold no download, which bounds the failed share.
    UnevenPlacement,
    /// Downloads never moved, as others held their worker.
    DownloadsHeld,
    /// A socket buffer is not what was asked for.
    BufferNotAsAsked,
    /// Records were lost, by count.
    RecordsLost,
    /// This host could not try some fetches.
    FetchesUntried,
    /// A worker turned clients away, or stopped accepting, for want of connections or descriptors.
    AcceptPaused,
    /// The fast client was late now and then.
    ClientLate,
    /// The hypervisor took CPU time away during the measurement.
    StolenCpu,
    /// The machine was busy with other work.
    BusyHost,
    /// Workers share CPUs with the load.
    SharedCpu,
    /// The scheduler may move everything: nothing is pinned.
    NotPinned,
    /// The kernel hides a figure.
    FigureMissing,
    /// Not all packets were kept that should have been.
    PacketsMissing,
    /// Few fetches: percentiles are coarse.
    FewFetches,
    /// Fetches follow each other: what stalls them also keeps them from being made.
    ClosedLoop,
}
