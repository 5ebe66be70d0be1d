//! The links of a lab, as commands of ip(8) and tc(8).
//!
//! A veth pair joins each host (`eth0`) with a port of the switch, a bridge in a namespace of its own.
//! Pairs are made inside the switch's namespace with the other end straight in the host's: no link
//! is ever seen in the caller's.
//!
//! The rate is kept by tbf on both ends of each link, so that what a host sends and what it is sent
//! are both limited, as by its network card and by the switch's port. tbf and not htb: it is one queue
//! with one limit in bytes, while the leaf of an htb class counts packets, 1000 of them, of up to
//! 64 KiB each; and tbf cuts a segment that is larger than its bucket, where htb lets it pass. tbf
//! and not fq: fq paces each socket alone, and the sum of them has no limit.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use net::role::in_net;
use records::Bytes;

use crate::error::LabError;
use crate::plan::{PREFIX, SWITCH, addr};
use crate::{LabPlan, LinkRate};

/// One command inside a namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    /// The program: `ip` or `tc`.
    pub(crate) tool: &'static str,
    /// Its arguments, with blanks between them.
    pub(crate) args: String,
    /// The kernel module it needs, if that may be missing.
    pub(crate) module: Option<&'static str>,
}

/// A namespace of the lab.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// The switch's.
    Switch,
    /// That of the host with this number.
    Host(usize),
}

/// The host's end of its link.
pub(crate) const UPLINK: &str = "eth0";

/// The programs that are needed.
pub(crate) const TOOLS: [&str; 2] = ["ip", "tc"];

/// Where distributions put them when PATH, as that of a plain user, has no sbin.
const SBIN: [&str; 2] = ["/usr/sbin", "/sbin"];

/// Everything to be done, in order. `nets`: the namespace files of the hosts, in the order of the plan;
/// ip(8) takes a path where it takes a name.
pub(crate) fn steps(plan: &LabPlan, nets: &[PathBuf]) -> Vec<(Place, Step)> {
    let ip = |place, args: String, module| (place, Step { tool: "ip", args, module });
    let mut steps = vec![
        ip(Place::Switch, format!("link add name {SWITCH} type bridge"), Some("bridge")),
        ip(Place::Switch, format!("link set dev {SWITCH} up"), None),
    ];
    for (index, (host, net)) in plan.hosts.iter().zip(nets).enumerate() {
        let (place, port) = (Place::Host(index), host.name.as_str());
        let net = net.display();
        let pair = format!("link add name {port} type veth peer name {UPLINK} netns {net}");
        let address = format!("address add {}/{PREFIX} dev {UPLINK}", addr(index));
        steps.push(ip(Place::Switch, pair, Some("veth")));
        steps.push(ip(place, "link set dev lo up".to_owned(), None));
        steps.push(ip(place, address, None));
        // Queues before the link is up: not one packet passes without them.
        if let Some(rate) = plan.rate {
            steps.push((place, queue(rate, UPLINK)));
            steps.push((Place::Switch, queue(rate, port)));
        }
        steps.push(ip(place, format!("link set dev {UPLINK} up"), None));
        steps.push(ip(Place::Switch, format!("link set dev {port} up"), None));
        steps.push(ip(Place::Switch, format!("link set dev {port} master {SWITCH}"), None));
    }
    steps
}

/// The queue of one end.
fn queue(rate: LinkRate, dev: &str) -> Step {
    let (burst, limit) = bucket(rate);
    let (bits, burst, limit) = (rate.bits(), burst.0, limit.0);
    let args = format!(
        "qdisc add dev {dev} root handle 10: tbf rate {bits}bit burst {burst} limit {limit}"
    );
    Step { tool: "tc", args, module: Some("sch_tbf") }
}

/// A token bucket and its queue. Both are 32 bits wide in the kernel (`struct tc_tbf_qopt`).
pub(crate) fn bucket(rate: LinkRate) -> (Bytes, Bytes) {
    let of = |length: Duration, least: Bytes| rate.within(length).clamp(least, Bytes::mib(256));
    let burst = of(LinkRate::BURST, Bytes::kib(16));
    // Room for one whole GSO segment at least: else no full one could ever pass.
    (burst, burst + of(LinkRate::QUEUE, Bytes::kib(128)))
}

impl Step {
    /// Runs it inside the namespace at `net`, which is that of `host`, and returns what it printed.
    ///
    /// # Errors
    /// [`LabError::Enter`], [`LabError::Tool`].
    pub(crate) fn run(&self, host: &str, net: &Path) -> Result<String, LabError> {
        let enter = |source| LabError::Enter { host: host.to_owned(), source };
        in_net(net, || said(self.tool, &self.args)).map_err(enter)?.map_err(|error| {
            LabError::Tool {
                host: host.to_owned(),
                command: format!("{} {}", self.tool, self.args),
                said: error.to_string(),
                module: self.module,
            }
        })
    }
}

/// What a tool printed; what it complained of is the error.
pub(crate) fn said(tool: &str, args: &str) -> io::Result<String> {
    let output = |program: &Path| {
        let mut command = Command::new(program);
        command.args(args.split(' ')).env("LC_ALL", "C").stdin(Stdio::null()).output()
    };
    let mut ran = output(Path::new(tool));
    for dir in SBIN {
        if ran.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
            ran = output(&Path::new(dir).join(tool));
        }
    }
    let ran = ran?;
    if ran.status.success() {
        return Ok(String::from_utf8_lossy(&ran.stdout).into_owned());
    }
    let complaint = crate::plan::flat(&String::from_utf8_lossy(&ran.stderr));
    Err(io::Error::other(if complaint.is_empty() { ran.status.to_string() } else { complaint }))
}
