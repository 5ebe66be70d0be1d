//! The command line of `who`.

use std::net::SocketAddr;
use std::path::PathBuf;

use records::{Micros, some_time, within};

use super::holder::Addresses;

/// Who is watched, and how it is told.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct WhoOptions {
    /// Watch this process and all that it forks; may be repeated, as --comm and --port
    #[arg(long, value_name = "PID", required_unless_present_any = ["comm", "port"])]
    pub(super) pid: Vec<u32>,

    /// Watch all processes of this name (/proc/PID/comm), also those to come
    #[arg(long, value_name = "NAME")]
    pub(super) comm: Vec<String>,

    /// Watch whoever listens on this TCP port
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    pub(super) port: Vec<u16>,

    /// Tell turns of this length or longer: 50ms to 1h
    #[arg(long, value_name = "TIME", default_value = "50ms", value_parser = within(Micros(50_000)..=Micros(3_600_000_000), "a threshold has 50ms to 1h"))]
    pub(super) threshold: Micros,

    /// End after this long [default: with Ctrl-C, or with the last of the processes]
    #[arg(long = "for", value_name = "TIME", value_parser = some_time())]
    pub(super) length: Option<Micros>,

    /// Print a line of JSON for each event, the last a summary
    #[arg(long)]
    pub(super) json: bool,

    /// Print lines instead of a picture, as is done without a terminal
    #[arg(long, conflicts_with = "json")]
    pub(super) plain: bool,

    /// Keep each hold of this length or longer as a run, for explain and report: 20 at most
    #[arg(long, value_name = "TIME", value_parser = some_time())]
    pub(super) capture_hold: Option<Micros>,

    /// Where captured holds are kept
    #[arg(long, value_name = "DIR", default_value = "runs", requires = "capture_hold")]
    pub(super) runs_dir: PathBuf,

    /// Write peers' hosts as numbers
    #[arg(long)]
    pub(super) no_addresses: bool,

    /// Answer scrapers of OpenMetrics there, as 127.0.0.1:9464
    #[arg(long, value_name = "ADDR")]
    pub(super) metrics: Option<SocketAddr>,
}

const EXAMPLES: &str = "\
Examples:
  turnstile who --comm nginx                       all its workers, until Ctrl-C
  turnstile who --port 8080 --for 30s
  turnstile who --pid 1234 --threshold 200ms --json > holds.ndjson
  turnstile who --port 80 --no-addresses --metrics 127.0.0.1:9464
  turnstile who --comm nginx --capture-hold 1s     then: turnstile explain, turnstile report --open

It reads, and changes nothing in the process. It needs root, or CAP_BPF and CAP_PERFMON, and Linux
6.3 or later with BTF. Exit codes: 0 watched to the end; 1 error; 2 usage.";

impl WhoOptions {
    /// How peers' hosts are told.
    pub(super) fn addresses(&self) -> Addresses {
        if self.no_addresses { Addresses::Hidden } else { Addresses::Shown }
    }

    /// `1234, nginx, :8080`.
    pub(super) fn title(&self) -> String {
        let pids = self.pid.iter().map(u32::to_string);
        let ports = self.port.iter().map(|port| format!(":{port}"));
        pids.chain(self.comm.iter().cloned()).chain(ports).collect::<Vec<_>>().join(", ")
    }
}
