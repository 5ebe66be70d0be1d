//! Many trials, one after the other: arms in turn, round after round, each trial in a process of its
//! own, so that none inherits anything from the one before.
//!
//! - [`arm`]: one setting, as typed
//! - [`plan`]: which trial when
//! - [`journal`]: what was planned and what is done, on the disk
//! - [`runner`]: starts the trials and waits for them
//!
//! Not for: comparing or judging. Who has run a campaign does that from its summaries.
//!
//! Invariants:
//! - A trial is the command that stands in its run directory: nobody needs a campaign to repeat it.
//! - What is done stays done: a campaign that was cut short can be told from its journal.
//! - All trials are of one build of every program, on one machine since one boot: a campaign does not
//!   go on later, it is run again.

pub mod arm;
pub mod journal;
pub mod plan;
pub mod runner;

pub use arm::ArmError;
pub use journal::{Campaign, CampaignError, Done, Journal};
pub use plan::{MAX_ROUNDS, Seed, Slot, order};
pub use runner::{Ended, run};
