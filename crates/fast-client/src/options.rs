//! The fast client's command line: its toggles, and what the harness says about a phase.

use std::net::SocketAddr;

use net::role::RoleOptions;
use net::target::TargetOptions;
use records::{FetchToggles, Micros, Phase, fetch_phase, from_words, some_time};
use serde::{Deserialize, Serialize};

/// Everything the fast client needs.
#[derive(Clone, Debug, clap::Args, Serialize, Deserialize)]
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

impl FastOptions {
    /// What no more than the target gives.
    pub fn to(target: SocketAddr) -> Self {
        from_words(&[&target.to_string()])
    }
}
