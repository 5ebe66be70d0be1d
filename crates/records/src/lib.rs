//! Units, and all that crosses a process boundary or is kept: records, and the options that roles are
//! handed.
//!
//! A role (origin, proxy, slow, fast) prints one [`Record`] a line on its
//! standard output; the harness files those lines in a run directory and makes
//! [`Summary`] from them. Both sides know each other by this crate alone.
//!
//! Not for: any arithmetic on records beyond units. Nothing here reads a clock or a
//! socket, and no file but those of a run directory ([`RunRecords::load`]).
//!
//! Invariants:
//! - Times are integers on `CLOCK_MONOTONIC` of the host that wrote the record, with the unit in the
//!   field's name.
//! - Fields are only ever added within one [`SCHEMA_VERSION`].

mod arm;
mod cause;
mod fetch;
mod manifest;
mod options;
mod packets;
pub mod run_dir;
mod seen;
mod session;
mod summary;
mod units;
mod worker;

pub use arm::*;
pub use cause::*;
pub use fetch::*;
pub use manifest::*;
pub use options::*;
pub use packets::*;
pub use run_dir::{LineError, LoadError, Record, RunRecords, SCHEMA_VERSION};
pub use seen::*;
pub use session::*;
pub use summary::*;
pub use units::*;
pub use worker::*;

/// Each of these is known by a word.
macro_rules! named {
    ($($kind:ty),+) => {$(
        impl $kind {
            /// The word used in records, flags and reports.
            pub fn name(self) -> &'static str {
                self.into()
            }
        }
    )+};
}

named!(Cause, Outcome, Phase, Role, Verdict);

#[cfg(test)]
mod tests;
