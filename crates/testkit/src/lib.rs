//! What the tests of several crates share: processes that end with their test, waiting that ends and
//! says what it waited for, looks at other processes, sockets on free ports, reasons for a skip, records
//! of runs that never were ([`fixture`]), published schemas ([`schema`]).
//!
//! Not for: anything that is shipped or measured, which has no use for a crate that panics; what one
//! crate alone needs, such as its command line or its particular origin: that stays in the `support`
//! of its tests.
//!
//! Invariants:
//! - What fails panics, with the place of the test as the place of the panic.
//! - Whatever is started is killed and reaped when it is dropped.
//! - Whatever is started has the defaults of all signals, however the tests were started.
//! - What hangs fails after [`PATIENCE`], and is named.

pub mod fixture;
mod host;
mod running;
pub mod schema;
mod socket;
#[cfg(test)]
mod tests;
mod wait;

pub use host::{
    await_gone, family, installed, is_gone, is_root, kill, note, open_files, pids, program, script,
    skip, with_open_files,
};
pub use running::{Process, Running, Said, say};
/// What processes are sent.
pub use rustix::process::Signal;
pub use socket::{body, connect, free_addr, listen, origin, read_head, serve};
pub use wait::{PATIENCE, Turn, in_turn, until};

/// A server in Python that holds its only loop for as long as an answer lasts: the file to be run.
pub const NEVER_POLLS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/never_polls.py");
