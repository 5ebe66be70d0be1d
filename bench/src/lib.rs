//! Criterion benchmarks: what a small fetch suffers beside downloads, by the proxy's settings, and
//! of the data plane what a byte costs on its way and a head in the parser.
//!
//! The roles run as they do in a trial: real processes, on ports that the kernel chose, on CPUs
//! of their own. Only who starts them differs.
//!
//! Not for: verdicts. Whether a setting starves its fetches is a trial's to say, and whether two
//! settings differ is a comparison's.
//!
//! Invariants:
//! - Nothing is measured but the code that is shipped; no role knows that it is measured.
//! - A time comes from the records of the client that received the bytes.
//! - A load that stands still or loses a download, or a role that ends, fails the benchmark; it
//!   never becomes a figure.

mod child;
mod cpu_plan;
pub mod direct_vs_proxied;
pub mod fast_fetch;
mod heads;
pub mod http_head;
mod load;
mod meter;
pub mod relay;
pub mod roles;
mod servers;

/// Criterion's benchmarks return nothing; a panic unwinds, so the children end with it.
fn or_panic<T>(result: anyhow::Result<T>) -> T {
    result.unwrap_or_else(|error| panic!("failed to measure: {error:#}"))
}
