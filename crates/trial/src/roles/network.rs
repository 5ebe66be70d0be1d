//! Where the roles are: all on loopback, or each on a host of its own.

use std::net::IpAddr;

use netlab::{LabPlan, LinkRate, Sysctl};
use records::{Arm, Namespaces, Role};

/// The network between the roles.
#[derive(Clone, Debug, Default, PartialEq, Eq, clap::Args)]
#[command(next_help_heading = "Network")]
pub struct NetworkOptions {
    /// Put origin, proxy, slow and fast client on hosts of their own: network namespaces joined by a
    /// switch, made for the run and gone with it (needs root)
    #[arg(long)]
    pub netns: bool,

    /// What each of their links carries at most, as 1Gbit [default: all that the CPUs can]
    #[arg(long, value_name = "RATE", requires = "netns")]
    pub link_rate: Option<LinkRate>,

    /// net.ipv4.tcp_rmem of the proxy's host, as 40960,40960,40960 [default: as on this host]
    #[arg(long, value_name = "MIN,DEFAULT,MAX", requires = "netns", value_parser = tcp_rmem)]
    pub tcp_rmem: Option<String>,
}

/// The hosts of a lab, which have the names of their roles.
const HOSTS: [Role; 4] = [Role::Origin, Role::Proxy, Role::Slow, Role::Fast];
/// The setting of a host's receive buffers: least, first, most (tcp(7)).
const TCP_RMEM: &str = "net.ipv4.tcp_rmem";
/// The congestion control of sockets that choose none (tcp(7)).
const CONGESTION: &str = "net.ipv4.tcp_congestion_control";

impl NetworkOptions {
    /// The same, as records have it.
    pub fn namespaces(&self) -> Option<Namespaces> {
        self.netns.then(|| Namespaces {
            link_rate: self.link_rate.map(|rate| rate.to_string()),
            tcp_rmem: self.tcp_rmem.clone(),
        })
    }

    /// The lab that `arm` wants; `None`: all is on loopback.
    ///
    /// A program that cannot choose its congestion control gets that of the arm from its host.
    pub fn lab(&self, arm: &Arm) -> Option<LabPlan> {
        if !self.netns {
            return None;
        }
        let mut plan = LabPlan::of(HOSTS.map(Role::name));
        plan.rate = self.link_rate;
        if let Some(proxy) = plan.host_mut(Role::Proxy.name()) {
            let congestion = arm.proxy.congestion.name();
            for (name, value) in [(TCP_RMEM, self.tcp_rmem.as_deref()), (CONGESTION, congestion)] {
                proxy.sysctls.extend(value.map(|value| Sysctl { name, value: value.to_owned() }));
            }
        }
        Some(plan)
    }
}

/// The host of a role; the tracer looks from outside.
pub fn host_of(role: Role) -> Option<&'static str> {
    HOSTS.contains(&role).then(|| role.name())
}

/// Loopback, where every role is unless it has a host of its own.
pub const LOOPBACK: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

fn tcp_rmem(text: &str) -> Result<String, String> {
    let wrong = || format!("{text:?} is no tcp_rmem: write it as 4096,131072,6291456");
    let numbers: Vec<u64> = text
        .split(|letter: char| letter == ',' || letter.is_whitespace())
        .filter(|word| !word.is_empty())
        .map(|word| word.parse().map_err(|_| wrong()))
        .collect::<Result<_, _>>()?;
    match numbers.as_slice() {
        [min, default, max] if min <= default && default <= max && *min > 0 => {
            Ok(format!("{min} {default} {max}"))
        }
        _ => Err(wrong()),
    }
}

#[cfg(test)]
mod tests;
