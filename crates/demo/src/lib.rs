//! The show for a stage: its acts, what it knows of two trials, and how that is drawn.
//!
//! - [`Act`], [`Timing`]: what follows what, and how long it takes
//! - [`ArmView`]: what is known of one arm, made from the records of its trial
//! - [`Show`]: the show as a state machine: keys, records and time go in, orders come out
//! - [`draw`]: the picture
//!
//! Not for: terminals, processes, files or clocks. Who runs the show owns those.
//!
//! Invariants:
//! - What moves comes from records. What no record tells yet is shown as silence, not guessed.
//! - No key, record, time or size of a screen can panic.
//! - Good and failed, and whose step a worker is in, are told by glyph as well as by colour.

mod act;
mod arm;
mod draw;
mod lane;
mod show;
mod words;

pub use act::{Act, Side, Timing};
pub use arm::{ArmPlan, ArmView, Counts, Stage};
pub use draw::draw;
pub use show::{Key, Leave, Order, Show};

#[cfg(test)]
mod tests;
