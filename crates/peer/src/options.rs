//! The peer's command line.

use std::net::SocketAddr;
use std::path::PathBuf;

use net::cpu::CpuList;
use net::role::RoleOptions;
use net::target::socket_addr;
use records::{Arm, Micros};

/// Everything the peer role needs.
#[derive(Clone, Debug, clap::Args)]
pub struct PeerOptions {
    /// The setting of all toggles, as the manifest of a run has it, in JSON
    #[arg(long, value_name = "JSON", value_parser = arm)]
    pub arm: Arm,

    /// Run this build of the program instead of the one in PATH
    #[arg(long, value_name = "PATH")]
    pub proxy_bin: Option<PathBuf>,

    /// Address and port of the origin
    #[arg(long, value_name = "ADDR", value_parser = socket_addr)]
    pub upstream: SocketAddr,

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
    #[arg(long, value_name = "TIME", default_value = "10ms", value_parser = length)]
    pub hold: Micros,

    /// Put worker i on the i-th of these CPUs, going round [default: wherever the process may run]
    #[arg(long, value_name = "CPUS")]
    pub pin: Option<CpuList>,

    #[command(flatten)]
    #[expect(missing_docs, reason = "clap would take it for the help of the whole group")]
    pub role: RoleOptions,
}

impl PeerOptions {
    /// The same options as arguments of a command line.
    ///
    /// # Errors
    /// Never, for an arm whose numbers are finite.
    pub fn to_args(&self) -> Result<Vec<String>, serde_json::Error> {
        let mut args = Vec::new();
        let mut set = |name: &str, value: String| args.extend([format!("--{name}"), value]);
        set("arm", serde_json::to_string(&self.arm)?);
        set("upstream", self.upstream.to_string());
        set("listen", self.listen.to_string());
        set("dir", self.dir.display().to_string());
        set("hold", format!("{}us", self.hold.0));
        if let Some(path) = &self.proxy_bin {
            set("proxy-bin", path.display().to_string());
        }
        if let Some(path) = &self.access_log {
            set("access-log", path.display().to_string());
        }
        if let Some(cpus) = &self.pin {
            set("pin", cpus.to_string());
        }
        args.extend(self.role.to_args());
        Ok(args)
    }
}

fn arm(text: &str) -> Result<Arm, String> {
    serde_json::from_str(text).map_err(|e| format!("it is not an arm: {e}"))
}

fn length(text: &str) -> Result<Micros, String> {
    let length: Micros = text.parse().map_err(|e: records::ParseUnitError| e.to_string())?;
    if length > Micros(0) { Ok(length) } else { Err("it must be longer than nothing".to_owned()) }
}

#[cfg(test)]
mod tests;
