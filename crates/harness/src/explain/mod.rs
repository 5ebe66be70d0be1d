//! What held each late fetch, with the evidence, and how much remains unexplained.
//!
//! A fetch is laid on the life of the worker that owned it, joined by its client's port; both are on
//! one clock. `docs/model.md` says how each cause is told from the others.
//!
//! Not for: what the run proves ([`crate::judge`]) or wording ([`crate::render`]).
//!
//! Invariants:
//! - Pure: from records alone, so that it can be made again.
//! - The parts of a fetch sum to its time.
//! - A cause that the records cannot show is named in [`records::LateSummary::hidden`]; its time is
//!   `unexplained`, never another cause's.

mod answers;
mod cumulative;
mod fates;
#[cfg(test)]
mod fixture;
mod ground;
mod late;
mod law;
mod life;
mod log_truth;
mod queues;
mod shares;
mod split;
pub mod story;
mod timeline;

pub use fates::{Fate, fates};
pub(crate) use late::{LATE_FACTOR, explain};
pub(crate) use law::law;
pub(crate) use log_truth::log_truth;
pub use shares::Shares;
pub use split::{FetchSplit, Piece};
