//! What the threads and sockets of any process do, seen by the kernel.

mod error;
mod seen;
mod watch;

pub use error::ProbeError;
pub use seen::{Call, Hold, HoldOptions, HoldState, Moved, Seen, Turns};
pub use watch::{READ_EVERY, Watch};
