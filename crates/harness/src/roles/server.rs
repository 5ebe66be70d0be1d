//! Which proxy is under test, and what is said to one that is not ours.

use std::net::SocketAddr;

use records::{Content, ProxyKind, TraceMode};
use servers::{Given, proxy_kind};

/// The proxy under test.
#[derive(Clone, Debug, Default, PartialEq, Eq, clap::Args)]
#[command(next_help_heading = "Proxy under test")]
pub struct ServerToggles {
    /// Which proxy: mirror (ours), nginx, haproxy, caddy, apache, h2o, exec:COMMAND (with {listen},
    /// {origin} and {workers} filled in) or url:IP:PORT (one that runs already)
    #[arg(
        long, value_name = "PROXY", default_value_t, value_parser = proxy_kind,
        conflicts_with = "server_file"
    )]
    pub proxy: ProxyKind,

    #[command(flatten)]
    #[expect(missing_docs, reason = "clap would take it for the help of the whole group")]
    pub given: Given,

    /// How to watch its workers: auto, bpftrace (needs root), sample (/proc) or off. The mirror
    /// tells of itself and is watched only when asked
    #[arg(long, value_name = "MEANS", default_value_t)]
    pub trace: TraceMode,

    /// Where answers come from: origin, or file: local files that the proxy serves
    #[arg(long, value_name = "SOURCE", default_value_t)]
    pub content: Content,

    /// A line for the program's own configuration, in its own syntax, as 'proxy_buffering off;' for
    /// nginx (inside its location); may be repeated
    #[arg(long = "directive", value_name = "TEXT")]
    pub directives: Vec<String>,

    /// Where the origin listens, for a proxy that is configured already [default: a free port]
    #[arg(long, value_name = "ADDR", value_parser = net::target::socket_addr)]
    pub origin_listen: Option<SocketAddr>,
}

impl ServerToggles {
    /// The proxy under test, whether it is named or described by a file.
    pub fn kind(&self) -> ProxyKind {
        self.given.kind().unwrap_or_else(|| self.proxy.clone())
    }
}
