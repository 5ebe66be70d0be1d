//! The command line of the role.

use std::net::SocketAddr;
use std::path::PathBuf;

use net::cpu::CpuList;
use net::role::RoleOptions;
use records::{Arm, Micros, socket_addr, some_time};
use serde::{Deserialize, Serialize};

use crate::server::Given;

/// Everything the role needs.
#[derive(Clone, Debug, clap::Args, Serialize, Deserialize)]
pub struct ServerOptions {
    /// The setting of all toggles, as the manifest of a run has it, in JSON
    #[arg(long, value_name = "JSON", value_parser = arm)]
    pub arm: Arm,

    #[command(flatten)]
    #[expect(missing_docs, reason = "clap would take it for the help of the whole group")]
    pub given: Given,

    /// Address and port of the origin [default: there is none]
    #[arg(long, value_name = "ADDR", value_parser = socket_addr)]
    pub upstream: Option<SocketAddr>,

    /// Address and port the program accepts on; port 0: a free one, told in the first line
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:0", value_parser = socket_addr)]
    pub listen: SocketAddr,

    /// Write the program's configuration, temporary files and content there
    #[arg(long, value_name = "DIR")]
    pub dir: PathBuf,

    /// Write the access log there [default: access.log in --dir]
    #[arg(long, value_name = "FILE")]
    pub access_log: Option<PathBuf>,

    /// Tell steps and loop turns of at least this length one by one, where they can be seen
    #[arg(long, value_name = "TIME", default_value = "10ms", value_parser = some_time())]
    pub hold: Micros,

    /// Put worker i on the i-th of these CPUs, going round [default: wherever the process may run]
    #[arg(long, value_name = "CPUS")]
    pub pin: Option<CpuList>,

    #[command(flatten)]
    #[expect(missing_docs, reason = "clap would take it for the help of the whole group")]
    pub role: RoleOptions,
}

fn arm(text: &str) -> Result<Arm, String> {
    serde_json::from_str(text).map_err(|e| format!("it is not an arm: {e}"))
}

#[cfg(test)]
mod tests;
