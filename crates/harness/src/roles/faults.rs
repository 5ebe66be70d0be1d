//! Faults that are made on purpose, each to bring about one cause of late fetches.
//!
//! They are toggles of the origin and of the fetches, as any user of those programs may set them. The
//! proxy has none: what it does wrong is what its own toggles say.

use std::time::Duration;

use records::Micros;

/// What is wrong with the world around the proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::Args)]
#[command(next_help_heading = "Faults")]
pub struct FaultToggles {
    /// Let the origin think this long before each answer once the idle phase is over, at most 1m:
    /// fetches are late because of the upstream
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = think)]
    pub think: Micros,

    /// Let the origin answer only N requests at a time, downloads among them: fetches queue at the
    /// upstream [default: no limit]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=65535))]
    pub origin_workers: Option<u32>,

    /// Start N fetches together at each arrival of the measure phase: fetches queue to be accepted
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub burst: u32,
}

impl FaultToggles {
    /// Those of the origin as arguments of its command line.
    ///
    /// The origin's first request is the first of `idle`: a fault that was there from the start
    /// would be part of the baseline.
    pub(super) fn origin_args(&self, idle: Duration) -> Vec<String> {
        let mut args = vec!["--think".to_owned(), super::time(self.think)];
        if self.think > Micros(0) {
            args.extend(["--think-after".to_owned(), super::time(idle.into())]);
        }
        if let Some(workers) = self.origin_workers {
            args.extend(["--workers".to_owned(), workers.to_string()]);
        }
        args
    }
}

impl Default for FaultToggles {
    fn default() -> Self {
        Self { think: Micros(0), origin_workers: None, burst: 1 }
    }
}

fn think(text: &str) -> Result<Micros, String> {
    let length: Micros = text.parse().map_err(|e: records::ParseUnitError| e.to_string())?;
    if length <= Micros(60_000_000) { Ok(length) } else { Err("it thinks 1m at most".to_owned()) }
}
