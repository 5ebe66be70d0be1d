//! The command line of the role.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use net::cpu::CpuList;
use net::role::RoleOptions;
use records::{Arm, Micros, ProxyKind, socket_addr, some_time};
use serde::{Deserialize, Serialize};

use crate::server::names;

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

/// What is given of the program under test beside its name.
#[derive(Clone, Debug, Default, PartialEq, Eq, clap::Args, Serialize, Deserialize)]
pub struct Given {
    /// Your own server, as './app --port {port}'
    ///
    /// Filled in are {host}, {port}, {listen} (both), {workers}, and {origin} of one that is a proxy; without
    /// it no origin is started (docs/own-server.md)
    #[arg(long, value_name = "COMMAND", conflicts_with = "server_file")]
    pub server: Option<String>,

    /// Put a server of your own in the mirror's place, which this file describes: the proxy is named as
    /// the file is (docs/proxies.md)
    #[arg(long, hide_short_help = true, value_name = "FILE", value_parser = server_file)]
    pub server_file: Option<PathBuf>,

    /// Another build of that program than the one in PATH
    #[arg(long, hide_short_help = true, value_name = "PATH")]
    pub proxy_bin: Option<PathBuf>,
}

impl Given {
    /// The proxy that a command is, or that a file of one's own describes.
    pub fn kind(&self) -> Option<ProxyKind> {
        let command = self.server.clone().map(ProxyKind::Exec);
        command.or_else(|| named(self.server_file.as_deref()?).ok())
    }
}

fn server_file(text: &str) -> Result<PathBuf, String> {
    named(Path::new(text)).map(|_| text.into())
}

/// The proxy that the file at `path` describes, by its name.
fn named(path: &Path) -> Result<ProxyKind, String> {
    let name = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    match name.parse() {
        Ok(ProxyKind::Server(name)) if names().any(|known| known == name) => {
            Err(format!("{name} is built in: give the file another name"))
        }
        Ok(kind @ ProxyKind::Server(_)) => Ok(kind),
        _ => Err(format!(
            "{name:?} is no name of a server: name the file with small letters, digits and ._-, as \
             envoy.toml"
        )),
    }
}

fn arm(text: &str) -> Result<Arm, String> {
    serde_json::from_str(text).map_err(|e| format!("it is not an arm: {e}"))
}

#[cfg(test)]
mod tests;
