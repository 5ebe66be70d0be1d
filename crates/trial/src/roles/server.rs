//! Which proxy is under test, and what is said to one that is not ours.

use std::net::SocketAddr;

use records::{Content, ProxyKind, ServerToggles, TraceMode, socket_addr};
use servers::{Given, proxy_kind};

/// The proxy under test.
#[derive(Clone, Debug, Default, PartialEq, Eq, clap::Args)]
#[command(next_help_heading = "Proxy under test")]
pub struct UnderTest {
    /// Which proxy: mirror (ours), nginx, haproxy, caddy, apache, h2o, exec:COMMAND (with {listen},
    /// {origin} and {workers} filled in) or url:IP:PORT (one that runs already)
    #[arg(
        long, value_name = "PROXY", default_value_t, value_parser = proxy_kind,
        conflicts_with = "server_file"
    )]
    pub proxy: ProxyKind,

    /// What is given of it beside its name.
    #[command(flatten)]
    pub given: Given,

    /// How to watch its workers: auto, bpftrace (needs root), sample (/proc) or off. The mirror
    /// tells of itself and is watched only when asked
    #[arg(long, value_enum, value_name = "MEANS", default_value_t, hide_possible_values = true)]
    pub trace: TraceMode,

    /// Where answers come from: origin, or file: local files that the proxy serves
    #[arg(long, value_enum, value_name = "SOURCE", default_value_t, hide_possible_values = true)]
    pub content: Content,

    /// A line for the program's own configuration, in its own syntax, as 'proxy_buffering off;' for
    /// nginx (inside its location); may be repeated
    #[arg(long = "directive", value_name = "TEXT")]
    pub directives: Vec<String>,

    /// Where the origin listens, for a proxy that is configured already [default: a free port]
    #[arg(long, value_name = "ADDR", value_parser = socket_addr)]
    pub origin_listen: Option<SocketAddr>,
}

impl UnderTest {
    /// The same, as an arm has it, whether the proxy is named or described by a file.
    pub fn toggles(&self) -> ServerToggles {
        ServerToggles {
            kind: self.given.kind().unwrap_or_else(|| self.proxy.clone()),
            trace: self.trace,
            content: self.content,
            directives: self.directives.clone(),
        }
    }
}
