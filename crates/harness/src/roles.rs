//! The four roles: the only module that names their crates.
//!
//! It gathers their toggles for the command line, writes the command lines of children, and turns
//! `turnstile origin|proxy|slow|fast` into a call of that crate. Everything else in the harness
//! knows the roles by their records.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use net::cpu::CpuList;
use net::role::{self, Failure, RoleOptions};
use records::{Arm, ListenerMode, Micros, Phase, Pin, Placement, Recording, Role};

use crate::trial::placement::Requests;

mod faults;

pub use faults::FaultToggles;

pub use fast_client::{FastOptions, FetchToggles};
pub use origin::OriginOptions;
pub use proxy::{ProxyOptions, ProxyToggles};
pub use slow_client::{SlowOptions, SlowToggles};

#[cfg(test)]
mod tests;

/// Every toggle of every role.
#[derive(Clone, Debug, Default, PartialEq, clap::Args)]
pub struct Toggles {
    #[command(flatten)]
    #[expect(missing_docs, reason = "clap would take it for the help of the whole group")]
    pub proxy: ProxyToggles,
    #[command(flatten)]
    #[expect(missing_docs, reason = "clap would take it for the help of the whole group")]
    pub slow: SlowToggles,
    #[command(flatten)]
    #[expect(missing_docs, reason = "clap would take it for the help of the whole group")]
    pub fetch: FetchToggles,
    #[command(flatten)]
    #[expect(missing_docs, reason = "clap would take it for the help of the whole group")]
    pub faults: FaultToggles,
}

/// What a trial tells its proxy beyond the toggles.
#[derive(Clone, Copy, Debug)]
pub struct ProxySetup<'a> {
    /// Where the origin listens.
    pub upstream: SocketAddr,
    /// Where the access log goes.
    pub access_log: &'a Path,
    /// Steps and loop turns from this length on are told one by one.
    pub hold: Micros,
    /// How much it tells.
    pub recording: Recording,
    /// The CPUs of its workers, in turn; absent: the scheduler decides.
    pub workers: Option<&'a CpuList>,
}

impl Toggles {
    /// The arm that these toggles and the harness' own make; no role has CPUs of its own choice.
    pub fn arm(&self, place: Placement, pin: Pin) -> Arm {
        let Self { proxy, slow, fetch, faults } = self;
        Arm {
            reuseport: proxy.reuseport,
            rcvbuf: proxy.rcvbuf,
            sndbuf: proxy.sndbuf,
            listen_rcvbuf: proxy.listen_rcvbuf,
            listen_sndbuf: proxy.listen_sndbuf,
            congestion: proxy.congestion.clone(),
            workers: proxy.workers,
            read_policy: proxy.read_policy,
            buffer: proxy.buffer,
            backlog: proxy.backlog,
            multi_accept: proxy.multi_accept,
            slow: slow.slow,
            slow_size: slow.slow_size,
            sink: slow.sink,
            read_rate: slow.read_rate,
            place,
            arrivals: fetch.arrivals,
            fetch_size: fetch.fetch_size,
            cap_us: fetch.cap,
            pin,
            cpus: BTreeMap::new(),
            log_mode: proxy.log_mode,
            think_us: faults.think,
            origin_workers: faults.origin_workers,
            burst: faults.burst,
        }
    }

    /// How the proxy's workers share their port.
    pub fn listener_mode(&self) -> ListenerMode {
        self.proxy.listener_mode()
    }

    /// The origin's arguments: its answers leave under the same congestion control as the proxy's.
    pub fn origin_args(&self, idle: Duration) -> Vec<String> {
        let mut all = args([
            ("--listen", "127.0.0.1:0".to_owned()),
            ("--congestion", self.proxy.congestion.to_string()),
        ]);
        all.extend(self.faults.origin_args(idle));
        all
    }

    /// The proxy's arguments.
    pub fn proxy_args(&self, setup: ProxySetup<'_>) -> Vec<String> {
        let mut all = args([
            ("--listen", "127.0.0.1:0".to_owned()),
            ("--upstream", setup.upstream.to_string()),
            ("--access-log", setup.access_log.display().to_string()),
            ("--hold", time(setup.hold)),
        ]);
        if setup.recording != Recording::default() {
            all.extend(args([("--recording", setup.recording.to_string())]));
        }
        if let Some(cpus) = setup.workers {
            all.extend(args([("--pin", cpus.to_string())]));
        }
        all.extend(self.proxy.to_args());
        all
    }

    /// The slow client's arguments.
    pub fn slow_args(&self, target: SocketAddr, requests: Requests) -> Vec<String> {
        let mut all = vec![target.to_string(), "--orders".to_owned()];
        if requests == Requests::Held {
            all.push("--hold".to_owned());
        }
        all.extend(self.slow.to_args());
        all
    }

    /// The fast client's arguments. Bursts are a part of the load: the baseline has none.
    pub fn fast_args(&self, target: SocketAddr, phase: Phase, length: Duration) -> Vec<String> {
        let mut all = vec![target.to_string()];
        all.extend(args([
            ("--phase", phase.name().to_owned()),
            ("--duration", time(length.into())),
        ]));
        if phase == Phase::Measure {
            all.extend(args([("--burst", self.faults.burst.to_string())]));
        }
        all.extend(self.fetch.to_args());
        all
    }
}

/// The command line of a child after the program's name: its subcommand, `args`, and what every
/// child of a trial gets.
pub fn role_args(role: Role, args: Vec<String>, cpus: Option<&CpuList>) -> Vec<String> {
    let shared =
        RoleOptions { cpus: cpus.cloned(), parent_pid: i32::try_from(std::process::id()).ok() };
    let mut all = vec![role.name().to_owned()];
    all.extend(args);
    all.extend(shared.to_args());
    all
}

/// A role as a subcommand.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum RoleCommand {
    /// Serve bodies of any size: the upstream
    #[command(after_help = "\
Examples:
  turnstile origin --listen 127.0.0.1:9000
  curl -o /dev/null http://127.0.0.1:9000/bytes/3MiB")]
    Origin(Box<OriginOptions>),
    /// Relay as an nginx worker does: the proxy under test
    #[command(after_help = "\
Examples:
  turnstile proxy --upstream 127.0.0.1:9000 --listen 127.0.0.1:8000 --reuseport
  turnstile proxy --upstream 127.0.0.1:9000 --read-policy fionread --access-log access.log")]
    Proxy(Box<ProxyOptions>),
    /// Download without end: the load
    #[command(after_help = "\
Examples:
  turnstile slow 127.0.0.1:8000 --slow 8 --slow-size 4GiB
  turnstile slow 127.0.0.1:8000 --sink copy --read-rate 10MiB/s")]
    Slow(Box<SlowOptions>),
    /// Fetch small objects, each with a cap: the probe
    #[command(after_help = "\
Examples:
  turnstile fast 127.0.0.1:8000 --duration 10s
  turnstile fast 127.0.0.1:8000 --arrivals closed --cap 1s --fetch-size 3MiB")]
    Fast(Box<FastOptions>),
}

impl RoleCommand {
    /// Which role it is.
    pub const fn role(&self) -> Role {
        match self {
            Self::Origin(_) => Role::Origin,
            Self::Proxy(_) => Role::Proxy,
            Self::Slow(_) => Role::Slow,
            Self::Fast(_) => Role::Fast,
        }
    }

    /// Plays the role in this process, until it has ended or is stopped, and says why it failed.
    pub fn run(&self) -> ExitCode {
        let name = self.role().name();
        match self {
            Self::Origin(options) => role::finish(name, origin::run(options), |_| Failure::Trouble),
            Self::Proxy(options) => role::finish(name, proxy::run(options), |_| Failure::Trouble),
            Self::Slow(options) => {
                role::finish(name, slow_client::run(options), slow_client::SlowError::failure)
            }
            Self::Fast(options) => {
                role::finish(name, fast_client::run(options), fast_client::FastError::failure)
            }
        }
    }
}

fn args<const N: usize>(options: [(&str, String); N]) -> Vec<String> {
    options.into_iter().flat_map(|(name, value)| [name.to_owned(), value]).collect()
}

fn time(length: Micros) -> String {
    format!("{}us", length.0)
}
