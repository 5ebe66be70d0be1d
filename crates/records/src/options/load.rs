//! The toggles of what surrounds the proxy: downloads, fetches, and faults made on purpose.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::{Asking, Header, RequestLine, as_text, default_of_flags, within};
use crate::{Bytes, BytesPerSec, Holder, Micros, ParseUnitError};

/// The downloads: what makes one slow load differ from another.
#[derive(Clone, Debug, PartialEq, Eq, clap::Args, Serialize, Deserialize)]
#[command(next_help_heading = "Load and time")]
#[serde(default)]
pub struct SlowToggles {
    /// Parallel downloads; 0: none
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(..=100_000))]
    pub slow: u32,

    /// Size of one download
    // An empty download would end before it could load anything.
    #[arg(long, value_name = "SIZE", default_value = "2GiB", value_parser = within(Bytes(1)..=Bytes(u64::MAX), "a download has 1 byte or more"))]
    pub slow_size: Bytes,

    /// Read at most this much per second of each download, as 10MiB/s [default: all that comes]
    #[arg(long, hide_short_help = true, value_name = "RATE")]
    pub read_rate: Option<BytesPerSec>,

    /// Slow work, as /export or 'PUT /upload'
    ///
    /// It is asked for instead of --slow-size bytes of the origin; when one request is answered, the next
    /// begins
    #[arg(long, value_name = "PATH", help_heading = "What to test")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slow_path: Option<RequestLine>,

    /// A header of these requests, as 'Authorization: Bearer x'; may be repeated. Answers in a coding
    /// ('Accept-Encoding: gzip') are counted as they come
    #[arg(long = "slow-header", hide_short_help = true, value_name = "HEADER")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub slow_headers: Vec<Header>,

    /// Send this file with each of these requests: an upload; POST unless --slow-path has a method
    #[arg(long, hide_short_help = true, value_name = "FILE", requires = "slow_path")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slow_body: Option<PathBuf>,
}

impl SlowToggles {
    /// What the slow work of a slot is called, as whose steps may hold others.
    pub fn holder(&self, slot: u32) -> Holder {
        if self.slow_body.is_some() { Holder::Upload(slot) } else { Holder::Download(slot) }
    }

    /// What all of it is called.
    pub fn plural(&self) -> &'static str {
        if self.slow_body.is_some() { "uploads" } else { "downloads" }
    }

    /// What they ask for.
    pub fn asking(&self) -> Asking<'_> {
        Asking {
            line: self.slow_path.as_ref(),
            size: self.slow_size,
            headers: &self.slow_headers,
            body: self.slow_body.as_deref(),
        }
    }
}

/// The fetches: what makes one stream of them differ from another.
#[derive(Clone, Debug, PartialEq, clap::Args, Serialize, Deserialize)]
#[command(next_help_heading = "Load and time")]
#[serde(default)]
pub struct FetchToggles {
    /// Rate of fetches
    ///
    /// As 10/s; closed: the next when the last has ended; or closed:N: so many of these at a time
    #[arg(long, visible_alias = "rate", value_name = "RATE", default_value = "10/s")]
    pub arrivals: Arrivals,

    /// Fetch over connections that are open already, where the server keeps them [default: a new
    /// connection for each fetch]
    #[arg(long, hide_short_help = true)]
    pub keep_alive: bool,

    /// Size of what is fetched
    #[arg(long, value_name = "SIZE", default_value = "3MiB")]
    pub fetch_size: Bytes,

    /// Cap of a fetch
    ///
    /// It is given up after this long, 1ms to 1m
    #[arg(long, visible_alias = "timeout", value_name = "TIME", default_value = "1s", value_parser = within(Micros(1_000)..=Micros(60_000_000), "a cap is 1 ms to 1 minute"))]
    #[serde(rename = "cap_us")]
    pub cap: Micros,

    /// What is fetched, as /health or 'POST /login'
    ///
    /// It is asked for instead of --fetch-size bytes of the origin; a whole answer with a status of 2xx is
    /// good
    #[arg(long, value_name = "PATH", help_heading = "What to test")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fetch_path: Option<RequestLine>,

    /// A header of these requests, as 'Host: example.com'; may be repeated. With 'Accept-Encoding: gzip' a
    /// whole answer is good whatever its length
    #[arg(long = "fetch-header", hide_short_help = true, value_name = "HEADER")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fetch_headers: Vec<Header>,

    /// Send this file with each fetch, 16MiB at most; POST unless --fetch-path has a method
    #[arg(long, hide_short_help = true, value_name = "FILE", requires = "fetch_path")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fetch_body: Option<PathBuf>,
}

impl FetchToggles {
    /// What they ask for.
    pub fn asking(&self) -> Asking<'_> {
        Asking {
            line: self.fetch_path.as_ref(),
            size: self.fetch_size,
            headers: &self.fetch_headers,
            body: self.fetch_body.as_deref(),
        }
    }
}

/// What is wrong with the world around the proxy, each to bring about one cause of late fetches.
///
/// The proxy has no such toggles: what it does wrong is what its own toggles say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::Args, Serialize, Deserialize)]
#[command(next_help_heading = "Faults")]
#[serde(default)]
pub struct FaultToggles {
    /// Let the origin wait this long before each answer once the idle phase is over, at most 1m:
    /// fetches are late because of the upstream
    #[arg(long, hide_short_help = true, alias = "think", value_name = "TIME", default_value = "0s", value_parser = Self::delays())]
    #[serde(rename = "delay_us", alias = "think_us")]
    pub delay: Micros,

    /// Let the origin answer only N requests at a time, downloads among them: fetches queue at the
    /// upstream [default: no limit]
    #[arg(long, hide_short_help = true, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=65535))]
    pub origin_workers: Option<u32>,

    /// Start N fetches together at each arrival of the measure phase: fetches queue to be accepted
    #[arg(long, hide_short_help = true, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub burst: u32,

    /// Give the proxy this much of one CPU once the idle phase is over, as 40 (percent): the run makes a
    /// control group with a quota and removes it (needs root) [default: all that there is]
    #[arg(long, hide_short_help = true, value_name = "PERCENT", value_parser = clap::value_parser!(u32).range(1..=1_000))]
    #[serde(rename = "cpu_quota_percent", skip_serializing_if = "Option::is_none")]
    pub cpu_quota: Option<u32>,

    /// Let N busy loops run on each CPU of the workers once the idle phase is over: the workers are
    /// ready and have no CPU [default: none]
    #[arg(long, hide_short_help = true, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=64))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub neighbours: Option<u32>,
}

impl FaultToggles {
    /// Reads how long an origin may wait before it answers.
    pub fn delays() -> impl clap::builder::TypedValueParser<Value = Micros> {
        within(Micros(0)..=Micros(60_000_000), "a delay has 1m at most")
    }
}

default_of_flags!(SlowToggles, FetchToggles, FaultToggles);

/// When fetches start. Written `10/s`, `0.5/s`, `closed` or `closed:500`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Arrivals {
    /// Open loop: one fetch every `1/rate` seconds, whether or not earlier ones have ended.
    PerSecond(f64),
    /// Closed loop: so many fetches at a time, each followed by the next when it has ended. One, as in
    /// the published case, is written `closed`.
    Closed(u32),
}

impl Arrivals {
    /// The fastest open loop that is accepted, per second.
    pub const MAX_PER_SECOND: f64 = 100_000.0;
    /// The most fetches at a time of a closed loop: a host has some 28,000 ports to dial from
    /// (32768-60999 by default, ip(7)), and those in TIME_WAIT need theirs.
    pub const MAX_AT_A_TIME: u32 = 10_000;
}

impl fmt::Display for Arrivals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PerSecond(rate) => f.pad(&format!("{rate}/s")),
            Self::Closed(1) => f.pad("closed"),
            Self::Closed(fetches) => f.pad(&format!("closed:{fetches}")),
        }
    }
}

impl FromStr for Arrivals {
    type Err = ParseUnitError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let rates = 0.01..=Self::MAX_PER_SECOND;
        let rate = |text: &str| text.parse().ok().filter(|rate| rates.contains(rate));
        let at_a_time = |text: &str| {
            text.parse().ok().filter(|fetches| (1..=Self::MAX_AT_A_TIME).contains(fetches))
        };
        let arrivals = match (text.strip_suffix("/s"), text.strip_prefix("closed:")) {
            _ if text == "closed" => Some(Self::Closed(1)),
            (Some(text), _) => rate(text).map(Self::PerSecond),
            (None, Some(text)) => at_a_time(text).map(Self::Closed),
            (None, None) => None,
        };
        let forms = "10/s (0.01/s to 100000/s), closed or closed:N (1 to 10000 at a time)";
        arrivals.ok_or_else(|| ParseUnitError::new(text, "an arrival process", forms))
    }
}

as_text!(Arrivals);
