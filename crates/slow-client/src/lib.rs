//! Parallel downloads that keep a proxy's upstream side full: the slow clients, in one process.
//!
//! A download is slow because it is large, not because its reader is: unless `--read-rate` paces it,
//! the client takes bytes as fast as they come, and at so little CPU per byte that it can share a
//! core with the origin and still outrun the proxy. When a download ends, its slot dials again, so
//! that the load never lapses.
//!
//! Not for: fetches with a cap (the fast client), verdicts, or saving what was downloaded.
//!
//! Invariants:
//! - One thread does all transfers. Two more only wait: for signals, and for orders on stdin.
//! - A slot has at most one connection, and every connection's end is told exactly once.
//! - Network trouble is a [`records::DownloadEnd`], never an error of the client; nothing that a
//!   peer sends can panic it.
//! - It never spins: after an attempt without a body byte a slot waits before it dials again.

mod body;
mod client;
mod conn;
mod options;
mod pace;
mod run;
mod slot;

pub use options::SlowOptions;
pub use run::run;
