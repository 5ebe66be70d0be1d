//! The four roles: the only module that names their crates.
//!
//! It gathers their toggles for the command line, writes the command lines of children, and turns
//! `turnstile origin|proxy|slow|fast` into a call of that crate. Everything else in the harness
//! knows the roles by their records.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use net::cpu::CpuList;
use net::role::{self, Failure, RoleOptions};
use records::{
    Arm, BufferingMode, ListenerMode, Micros, Phase, Pin, Placement, Rcvbuf, Recording, Role, Spool,
};

use crate::trial::placement::Requests;

mod faults;
mod hops;
mod network;
mod patience;
mod server;

pub use faults::FaultToggles;
pub use hops::HopCommand;
pub(crate) use network::host_of;
pub use network::{LOOPBACK, NetworkToggles};
pub use patience::{Patience, patience};
pub use server::ServerToggles;

pub use fast_client::{FastOptions, FetchToggles};
pub use origin::OriginOptions;
pub use proxy::{ProxyOptions, ProxyToggles, ToggleError};
pub use servers::{
    Given, Refusal, ServerOptions, build_title, names as server_names, plain_path, proxy_kind,
};
pub use slow_client::{SlowOptions, SlowToggles};
pub use tracer::TracerOptions;

/// The subcommand of a foreign server.
pub const SERVER: &str = "server";

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
    #[command(flatten)]
    #[expect(missing_docs, reason = "clap would take it for the help of the whole group")]
    pub server: ServerToggles,
    #[command(flatten)]
    #[expect(missing_docs, reason = "clap would take it for the help of the whole group")]
    pub network: NetworkToggles,
}

/// What a trial tells its proxy beyond the toggles.
#[derive(Clone, Copy, Debug)]
pub struct ProxySetup<'a> {
    /// Where it listens, on a free port.
    pub listen: IpAddr,
    /// Where the origin listens.
    pub upstream: SocketAddr,
    /// Where the access log goes.
    pub access_log: &'a Path,
    /// Where a foreign program has its configuration and its files.
    pub dir: &'a Path,
    /// Steps and loop turns from this length on are told one by one.
    pub hold: Micros,
    /// How much the mirror tells.
    pub recording: Recording,
    /// The CPUs of its workers, in turn; absent: the scheduler decides.
    pub workers: Option<&'a CpuList>,
}

impl Toggles {
    /// The arm that these toggles and the harness' own make; no role has CPUs of its own choice.
    pub fn arm(&self, place: Placement, pin: Pin) -> Arm {
        let Self { proxy, slow, fetch, faults, server, network } = self;
        let kind = server.kind();
        Arm {
            reuseport: proxy.reuseport,
            rcvbuf: self.rcvbuf().asked(&kind),
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
            proxy: kind,
            trace: server.trace,
            accept: proxy.accept,
            content: server.content,
            buffering: proxy.buffering,
            spool: proxy.spool.clone(),
            spool_max: proxy.spool_max,
            gzip: proxy.gzip,
            slow_coding: slow.slow_coding,
            fetch_coding: fetch.fetch_coding,
            netns: network.namespaces(),
            directives: server.directives.clone(),
        }
    }

    /// A host whose buffers were set by `--tcp-rmem` tunes its sockets by that, unless told otherwise.
    fn rcvbuf(&self) -> Rcvbuf {
        match self.proxy.rcvbuf {
            Rcvbuf::Default if self.network.tcp_rmem.is_some() => Rcvbuf::Auto,
            chosen => chosen,
        }
    }

    /// How the proxy's workers share their port.
    pub fn listener_mode(&self) -> ListenerMode {
        self.proxy.listener_mode()
    }

    /// The origin's arguments: its answers leave under the same congestion control as the proxy's.
    pub fn origin_args(&self, listen: IpAddr, idle: Duration) -> Vec<String> {
        let listen = self.server.origin_listen.unwrap_or(SocketAddr::new(listen, 0));
        let mut all = args([
            ("--listen", listen.to_string()),
            ("--congestion", self.proxy.congestion.to_string()),
        ]);
        all.extend(self.faults.origin_args(idle));
        all
    }

    /// Whether `arm` can be run with the proxy it names, and recorded so: a foreign program must be
    /// there, and be able to do what is asked of it.
    ///
    /// # Errors
    /// What cannot be done, and what to do instead.
    pub fn check_proxy(&self, arm: &Arm, recording: Recording) -> Result<(), Refusal> {
        servers::check(arm, &self.server.given, recording)
    }

    /// The arguments of a foreign server.
    pub fn server_args(&self, setup: ProxySetup<'_>, arm: &Arm) -> serde_json::Result<Vec<String>> {
        let mut all = args([
            ("--arm", serde_json::to_string(arm)?),
            ("--listen", SocketAddr::new(setup.listen, 0).to_string()),
            ("--upstream", setup.upstream.to_string()),
            ("--dir", setup.dir.display().to_string()),
            ("--access-log", setup.access_log.display().to_string()),
            ("--hold", time(setup.hold)),
        ]);
        all.extend(self.server.given.to_args());
        if let Some(cpus) = setup.workers {
            all.extend(args([("--pin", cpus.to_string())]));
        }
        Ok(all)
    }

    /// The arguments of the tracer of these workers, threads of our own proxy.
    pub fn trace_args(&self, workers: &[i32], hold: Micros) -> Vec<String> {
        let mut all = args([("--trace", self.server.trace.to_string()), ("--hold", time(hold))]);
        all.extend(workers.iter().flat_map(|tid| ["--worker".to_owned(), tid.to_string()]));
        all
    }

    /// The mirror's arguments.
    pub fn proxy_args(&self, setup: ProxySetup<'_>) -> Vec<String> {
        let mut all = args([
            ("--listen", SocketAddr::new(setup.listen, 0).to_string()),
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
        let mut toggles = ProxyToggles { rcvbuf: self.rcvbuf(), ..self.proxy.clone() };
        // Temporary files are beside the log, on the disk that a foreign proxy's are on.
        if (toggles.buffering, &toggles.spool) == (BufferingMode::On, &Spool::Default)
            && let Some(dir) = setup.access_log.parent()
        {
            toggles.spool = Spool::Dir(dir.to_owned());
        }
        all.extend(toggles.to_args());
        all
    }

    /// The slow client's arguments.
    pub fn slow_args(&self, target: SocketAddr, requests: Requests) -> Vec<String> {
        let mut all = vec![target.to_string(), "--orders".to_owned()];
        all.extend(self.own_network());
        if requests == Requests::Held {
            all.push("--hold".to_owned());
        }
        all.extend(self.slow.to_args());
        all
    }

    /// The consent to load a host of the run's own network.
    fn own_network(&self) -> Option<String> {
        self.network.netns.then(|| "--own-network".to_owned())
    }

    /// The fast client's arguments. Bursts are a part of the load: the baseline has none.
    pub fn fast_args(&self, target: SocketAddr, phase: Phase, length: Duration) -> Vec<String> {
        let mut all = vec![target.to_string()];
        all.extend(self.own_network());
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
pub fn role_args(word: &str, args: Vec<String>, cpus: Option<&CpuList>) -> Vec<String> {
    let shared =
        RoleOptions { cpus: cpus.cloned(), parent_pid: i32::try_from(std::process::id()).ok() };
    let mut all = vec![word.to_owned()];
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
    /// Watch the workers of a proxy that runs: their holds, sleeps and system calls
    #[command(after_help = tracer::EXAMPLES)]
    Trace(Box<TracerOptions>),
    /// Run a foreign server in the mirror's place
    #[command(hide = true)]
    Server(Box<ServerOptions>),
}

impl RoleCommand {
    /// Which role it is.
    pub const fn role(&self) -> Role {
        match self {
            Self::Origin(_) => Role::Origin,
            Self::Proxy(_) | Self::Server(_) => Role::Proxy,
            Self::Slow(_) => Role::Slow,
            Self::Fast(_) => Role::Fast,
            Self::Trace(_) => Role::Trace,
        }
    }

    /// Plays the role in this process, until it has ended or is stopped, and says why it failed.
    pub fn run(&self) -> ExitCode {
        let name = self.role().name();
        match self {
            Self::Origin(options) => role::finish(name, origin::run(options), |_| Failure::Trouble),
            Self::Proxy(options) => {
                role::finish(name, proxy::run(options), proxy::ProxyError::failure)
            }
            Self::Slow(options) => {
                role::finish(name, slow_client::run(options), slow_client::SlowError::failure)
            }
            Self::Fast(options) => {
                role::finish(name, fast_client::run(options), fast_client::FastError::failure)
            }
            Self::Trace(options) => {
                role::finish(name, tracer::run(options), tracer::TracerError::failure)
            }
            Self::Server(options) => {
                role::finish(name, servers::run(options), servers::ServerError::failure)
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
