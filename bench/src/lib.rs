//! Criterion benchmarks of the data plane: what a byte costs on its way, and what a head costs.
//!
//! The roles run as they do in a trial: real processes, on ports that the kernel chose, on CPUs
//! of their own. Only who starts them differs.
//!
//! Not for: the effect itself. Whether a setting starves its fetches is a trial's verdict.
//!
//! Invariants:
//! - Nothing is measured but the code that is shipped; no role knows that it is measured.
//! - A time comes from the records of the client that received the bytes.
//! - A load that stands still or loses a download fails the benchmark; it never becomes a figure.

mod child;
mod cpu_plan;
pub mod direct_vs_proxied;
mod heads;
pub mod http_head;
mod load;
mod meter;
pub mod relay;
pub mod roles;
