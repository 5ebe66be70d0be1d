//! The fetches: small objects, timed, with a hard cap.
//!
//! It measures what a short request suffers, so it must not suffer itself, nor take the CPU that the
//! load needs: one thread for all fetches, a timer of the kernel's own precision, large reads.
//!
//! Not for: pipelining, TLS, or judging what it measured.
//!
//! Invariants:
//! - Every fetch that starts ends in exactly one record, whatever happens to it; of a closed loop, which
//!   makes as many as the server answers, the most are counted together (`tally`).
//! - In an open loop the intended starts depend on the clock alone, never on earlier fetches; the
//!   client's own delay is the difference between `start_ns` and `intended_ns`.
//! - The cap runs from the real start, over connect, head and body, and no fetch older than its cap
//!   is called ok.

mod alarm;
mod fetch;
mod options;
mod run;
mod schedule;
mod tally;

pub use options::FastOptions;
pub use run::run;
