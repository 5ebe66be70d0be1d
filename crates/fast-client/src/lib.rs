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
mod run;
mod schedule;
mod tally;

use net::role::{RoleOptions, TargetOptions};
use records::{FetchToggles, Micros, Phase, fetch_phase, some_time};
use serde::{Deserialize, Serialize};

pub use run::run;

/// Everything the fast client needs.
#[derive(Clone, Debug, clap::Parser, Serialize, Deserialize)]
#[command(
    version,
    about = "Timed fetches of a small object, each with a hard cap",
    long_about = None,
    after_help = "\
Examples:
  turnstile fast 127.0.0.1:8000
  turnstile fast 127.0.0.1:8000 --arrivals 50/s --fetch-size 40KiB --cap 250ms
  turnstile fast 127.0.0.1:8000 --arrivals closed --duration 30s
  turnstile fast 127.0.0.1:8000 --arrivals closed:500 --keep-alive --fetch-size 91KiB
  turnstile fast 127.0.0.1:8000 --arrivals 0.5/s --burst 200"
)]
pub struct FastOptions {
    /// Whom it fetches from.
    #[command(flatten)]
    pub target: TargetOptions,

    /// What it does.
    #[command(flatten)]
    pub toggles: FetchToggles,

    /// Start N fetches together at each arrival; needs --arrivals with a rate
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=10_000), help_heading = "Fetches")]
    pub burst: u32,

    /// Start fetches for this long; the last ones still run to their end
    #[arg(long, value_name = "TIME", default_value = "8s", value_parser = some_time())]
    pub duration: Micros,

    /// The part of the trial that the records belong to
    #[arg(long, value_name = "PHASE", default_value = "measure", value_parser = fetch_phase())]
    pub phase: Phase,

    /// What every role has.
    #[command(flatten)]
    pub role: RoleOptions,
}
