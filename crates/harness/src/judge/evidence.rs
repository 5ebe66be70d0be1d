//! What the judge sees.

use records::{Manifest, Micros, Summary};

use super::baseline::Baseline;

/// A run's figures and the facts beside them. The verdict, its reasons and the caveats in
/// `summary` are not looked at.
#[derive(Clone, Copy, Debug)]
pub struct Evidence<'a> {
    /// What the run was.
    pub manifest: &'a Manifest,
    /// Its figures.
    pub summary: &'a Summary,
    /// Length of the whole run.
    pub elapsed_us: Micros,
    /// Whether there was a measure phase.
    pub measured: Measured,
    /// What the idle phase is worth.
    pub baseline: Baseline,
    /// Slots of downloads that never received a byte.
    pub never_moved: &'a [u32],
    /// Downloads that this host had nothing left to dial with.
    pub undialled: u64,
    /// Times in the measure phase in which no download received a byte.
    pub still: &'a [Micros],
    /// Downloads that ended in the measure phase otherwise than whole, while the trial wanted them.
    pub broken: u64,
    /// Fetches that were started but of which no record is there.
    pub fetches_missing: u64,
    /// Records that the proxy's workers could not hand on.
    pub records_lost: u64,
    /// Fetches under load that were answered, but of which the proxy has no session.
    pub answers_unjoined: u64,
    /// What workers that were not traced served in a traced run, where that is so much that steps
    /// are unknown.
    pub untraced: Option<Untraced>,
    /// Workers that turned clients away or stopped accepting, and how often.
    pub accept_pauses: &'a [(u32, u64)],
}

/// What clients got under load from nobody who was traced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Untraced {
    /// Answered fetches.
    pub answers: u64,
    /// Of so many.
    pub of_answers: u64,
    /// Downloads that moved.
    pub downloads: u64,
    /// Of so many.
    pub of_downloads: u64,
}

/// Whether a run came to its measure phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measured {
    /// It did, though it may have been cut short.
    Began,
    /// It ended before.
    Never,
}
