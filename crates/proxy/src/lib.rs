//! The mirror: an nginx worker on mio, with everything that is wrong with it.
//!
//! A worker is one thread with one edge-triggered poll and one slab of sessions. It serves a
//! session until that session can do no more, and only then looks at the next: whether such a
//! *step* has an end is decided by the [`records::ReadPolicy`] alone.
//!
//! Not for: TLS, caching, keep-alive, request bodies, or being fast. It copies a page at a time, as
//! nginx does with `proxy_buffering off`, or with [`records::BufferingMode::On`] several, as nginx does
//! by default.
//!
//! Invariants:
//! - Workers share nothing but a listener (in shared mode) and a flag that says "stop".
//! - A worker writes no file and shares no lock. What it has to tell goes into a bounded ring, and
//!   comes back to be freed or used again; what does not fit is counted. Only where it is told to
//!   does it do what nginx does: write its access log itself ([`records::LogMode::Inline`]) or
//!   temporary files ([`records::BufferingMode::On`]), and
//!   wait for them.
//! - A session stands in the ready queue at most once and never runs twice in one loop turn because
//!   of it.
//! - Nothing that a peer sends can panic a worker: trouble is a [`records::SessionEnd`].

mod listener;
mod policy;
mod recorder;
mod run;
mod session;
mod worker;
mod writer;

use std::net::SocketAddr;
use std::path::PathBuf;

use net::cpu::CpuList;
use net::role::RoleOptions;
use net::tcp::Buffers;
use records::{Micros, ProxyKind, ProxyToggles, Recording, socket_addr, some_time};
use serde::{Deserialize, Serialize};

pub use run::{STOPPED_WITHIN, run};

/// Everything the proxy role needs.
#[derive(Clone, Debug, clap::Parser, Serialize, Deserialize)]
#[command(
    version,
    about = "A proxy that behaves as an nginx worker does, with its read policies as toggles",
    long_about = None,
    after_help = "\
Examples:
  turnstile proxy --upstream 127.0.0.1:9000 --listen 127.0.0.1:8000 --reuseport
  turnstile proxy --upstream 127.0.0.1:9000 --read-policy fionread --access-log access.log"
)]
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

/// Buffers of upstream connections.
fn upstream_buffers(toggles: &ProxyToggles) -> Buffers {
    Buffers { rcvbuf: toggles.rcvbuf.asked(&ProxyKind::Mirror), sndbuf: None }
}
