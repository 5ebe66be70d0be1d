//! The command line of `trace`.

use clap::builder::{EnumValueParser, TypedValueParser};
use net::role::RoleOptions;
use records::{Micros, TraceMode, some_time};
use serde::{Deserialize, Serialize};

/// What to type, for the end of the help.
pub const EXAMPLES: &str = "\
Examples:
  turnstile trace --pid 4711 --pid 4712          two nginx workers, until Ctrl-C
  turnstile trace $(pgrep -P $(cat /run/nginx.pid) | sed 's/^/--pid /') --duration 10s
  turnstile trace --pid $(pidof haproxy) --hold 5ms
  turnstile trace --pid 815 --trace sample       one thread of a process, without root";

/// Watch the workers of a proxy that runs, and tell what they do: one record a line.
#[derive(Clone, Debug, clap::Args, Serialize, Deserialize)]
pub struct TraceOptions {
    /// A worker: a thread by its id, as `turnstile who` tells it; a process's main thread has its id
    #[arg(long, value_name = "PID", required = true)]
    pub pid: Vec<u32>,

    /// How to watch: auto, probe (root) or sample [default: auto]
    #[arg(long, value_name = "MODE", default_value_t, value_parser = mode(), hide_default_value = true, hide_possible_values = true)]
    pub trace: TraceMode,

    /// Tell steps and loop turns from this length on one by one
    #[arg(long, value_name = "TIME", default_value = "10ms", value_parser = some_time())]
    pub hold: Micros,

    /// End after this long [default: when stopped]
    #[arg(long, value_name = "TIME", value_parser = some_time())]
    pub duration: Option<Micros>,

    /// What every role has.
    #[command(flatten)]
    pub role: RoleOptions,
}

fn mode() -> impl TypedValueParser<Value = TraceMode> {
    EnumValueParser::<TraceMode>::new().try_map(|mode| match mode {
        TraceMode::Off => Err("nothing would be watched"),
        mode => Ok(mode),
    })
}

#[cfg(test)]
mod tests;
