//! What held each fetch, with the evidence, and how much remains unexplained.
//!
//! A fetch is laid on the life of the worker that owned it, joined by its client's port; both are on
//! one clock. `docs/internals/model.md` says how each cause is told from the others.
//!
//! - [`context`]: what the fetches of a run are laid upon
//! - [`cpu`]: CPU time, as it was counted; how much of a worker's time it had none, and why
//! - [`timeline`]: one worker's life
//! - [`crowd`]: the life of a server whose threads hand work to each other
//! - [`life`]: one fetch's life
//! - [`split`]: a life laid on a timeline, and divided among causes
//! - [`late`]: the late fetches, and causes that no record could show
//!
//! Not for: what the run proves ([`crate::judge`]) or what is told of it ([`crate::report`]).
//!
//! Invariants:
//! - The parts of a fetch sum to its time.
//! - A cause that the records cannot show is named in [`records::LateSummary::hidden`]; its time is
//!   `unexplained`, never another cause's.

pub(crate) mod context;
pub(crate) mod cpu;
pub(crate) mod crowd;
pub(crate) mod late;
pub(crate) mod life;
mod shares;
pub(crate) mod split;
pub(crate) mod timeline;

pub(crate) use context::Context;
pub use late::LATE_FACTOR;
pub(crate) use late::explain;
pub use life::Hands;
pub use shares::Shares;
pub use split::FetchSplit;
pub(crate) use split::Piece;
