//! The upstream: `GET|HEAD /bytes/<size>` with a body that everybody can check.
//!
//! It shares a core with the clients and must outrun a proxy on another core, so what counts is the
//! CPU it costs per byte: no body is copied or even stored in user space, and one system call moves
//! megabytes (`Pattern`). It must also answer a small fetch while downloads run, so a connection
//! gives way after each such call.
//!
//! It tells of every request when it had been read and when its answer's head was there, since an
//! answer that is late can be the proxy's doing as well.
//!
//! Not for: files, ranges or TLS. It is slow only where it is told to delay answers, or to have few workers,
//! as an application server is.
//!
//! Invariants:
//! - One thread, one event loop; a connection's turn is bounded in bytes.
//! - The byte at offset `i` of any body is `i mod 251`.
//! - A client can end its own connection only, whatever it sends.

mod application;
mod body;
mod request_log;
mod run;

use std::net::SocketAddr;

use net::role::RoleOptions;
use records::{Congestion, FaultToggles, Micros, socket_addr, within};
use serde::{Deserialize, Serialize};

pub use run::run;

/// Everything the origin role needs.
#[derive(Clone, Debug, clap::Parser, Serialize, Deserialize)]
#[command(
    version,
    about = "An upstream that serves bodies of any size at little cost: GET /bytes/2GiB",
    long_about = None,
    after_help = "\
Examples:
  turnstile origin --listen 127.0.0.1:9000
  curl -o /dev/null http://127.0.0.1:9000/bytes/3MiB"
)]
pub struct OriginOptions {
    /// Address and port to accept on; port 0: a free one, told in the first line
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:0", value_parser = socket_addr)]
    pub listen: SocketAddr,

    /// Congestion control towards clients: reno, cubic or system (the kernel's default)
    #[arg(long, value_name = "NAME", default_value_t)]
    pub congestion: Congestion,

    /// Wait this long before each answer's head, as an application that computes; at most 1m
    #[arg(long, alias = "think", value_name = "TIME", default_value = "0s", value_parser = FaultToggles::delays(), help_heading = "Application")]
    pub delay: Micros,

    /// Begin to delay so long after the first request, as an application that slows down; at most 1h
    #[arg(long, alias = "think-after", value_name = "TIME", default_value = "0s", value_parser = within(Micros(0)..=Micros(3_600_000_000), "delays begin after 1h at most"), help_heading = "Application")]
    pub delay_after: Micros,

    /// Answer at most N requests at a time, from the delay to the last byte handed to the kernel;
    /// the others wait in order [default: no limit]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=65535), help_heading = "Application")]
    pub workers: Option<u32>,

    /// What every role has.
    #[command(flatten)]
    pub role: RoleOptions,
}
