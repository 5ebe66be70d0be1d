//! The fetches: small objects over new connections, timed, with a hard cap.
//!
//! It measures what a short request suffers, so it must not suffer itself, nor take the CPU that the
//! load needs: one thread for all fetches, a timer of the kernel's own precision, large reads.
//!
//! Not for: keep-alive, pipelining, TLS, or judging what it measured.
//!
//! Invariants:
//! - Every fetch that starts ends in exactly one record, whatever happens to it.
//! - In an open loop the intended starts depend on the clock alone, never on earlier fetches; the
//!   client's own delay is the difference between `start_ns` and `intended_ns`.
//! - The cap runs from the real start, over connect, head and body, and no fetch older than its cap
//!   is called ok.

mod alarm;
mod fetch;
mod options;
mod run;
mod schedule;

pub use options::FastOptions;
pub use run::run;
