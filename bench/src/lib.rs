//! Criterion benchmarks: what a small fetch suffers beside downloads, by the proxy's settings, and
//! of the data plane what a byte costs on its way.
//!
//! Fetches are those of real trials. For the data plane the roles run as they do in a trial: real
//! processes, on ports that the kernel chose, on CPUs of their own. Only who starts them differs.
//!
//! Not for: verdicts. Whether a setting starves its fetches is a trial's to say, and whether two
//! settings differ is a comparison's.
//!
//! Invariants:
//! - Nothing is measured but the code that is shipped; no role knows that it is measured.
//! - A time comes from the records of the client that received the bytes.
//! - A load that stands still, or a role that ends, fails the benchmark.

pub mod data_plane;
pub mod fast_fetch;

use std::ffi::OsString;

use harness::live::OwnCpus;
use records::{Pin, ProxyToggles};
use trial::cpu_plan::CpuPlan;

/// Whether this process is `turnstile`, started by another of this program: a trial or a role. Cargo
/// adds `--bench` for people, who may mean a filter by such a word.
pub fn is_turnstile() -> bool {
    let args: Vec<OsString> = std::env::args_os().skip(1).collect();
    let starts = args.first().is_some_and(|word| word == "run" || word == "play");
    starts && !args.iter().any(|word| word == "--bench")
}

/// The CPUs of this host as a trial divides them; this process keeps to those of the load.
#[derive(Debug)]
pub struct Host {
    plan: CpuPlan,
    own: OwnCpus,
}

impl Host {
    /// Divides them for two workers.
    ///
    /// # Panics
    /// The kernel does not tell which CPUs there are.
    #[expect(clippy::new_without_default, reason = "it moves the calling thread")]
    pub fn new() -> Self {
        let make = || {
            let workers = ProxyToggles::default().workers;
            let plan = CpuPlan::new(&net::cpu::allowed()?, workers, &Pin::Auto)?;
            let own = OwnCpus::new(plan.load.clone())?;
            Ok(Self { plan, own })
        };
        or_panic(make())
    }
}

/// Criterion's benchmarks return nothing; a panic unwinds, so the children end with it.
fn or_panic<T>(result: anyhow::Result<T>) -> T {
    result.unwrap_or_else(|error| panic!("failed to measure: {error:#}"))
}
