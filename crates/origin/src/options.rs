//! The origin's command line.

use std::net::SocketAddr;

use net::role::RoleOptions;
use net::target::socket_addr;
use records::{Bytes, Congestion, Micros};

/// Everything the origin role needs.
#[derive(Clone, Debug, clap::Args)]
pub struct OriginOptions {
    /// Address and port to accept on; port 0: a free one, told in the first line
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:0", value_parser = socket_addr)]
    pub listen: SocketAddr,

    /// SO_SNDBUF of accepted connections, as 4MiB [default: the most this kernel gives]
    #[arg(long, value_name = "SIZE", value_parser = send_buffer)]
    pub sndbuf: Option<Bytes>,

    /// Congestion control towards clients: reno, cubic or system (the kernel's default)
    #[arg(long, value_name = "NAME", default_value_t)]
    pub congestion: Congestion,

    /// Length of the listener's queue of connections to be accepted
    #[arg(long, value_name = "N", default_value_t = 4096, value_parser = clap::value_parser!(u32).range(1..=65535))]
    pub backlog: u32,

    /// Think this long before each answer's head, as an application that computes; at most 1m
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = think, help_heading = "Application")]
    pub think: Micros,

    /// Begin to think so long after the first request, as an application that slows down; at most 1h
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = think_after, help_heading = "Application")]
    pub think_after: Micros,

    /// Answer at most N requests at a time, from the thought to the last byte handed to the kernel;
    /// the others wait in order [default: no limit]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=65535), help_heading = "Application")]
    pub workers: Option<u32>,

    #[command(flatten)]
    #[expect(missing_docs, reason = "clap would take it for the help of the whole group")]
    pub role: RoleOptions,
}

impl OriginOptions {
    /// The same options as arguments of a command line.
    pub fn to_args(&self) -> Vec<String> {
        let mut args = Vec::new();
        let mut set = |name: &str, value: String| args.extend([format!("--{name}"), value]);
        set("listen", self.listen.to_string());
        set("backlog", self.backlog.to_string());
        set("congestion", self.congestion.to_string());
        set("think", format!("{}us", self.think.0));
        set("think-after", format!("{}us", self.think_after.0));
        if let Some(size) = self.sndbuf {
            set("sndbuf", size.exact());
        }
        if let Some(workers) = self.workers {
            set("workers", workers.to_string());
        }
        args.extend(self.role.to_args());
        args
    }
}

impl Default for OriginOptions {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            sndbuf: None,
            congestion: Congestion::default(),
            backlog: 4096,
            think: Micros(0),
            think_after: Micros(0),
            workers: None,
            role: RoleOptions::default(),
        }
    }
}

fn send_buffer(text: &str) -> Result<Bytes, String> {
    let size: Bytes = text.parse().map_err(|e: records::ParseUnitError| e.to_string())?;
    // setsockopt(2) takes an int, and the kernel doubles it.
    if (Bytes(1)..=Bytes::gib(1)).contains(&size) {
        Ok(size)
    } else {
        Err("a send buffer has 1 byte to 1 GiB".to_owned())
    }
}

fn think(text: &str) -> Result<Micros, String> {
    at_most(text, Micros(60_000_000), "it thinks 1m at most")
}

fn think_after(text: &str) -> Result<Micros, String> {
    at_most(text, Micros(3_600_000_000), "it begins to think after 1h at most")
}

fn at_most(text: &str, most: Micros, rule: &str) -> Result<Micros, String> {
    let length: Micros = text.parse().map_err(|e: records::ParseUnitError| e.to_string())?;
    if length <= most { Ok(length) } else { Err(rule.to_owned()) }
}

#[cfg(test)]
mod tests;
