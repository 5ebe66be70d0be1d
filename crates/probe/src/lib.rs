//! What the threads and sockets of any process do, seen by the kernel: programs of BPF, which are
//! compiled already (bpf/, scripts/build-bpf.sh) and loaded by `aya`.
//!
//! Two ways of use. [`Watch`] tells holds of live processes, cheap enough to leave on: the dear hooks are
//! attached only while a hold is suspected. [`Tracer`] tells every step of a trial's workers, in the
//! records that the mirror tells of itself: turns, steps, holds, sessions. Where the kernel cannot be
//! asked, [`Means::Sample`] looks at `/proc` a thousand times a second: it knows when a worker was not
//! seen in its poll, and nothing of what it did there.
//!
//! Not for: starting proxies, configurations, access logs. What only a log knows of a session (its
//! request, its status) stands empty in its record.
//!
//! Invariants:
//! - Nothing is made up: what a means cannot see, it does not tell.
//! - Stretches of a worker follow each other without a gap, unless events were lost, which
//!   [`records::WorkerTotals::records_lost`] counts.
//! - What was attached ends with this process, however that ends.

mod background;
mod calls;
mod engine;
mod error;
mod guard;
mod hold;
pub mod process;
mod sample;
mod stacks;
mod steps;
mod target;
mod tracer;
mod watch;
mod wire;

pub use calls::Call;
pub use error::ProbeError;
pub use hold::{CountedFrom, Frame, Hold, HoldState, Module, Moved, Seen, Stack, Turns};
pub use target::Target;
pub use tracer::{ATTACHED_WITHIN, Means, STOPPED_WITHIN, Tracer, means};
pub use watch::{READ_EVERY, Watch};
