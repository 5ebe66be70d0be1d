//! The proxy's command line: its toggles, and where it listens and forwards.

use std::net::SocketAddr;
use std::path::PathBuf;

use net::cpu::CpuList;
use net::role::RoleOptions;
use net::tcp::Buffers;
use records::{Micros, ProxyKind, ProxyToggles, Recording, from_words, socket_addr, some_time};
use serde::{Deserialize, Serialize};

/// Everything the proxy role needs.
#[derive(Clone, Debug, clap::Args, Serialize, Deserialize)]
pub struct ProxyOptions {
    /// Address and port to accept on; port 0: a free one, told in the first line
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:0", value_parser = socket_addr)]
    pub listen: SocketAddr,

    /// Address and port of the origin
    #[arg(long, value_name = "ADDR", value_parser = socket_addr)]
    pub upstream: SocketAddr,

    /// What it does.
    #[command(flatten)]
    pub toggles: ProxyToggles,

    /// Put worker i on the i-th of these CPUs, going round [default: wherever the process may run]
    #[arg(long, value_name = "CPUS")]
    pub pin: Option<CpuList>,

    /// Write an access log in nginx's format there: a file, or a FIFO that somebody reads
    #[arg(long, value_name = "FILE", required_if_eq("log_mode", "inline"))]
    pub access_log: Option<PathBuf>,

    /// Tell steps and loop turns of at least this length one by one
    #[arg(long, value_name = "TIME", default_value = "10ms", value_parser = some_time())]
    pub hold: Micros,

    /// How much to tell: full, or minimal: the sessions, the access log and the last totals
    #[arg(long, value_enum, value_name = "EXTENT", default_value_t, hide_possible_values = true)]
    pub recording: Recording,

    /// What every role has.
    #[command(flatten)]
    pub role: RoleOptions,
}

impl ProxyOptions {
    /// What no more than the origin's address gives.
    pub fn to(upstream: SocketAddr) -> Self {
        from_words(&["--upstream", &upstream.to_string()])
    }

    /// Buffers of upstream connections.
    pub(crate) fn upstream_buffers(&self) -> Buffers {
        let toggles = &self.toggles;
        Buffers { rcvbuf: toggles.rcvbuf.asked(&ProxyKind::Mirror), sndbuf: toggles.sndbuf }
    }

    /// Buffers of accepted connections.
    pub(crate) fn client_buffers(&self) -> Buffers {
        Buffers { rcvbuf: self.toggles.listen_rcvbuf, sndbuf: self.toggles.listen_sndbuf }
    }
}
