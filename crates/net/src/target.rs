//! Where load may go: this host, unless somebody says otherwise.

use std::net::SocketAddr;

use records::socket_addr;
use rustix::process::getppid;
use serde::{Deserialize, Serialize};

/// The address under load, and the consent that any other host than this one needs.
#[derive(Clone, Debug, clap::Args, Serialize, Deserialize)]
pub struct TargetOptions {
    /// Address and port of the proxy, as 127.0.0.1:8000
    #[arg(value_name = "TARGET", value_parser = socket_addr)]
    pub target: SocketAddr,

    /// Allow a target that is not on this host; its load is capped
    #[arg(long, help_heading = "Safety")]
    pub allow_remote: bool,

    /// The target is in this process's own network namespace, which was made for the run
    #[arg(long, hide = true, help_heading = "Safety")]
    pub own_network: bool,
}

impl TargetOptions {
    /// Whether load may go there, and with which reach.
    ///
    /// # Errors
    /// The target is not a loopback address and nobody consented.
    pub fn reach(&self) -> Result<Reach, RemoteTargetError> {
        match (self.target.ip().is_loopback(), self.allow_remote) {
            (true, _) => Ok(Reach::Loopback),
            // Whoever claims it is checked: a namespace apart from its parent's.
            _ if self.own_network && apart() => Ok(Reach::Loopback),
            (false, true) => Ok(Reach::Remote),
            (false, false) => Err(RemoteTargetError(self.target)),
        }
    }
}

/// Whether this process has another network than the one that started it (network_namespaces(7)).
/// Where that cannot be seen it has not.
fn apart() -> bool {
    let network = |process: &str| std::fs::read_link(format!("/proc/{process}/ns/net")).ok();
    let parent = getppid().map(|parent| parent.as_raw_pid().to_string());
    let theirs = parent.and_then(|parent| network(&parent));
    theirs.zip(network("self")).is_some_and(|(theirs, own)| theirs != own)
}

/// How far a target is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// This host's loopback, or a network made for the run: any load.
    Loopback,
    /// Elsewhere: load is capped, and the role says so.
    Remote,
}

/// A target that needs consent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0} is not on this host: add --allow-remote if you may put load on it")]
pub struct RemoteTargetError(SocketAddr);
