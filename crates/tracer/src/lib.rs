//! Workers of a proxy that does not tell of itself, seen from outside and told in the records that
//! the mirror tells of itself.
//!
//! Two means. [`Means::Bpftrace`] sees every return of every system call: turns, steps, holds,
//! sessions. [`Means::Sample`] looks at `/proc` a thousand times a second: it knows when a worker
//! was not seen in its poll, and nothing of what it did there.
//!
//! Not for: starting proxies, configurations, access logs. What only a log knows of a session (its
//! request, its status) stands empty in its record.
//!
//! Invariants:
//! - Nothing is made up: what a means cannot see, it does not tell.
//! - Stretches of a worker follow each other without a gap, unless events were lost, which
//!   [`records::WorkerTotals::records_lost`] counts.
//! - What was started ends with this process, however that ends.

mod bpf;
mod error;
mod means;
mod options;
mod patience;
mod run;
mod sample;
mod tracer;
mod workers;

pub use error::TracerError;
pub use means::{Means, means};
pub use options::{EXAMPLES, TracerOptions};
pub use patience::{ATTACHED_WITHIN, MEANS_WITHIN, READY_WITHIN, STOPPED_WITHIN};
pub use run::run;
pub use tracer::{Target, Tracer};
pub use workers::{Which, targets};
