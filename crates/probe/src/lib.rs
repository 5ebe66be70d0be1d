//! What the threads and sockets of any process do, seen by the kernel.

#![expect(dead_code, reason = "what is told of every step is read next")]

mod calls;
mod engine;
mod error;
mod seen;
mod watch;
mod wire;

pub use calls::Call;
pub use error::ProbeError;
pub use seen::{Hold, HoldOptions, HoldState, Moved, Seen, Turns};
pub use watch::{READ_EVERY, Watch};
