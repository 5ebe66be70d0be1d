//! The words of judgement.

use serde::{Deserialize, Serialize};
use strum::{Display, IntoStaticStr};

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

impl Verdict {
    /// The word used in records and reports.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// A reason to trust a number less, attached to the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Caveat {
    /// Which one, for programs.
    pub code: CaveatCode,
    /// What it means here, for people.
    pub message: String,
}

/// Every caveat there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CaveatCode {
    /// Some workers hold no download, which bounds the failed share.
    UnevenPlacement,
    /// Downloads never moved, as others held their worker.
    DownloadsHeld,
    /// A socket buffer is not what was asked for.
    BufferNotAsAsked,
    /// The fast client was late now and then.
    ClientLate,
    /// Records were lost, by count.
    RecordsLost,
    /// This host could not try some fetches.
    FetchesUntried,
    /// Workers share CPUs with the load.
    SharedCpu,
    /// The scheduler may move everything: nothing is pinned.
    NotPinned,
    /// A worker turned clients away, or stopped accepting, for want of connections or descriptors.
    AcceptPaused,
    /// The hypervisor took CPU time away during the measurement.
    StolenCpu,
    /// The machine was busy with other work.
    BusyHost,
    /// Few fetches: percentiles are coarse.
    FewFetches,
    /// The kernel hides a figure.
    FigureMissing,
    /// The run was cut short.
    Interrupted,
}
