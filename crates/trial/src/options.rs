//! The options of a trial as they are typed, and how they become a plan.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use netlab::{LabPlan, Sysctl};
use records::{
    Arm, Arrivals, Bytes, Micros, Namespaces, ProxyKind, Rcvbuf, ReadPolicy, Recording, Role,
    Spool, ToggleError, socket_addr, within,
};

use super::cpu_plan::{CpuPlan, CpuPlanError, RoleCpus};
use super::{Origin, TrialPlan, host};
use crate::roles::{self, Given, Refusal, plain_path};

/// One trial, as typed.
#[derive(Clone, Debug, clap::Args)]
#[command(
    next_help_heading = "Trial",
    mut_arg("server_file", |file| file.conflicts_with("proxy")),
    mut_arg("server", |command| command.conflicts_with("proxy"))
)]
pub struct TrialOptions {
    #[command(flatten, next_help_heading = "What to test")]
    #[expect(missing_docs, reason = "clap would take it for the help of the whole group")]
    pub given: Given,

    /// How long fetches are alone
    #[arg(long, help_heading = "Load and time", value_name = "TIME", default_value = "3s", value_parser = within(PHASE.0..=PHASE.1, "a phase has 100ms to 1h"))]
    pub idle: Micros,

    /// How long fetches are beside downloads
    #[arg(long, help_heading = "Load and time", value_name = "TIME", default_value = "8s", value_parser = within(PHASE.0..=PHASE.1, "a phase has 100ms to 1h"))]
    pub duration: Micros,

    /// Record steps and loop turns of at least this length one by one
    #[arg(long, help_heading = "Trial", hide_short_help = true, value_name = "TIME", default_value = "10ms", value_parser = within(HOLD.0..=HOLD.1, "a hold has 100us to 10s"))]
    pub hold: Micros,

    /// How much to record of the mirror: full, or minimal (what clients see, sessions and the access
    /// log). To measure what recording costs: a minimal record explains nothing
    #[arg(
        long,
        help_heading = "Trial",
        hide_short_help = true,
        value_enum,
        value_name = "EXTENT",
        default_value_t,
        hide_possible_values = true
    )]
    pub recording: Recording,

    /// Put a role of the load on other CPUs than the plan does: origin, slow or fast, as origin=0;
    /// may be given for each of them
    #[arg(long, help_heading = "Trial", hide_short_help = true, value_name = "ROLE=CPUS")]
    pub cpus: Vec<RoleCpus>,

    /// What sets it apart from others.
    #[command(flatten)]
    pub arm: Arm,

    /// Where the origin listens, for a proxy that is configured already; of --proxy url: an origin is
    /// started only with this [default: a free port]
    #[arg(
        long, hide_short_help = true,
        value_name = "ADDR",
        value_parser = socket_addr,
        help_heading = "What to test"
    )]
    pub origin_listen: Option<SocketAddr>,

    /// Where the roles are.
    #[command(flatten)]
    pub network: NetworkOptions,
}

/// The network between the roles.
#[derive(Clone, Debug, Default, PartialEq, Eq, clap::Args)]
#[command(next_help_heading = "Network")]
pub struct NetworkOptions {
    /// Put origin, proxy, slow and fast client on hosts of their own: network namespaces joined by a
    /// switch, made for the run and gone with it (needs root)
    #[arg(long, hide_short_help = true)]
    pub netns: bool,

    /// A setting of the proxy's host, as net.ipv4.tcp_rmem=40960,40960,40960; may be repeated. What this
    /// kernel has for all hosts together it refuses
    #[arg(long = "sysctl", hide_short_help = true, value_name = "NAME=VALUE", requires = "netns", value_parser = sysctl)]
    pub sysctls: Vec<(String, String)>,
}

/// What the records of a trial are called, and where its access log goes.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Output")]
pub struct RunDirOptions {
    /// What the name of the run directory ends with [default: made from the options]
    #[arg(long, hide_short_help = true, value_name = "TEXT", value_parser = label)]
    pub label: Option<String>,

    /// Where the proxy writes its access log: a file, or a FIFO that somebody reads [default:
    /// access.log in the run directory]
    #[arg(long, hide_short_help = true, value_name = "FILE")]
    pub access_log: Option<PathBuf>,

    /// Keep the heads of all packets between the proxy and its clients, for explain --fetch (root and
    /// tcpdump; some 15 MB a second, 450 MB at most)
    #[arg(long, hide_short_help = true)]
    pub capture: bool,
}

/// The hosts of a lab, which have the names of their roles.
const HOSTS: [Role; 4] = [Role::Origin, Role::Proxy, Role::Slow, Role::Fast];
/// The congestion control of sockets that choose none (tcp(7)).
const CONGESTION: &str = "net.ipv4.tcp_congestion_control";

impl NetworkOptions {
    /// The same, as records have it.
    pub fn namespaces(&self) -> Option<Namespaces> {
        self.netns.then(|| Namespaces { sysctls: self.sysctls.iter().cloned().collect() })
    }

    /// The lab that `arm` wants; `None`: all is on loopback.
    ///
    /// A program that cannot choose its congestion control gets that of the arm from its host.
    pub fn lab(&self, arm: &Arm) -> Option<LabPlan> {
        if !self.netns {
            return None;
        }
        let mut plan = LabPlan::of(HOSTS.map(Role::name));
        if let Some(proxy) = plan.host_mut(Role::Proxy.name()) {
            let own = arm.proxy.congestion.name().map(|value| (CONGESTION, value));
            let more = self.sysctls.iter().map(|(name, value)| (name.as_str(), value.as_str()));
            let sysctl = |(name, value): (&str, &str)| Sysctl {
                name: name.to_owned(),
                value: value.to_owned(),
            };
            proxy.sysctls.extend(own.into_iter().chain(more).map(sysctl));
        }
        Some(plan)
    }
}

/// The host of a role; the tracer looks from outside.
pub(crate) fn host_of(role: Role) -> Option<&'static str> {
    HOSTS.contains(&role).then(|| role.name())
}

/// Loopback, where every role is unless it has a host of its own.
pub(crate) const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// A setting and its value, whose numbers may stand between commas. The kernel says what it is worth.
fn sysctl(text: &str) -> Result<(String, String), String> {
    let letters = |name: &str| {
        name.starts_with("net.")
            && name.chars().all(|letter| letter.is_ascii_alphanumeric() || "._-".contains(letter))
    };
    match text.split_once('=') {
        Some((name, value)) if letters(name) && !name.contains("..") && !value.is_empty() => {
            Ok((name.to_owned(), value.replace(',', " ")))
        }
        _ => {
            Err(format!("{text:?} is no setting of a network: write it as net.ipv4.tcp_tw_reuse=1"))
        }
    }
}

impl TrialOptions {
    /// The trial as it is to be run, with a run directory in `runs_dir`.
    ///
    /// # Errors
    /// The options do not fit each other or this host.
    pub fn plan(self, runs_dir: &Path, files: RunDirOptions) -> Result<TrialPlan, UsageError> {
        let mut arm = self.arm;
        if let Some(kind) = self.given.kind() {
            arm.server.kind = kind;
        }
        arm.proxy.rcvbuf = arm.proxy.rcvbuf.within(host::rmem_max());
        let mut arm = arm.on(self.network.namespaces());
        check(&arm)?;
        check_bodies(&arm)?;
        arm.proxy.check()?;
        roles::check_proxy(&arm, &self.given, self.recording)?;
        let access_log = files.access_log.as_deref();
        check_places(&arm, self.origin_listen, std::iter::once(runs_dir).chain(access_log))?;
        let allowed = net::cpu::allowed().map_err(UsageError::AllowedCpus)?;
        let cpus = CpuPlan::new(&allowed, arm.proxy.workers, &arm.pin).map_err(UsageError::Pin)?;
        let cpus = cpus.with(self.cpus, &allowed).map_err(UsageError::Cpus)?;
        arm.cpus = cpus.own();
        let lab = self.network.lab(&arm);
        let asks_origin = match arm.server.kind {
            ProxyKind::Url(_) => self.origin_listen.is_some(),
            _ => roles::asks_origin(&arm.server.kind, &self.given)?,
        };
        let at = self.origin_listen.map_or(Origin::Anywhere, Origin::At);
        let origin = if asks_origin { at } else { Origin::None };
        Ok(TrialPlan {
            cpus,
            lab,
            idle: self.idle.as_duration(),
            measure: self.duration.as_duration(),
            hold: self.hold,
            recording: self.recording,
            runs_dir: runs_dir.to_owned(),
            label: files.label.unwrap_or_else(|| label_of(&arm, self.recording)),
            access_log: files.access_log,
            capture: files.capture,
            given: self.given,
            origin,
            arm,
        })
    }
}

/// Whether the proxy can reach, and be told, the places that were named.
fn check_places<'a>(
    arm: &Arm,
    origin_listen: Option<SocketAddr>,
    mut places: impl Iterator<Item = &'a Path>,
) -> Result<(), UsageError> {
    let elsewhere = matches!(arm.server.kind, ProxyKind::Url(_));
    if arm.netns.is_some() && (elsewhere || origin_listen.is_some()) {
        return Err(UsageError::OtherNetwork);
    }
    if arm.server.kind.is_not_started() || arm.server.kind == ProxyKind::Mirror {
        return Ok(());
    }
    places.try_for_each(|place| plain_path(place).map(drop).map_err(UsageError::Place))
}

/// Options that make no trial.
#[derive(Debug, thiserror::Error)]
pub enum UsageError {
    /// A CPU for the workers that is not there.
    #[error("--pin: {0}")]
    Pin(#[source] CpuPlanError),
    /// A CPU for another role that is not there.
    #[error("--cpus: {0}")]
    Cpus(#[source] CpuPlanError),
    /// More fetches at a time than this host has ports for.
    #[error(
        "--arrivals {arrivals}{} with --cap {cap} may keep {at_a_time} fetches open at a time; \
         {MAX_IN_FLIGHT} is the most: lower one of them",
        if *burst > 1 { format!(" of --burst {burst}") } else { String::new() }
    )]
    TooManyFetches {
        /// As typed.
        arrivals: Arrivals,
        /// As typed.
        burst: u32,
        /// As typed.
        cap: Micros,
        /// Their product.
        at_a_time: u64,
    },
    /// Bursts without arrivals to come at.
    #[error(
        "--burst {0} needs --arrivals with a rate, as 1/s: a closed loop says itself how many run"
    )]
    BurstInLoop(u32),
    /// Hosts of their own, and an address on this one.
    #[error(
        "--netns makes hosts that do not reach this one: it goes neither with --proxy url: nor with \
         --origin-listen"
    )]
    OtherNetwork,
    /// A path that a program's configuration cannot hold.
    #[error("a foreign proxy's files cannot be there: {0}")]
    Place(#[source] io::Error),
    /// A file that is to be sent, and cannot be read.
    #[error("{flag} {path}: {source}")]
    Body {
        /// The option.
        flag: &'static str,
        /// As typed.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// CPU time to be withheld from a program that is not started here.
    #[error(
        "--cpu-quota holds for a proxy that the run starts: this one runs by itself, or there is none"
    )]
    QuotaOfOthers,
    /// Toggles of the proxy that exclude each other.
    #[error(transparent)]
    Toggles(#[from] ToggleError),
    /// The proxy under test is not there, or cannot do what is asked of it.
    #[error(transparent)]
    Proxy(#[from] Refusal),
    /// The kernel does not say which CPUs there are.
    #[error("failed to ask which CPUs may be used: {0}")]
    AllowedCpus(#[source] io::Error),
}

/// Fetches open at a time: the ephemeral ports of a host (32768-60999 by default, ip(7)) must do
/// for them, for those in TIME_WAIT and for the proxy's upstream connections.
const MAX_IN_FLIGHT: u64 = 10_000;
/// Shortest and longest phase.
const PHASE: (Micros, Micros) = (Micros(100_000), Micros(3_600_000_000));
/// Shortest and longest hold.
const HOLD: (Micros, Micros) = (Micros(100), Micros(10_000_000));
/// Letters of a label.
const LABEL_MAX: usize = 64;

fn check(arm: &Arm) -> Result<(), UsageError> {
    if arm.faults.cpu_quota.is_some() && arm.server.kind.is_not_started() {
        return Err(UsageError::QuotaOfOthers);
    }
    let (arrivals, burst, cap) = (arm.fetch.arrivals, arm.faults.burst, arm.fetch.cap);
    let Arrivals::PerSecond(rate) = arrivals else {
        return if burst > 1 { Err(UsageError::BurstInLoop(burst)) } else { Ok(()) };
    };
    // Also with less than one arrival within a cap, all fetches of that one are open.
    let open = (rate * cap.as_secs()).max(1.0) * f64::from(burst);
    if open <= MAX_IN_FLIGHT as f64 {
        return Ok(());
    }
    let at_a_time = Duration::try_from_secs_f64(open).map_or(u64::MAX, |secs| secs.as_secs());
    Err(UsageError::TooManyFetches { arrivals, burst, cap, at_a_time })
}

/// Files to be sent that are not there are told before the run.
fn check_bodies(arm: &Arm) -> Result<(), UsageError> {
    let bodies = [("--slow-body", &arm.load.slow_body), ("--fetch-body", &arm.fetch.fetch_body)];
    for (flag, path) in bodies {
        let Some(path) = path else { continue };
        let file = std::fs::File::open(path).and_then(|file| file.metadata());
        let is_file = file.map(|meta| meta.is_file());
        let wrong = match is_file {
            Ok(true) => continue,
            Ok(false) => io::Error::other("it is no file"),
            Err(error) => error,
        };
        return Err(UsageError::Body { flag, path: path.clone(), source: wrong });
    }
    Ok(())
}

/// A label is a part of a file name, and a word in a shell.
fn label(text: &str) -> Result<String, String> {
    let safe = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    if (1..=LABEL_MAX).contains(&text.len()) && text.chars().all(safe) {
        Ok(text.to_owned())
    } else {
        Err(format!("a label has 1 to {LABEL_MAX} letters, digits, dots, dashes or underscores"))
    }
}

/// What sets this run apart, as `reuseport-rcvbuf40KiB`.
fn label_of(arm: &Arm, recording: Recording) -> String {
    let usual = Arm::default();
    let (proxy, load, faults) = (&arm.proxy, &arm.load, &arm.faults);
    let mut words = Vec::new();
    if arm.server.kind != usual.server.kind {
        words.push(arm.server.kind.name().to_owned());
    }
    words.push(if proxy.reuseport { "reuseport" } else { "shared" }.to_owned());
    let mut add = |differs: bool, word: String| {
        if differs {
            words.push(word);
        }
    };
    let rcvbuf = arm.rcvbuf().map_or_else(|| "-auto".to_owned(), Bytes::exact);
    add(arm.rcvbuf() != Rcvbuf::Default.asked(&arm.server.kind), format!("rcvbuf{rcvbuf}"));
    let policy = proxy.read_policy.to_string().replace(':', "");
    add(proxy.read_policy != ReadPolicy::Drain, policy);
    add(proxy.workers != usual.proxy.workers, format!("workers{}", proxy.workers));
    add(proxy.backlog != usual.proxy.backlog, format!("backlog{}", proxy.backlog));
    add(proxy.log_mode != usual.proxy.log_mode, format!("log-{}", proxy.log_mode));
    add(arm.netns.is_some(), "netns".to_owned());
    add(proxy.accept != usual.proxy.accept, proxy.accept.to_string());
    add(arm.server.content != usual.server.content, arm.server.content.to_string());
    add(proxy.buffering != usual.proxy.buffering, format!("buffering-{}", proxy.buffering));
    add(matches!(proxy.spool, Spool::Dir(_)), "spool".to_owned());
    add(load.slow != usual.load.slow, format!("slow{}", load.slow));
    add(arm.place != usual.place, arm.place.to_string());
    let is_closed = matches!(arm.fetch.arrivals, Arrivals::Closed(_));
    add(is_closed, arm.fetch.arrivals.to_string().replace(':', ""));
    add(arm.fetch.keep_alive, "keep-alive".to_owned());
    add(faults.burst != usual.faults.burst, format!("burst{}", faults.burst));
    add(faults.delay != usual.faults.delay, format!("delay{}", faults.delay));
    if let Some(workers) = faults.origin_workers {
        add(true, format!("origin-workers{workers}"));
    }
    if let Some(percent) = faults.cpu_quota {
        add(true, format!("quota{percent}"));
    }
    if let Some(count) = faults.neighbours {
        add(true, format!("neighbours{count}"));
    }
    for (role, cpus) in &arm.cpus {
        let cpus: Vec<String> = cpus.iter().map(ToString::to_string).collect();
        add(true, format!("{role}-on{}", cpus.join("_")));
    }
    add(recording != Recording::Full, recording.to_string());
    words.join("-").replace(' ', "").chars().take(LABEL_MAX).collect()
}

#[cfg(test)]
mod tests;
