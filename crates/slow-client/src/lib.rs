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

mod client;
mod conn;
mod drain;
mod pace;
mod run;
mod slot;

use std::net::SocketAddr;
use std::sync::Once;

use net::role::{RoleOptions, TargetOptions};
use records::{Micros, SlowToggles, from_words, within};
use serde::{Deserialize, Serialize};

pub use run::run;

/// Everything the slow client needs.
#[derive(Clone, Debug, clap::Parser, Serialize, Deserialize)]
#[command(
    version,
    about = "Parallel multi-GB downloads, begun again whenever one ends, until stopped",
    long_about = None,
    after_help = "\
Examples:
  turnstile slow 127.0.0.1:8000 --duration 10s
  turnstile slow 127.0.0.1:8000 --slow 8 --slow-size 4GiB
  turnstile slow 127.0.0.1:8000 --slow 1000 --slow-size 64MiB --read-rate 1MiB/s"
)]
pub struct SlowOptions {
    /// Whom it loads.
    #[command(flatten)]
    pub target: TargetOptions,

    /// What it does.
    #[command(flatten)]
    pub toggles: SlowToggles,

    /// Send no request until told to go on standard input; needs --orders
    #[arg(long, requires = "orders", help_heading = "Steering")]
    pub hold: bool,

    /// Read orders from standard input, one JSON object a line
    #[arg(long, help_heading = "Steering")]
    pub orders: bool,

    /// Tell the bytes of every download this often
    #[arg(long, value_name = "TIME", default_value = "200ms", value_parser = within(Micros(1_000)..=Micros(u64::MAX), "an interval has 1ms or more"), help_heading = "Steering")]
    pub interval: Micros,

    /// End after this long [default: when stopped]
    #[arg(long, value_name = "TIME", help_heading = "Steering")]
    pub duration: Option<Micros>,

    /// What every role has.
    #[command(flatten)]
    pub role: RoleOptions,
}

impl SlowOptions {
    /// What no more than the target gives.
    pub fn to(target: SocketAddr) -> Self {
        from_words(&[&target.to_string()])
    }
}

/// A message to people.
fn warn(message: &str) {
    net::role::say("slow-client", message);
}

/// One of trouble that is spoken of once: the records count it.
fn warn_once(message: &str) {
    static SAID: Once = Once::new();
    SAID.call_once(|| warn(message));
}
