//! Why there is no lab.

use std::io;

/// Why a lab could not be made or asked. A host is named, or `switch`.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// No right to make namespaces.
    #[error(
        "network namespaces need root (CAP_SYS_ADMIN): run this as root or with sudo, or put \
         'unshare --map-root-user' before the command where the kernel allows user namespaces"
    )]
    NotAllowed,
    /// ip(8) or tc(8) is not there.
    #[error("failed to find the program {0:?}: install the Debian package iproute2")]
    NoTool(&'static str),
    /// ip(8) or tc(8) refused.
    #[error("failed to set up the lab: '{command}' on host {host}: {said}{}", hint(.module))]
    Tool {
        /// The host it ran on.
        host: String,
        /// The command.
        command: String,
        /// What it said.
        said: String,
        /// The kernel module that it needs.
        module: Option<&'static str>,
    },
    /// The kernel made no namespace.
    #[error("failed to make a network namespace for host {host}: {source}")]
    Namespace {
        /// The host.
        host: String,
        /// What the kernel said; EINVAL: it has no network namespaces (CONFIG_NET_NS).
        source: io::Error,
    },
    /// A host refused a setting.
    #[error("failed to set {sysctl:?} on host {host}: {source}")]
    Sysctl {
        /// The host.
        host: String,
        /// The name and the value.
        sysctl: String,
        /// What the kernel said; ENOENT: it has no such setting, or one for the whole machine.
        source: io::Error,
    },
    /// No packet passed.
    #[error("failed to reach host {to} from host {from}: {source}")]
    Unreachable {
        /// Who sent.
        from: String,
        /// Who did not answer.
        to: String,
        /// What the kernel said.
        source: io::Error,
    },
    /// A host's namespace could not be entered.
    #[error("failed to enter host {host}: {source}")]
    Enter {
        /// The host.
        host: String,
        /// What the kernel said.
        source: io::Error,
    },
}

fn hint(module: &Option<&'static str>) -> String {
    module.map_or_else(String::new, |name| format!(" (it needs the kernel module {name})"))
}
