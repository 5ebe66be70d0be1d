//! The slow client's command line: its toggles, and what a harness needs to steer it.

use net::role::RoleOptions;
use net::target::TargetOptions;
use records::{Bytes, BytesPerSec, Coding, Micros, Sink};

/// The toggles: what makes one slow load differ from another.
#[derive(Clone, Debug, PartialEq, Eq, clap::Args)]
#[command(next_help_heading = "Slow clients")]
pub struct SlowToggles {
    /// Parallel downloads; 0: none
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(..=100_000))]
    pub slow: u32,

    /// Size of one download
    #[arg(long, value_name = "SIZE", default_value = "2GiB", value_parser = download_size)]
    pub slow_size: Bytes,

    /// What becomes of the bytes: trunc (discarded in the kernel) or copy (read for real)
    #[arg(long, value_name = "SINK", default_value_t)]
    pub sink: Sink,

    /// Read at most this much per second of each download, as 10MiB/s [default: all that comes]
    #[arg(long, value_name = "RATE")]
    pub read_rate: Option<BytesPerSec>,

    /// Ask for answers in this coding: identity, or gzip; they are counted as they come
    #[arg(long, value_name = "CODING", default_value_t)]
    pub slow_coding: Coding,
}

impl SlowToggles {
    /// The same toggles as arguments of a command line.
    pub fn to_args(&self) -> Vec<String> {
        let mut args = Vec::new();
        let mut set = |name: &str, value: String| args.extend([format!("--{name}"), value]);
        set("slow", self.slow.to_string());
        set("slow-size", self.slow_size.exact());
        set("sink", self.sink.to_string());
        set("slow-coding", self.slow_coding.to_string());
        if let Some(rate) = self.read_rate {
            set("read-rate", Bytes(rate.0).exact());
        }
        args
    }
}

impl Default for SlowToggles {
    fn default() -> Self {
        Self {
            slow: 4,
            slow_size: Bytes::gib(2),
            sink: Sink::Trunc,
            read_rate: None,
            slow_coding: Coding::Identity,
        }
    }
}

/// Everything the slow client needs.
#[derive(Clone, Debug, clap::Args)]
pub struct SlowOptions {
    #[command(flatten)]
    #[expect(missing_docs, reason = "clap would take it for the help of the whole group")]
    pub target: TargetOptions,

    #[command(flatten)]
    #[expect(missing_docs, reason = "clap would take it for the help of the whole group")]
    pub toggles: SlowToggles,

    /// Send no request until told to go on standard input; needs --orders
    #[arg(long, requires = "orders", help_heading = "Steering")]
    pub hold: bool,

    /// Read orders from standard input, one JSON object a line
    #[arg(long, help_heading = "Steering")]
    pub orders: bool,

    /// Tell the bytes of every download this often
    #[arg(long, value_name = "TIME", default_value = "200ms", value_parser = interval, help_heading = "Steering")]
    pub interval: Micros,

    /// End after this long [default: when stopped]
    #[arg(long, value_name = "TIME", help_heading = "Steering")]
    pub duration: Option<Micros>,

    /// Let bytes gather in the kernel this long between two reads; 0s: read them as they come
    #[arg(long, value_name = "TIME", default_value = "2ms", value_parser = gather, help_heading = "Steering")]
    pub gather: Micros,

    #[command(flatten)]
    #[expect(missing_docs, reason = "clap would take it for the help of the whole group")]
    pub role: RoleOptions,
}

impl SlowOptions {
    /// The same options as arguments of a command line.
    pub fn to_args(&self) -> Vec<String> {
        let time = |length: Micros| format!("{}us", length.0);
        let mut args = vec![self.target.target.to_string()];
        args.extend(self.toggles.to_args());
        args.extend(["--interval".to_owned(), time(self.interval)]);
        args.extend(["--gather".to_owned(), time(self.gather)]);
        if let Some(duration) = self.duration {
            args.extend(["--duration".to_owned(), time(duration)]);
        }
        for (name, on) in [
            ("--allow-remote", self.target.allow_remote),
            ("--own-network", self.target.own_network),
            ("--orders", self.orders),
            ("--hold", self.hold),
        ] {
            if on {
                args.push(name.to_owned());
            }
        }
        args.extend(self.role.to_args());
        args
    }
}

/// An empty download would end before it could load anything.
fn download_size(text: &str) -> Result<Bytes, String> {
    let size: Bytes = text.parse().map_err(|e: records::ParseUnitError| e.to_string())?;
    if size > Bytes(0) { Ok(size) } else { Err("a download has 1 byte or more".to_owned()) }
}

fn interval(text: &str) -> Result<Micros, String> {
    let length: Micros = text.parse().map_err(|e: records::ParseUnitError| e.to_string())?;
    if length >= Micros(1_000) { Ok(length) } else { Err("an interval has 1ms or more".to_owned()) }
}

/// Longer, and the receive buffers (tcp_rmem, 6 MiB by default) fill at loopback speed; and a stop
/// must be seen within 100 ms.
fn gather(text: &str) -> Result<Micros, String> {
    let length: Micros = text.parse().map_err(|e: records::ParseUnitError| e.to_string())?;
    if length <= Micros(20_000) { Ok(length) } else { Err("at most 20ms".to_owned()) }
}

#[cfg(test)]
mod tests;
