//! The options of a trial as they are typed, and how they become a plan.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{anyhow, bail, ensure};
use net::cpu::CpuList;
use netlab::HostPlan;
use records::{
    Arm, Arrivals, Micros, Namespaces, Phase, ProxyKind, Rcvbuf, Recording, Role, socket_addr,
    within,
};
use serde_json::{Map, Value};

use super::cpu_plan::{CpuPlan, role_cpus};
use super::{Origin, TrialPlan, host};
use crate::roles::{self, Given, plain_path};

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
    #[arg(long, help_heading = "Trial", hide_short_help = true, value_name = "ROLE=CPUS", value_parser = role_cpus)]
    pub cpus: Vec<(Role, CpuList)>,

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
    pub fn lab(&self, arm: &Arm) -> Option<Vec<HostPlan>> {
        let own =
            arm.proxy.congestion.name().map(|value| (CONGESTION.to_owned(), value.to_owned()));
        let proxy: Vec<_> = own.into_iter().chain(self.sysctls.iter().cloned()).collect();
        let host = |role: Role| HostPlan {
            name: role.name().to_owned(),
            sysctls: if role == Role::Proxy { proxy.clone() } else { Vec::new() },
        };
        self.netns.then(|| HOSTS.map(host).into())
    }
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
    pub fn plan(mut self, runs_dir: &Path, mut files: RunDirOptions) -> anyhow::Result<TrialPlan> {
        if let Some(kind) = self.given.kind() {
            self.arm.server.kind = kind;
        }
        self.arm.proxy.rcvbuf = self.arm.proxy.rcvbuf.within(host::rmem_max());
        self.arm = self.arm.on(self.network.namespaces());
        let arm = &self.arm;
        check(arm)?;
        check_bodies(arm)?;
        arm.proxy.check()?;
        roles::check_proxy(arm, &self.given, self.recording)?;
        let access_log = files.access_log.as_deref();
        check_places(arm, self.origin_listen, std::iter::once(runs_dir).chain(access_log))?;
        let allowed = net::cpu::allowed()
            .map_err(|error| anyhow!("failed to ask which CPUs may be used: {error}"))?;
        let cpus = CpuPlan::new(&allowed, arm.proxy.workers, &arm.pin)
            .map_err(|why| anyhow!("--pin: {why}"))?;
        let cpus = cpus.with(&self.cpus, &allowed).map_err(|why| anyhow!("--cpus: {why}"))?;
        let lab = self.network.lab(arm);
        let asks_origin = match arm.server.kind {
            ProxyKind::Url(_) => self.origin_listen.is_some(),
            _ => roles::asks_origin(&arm.server.kind, &self.given)?,
        };
        let origin = if asks_origin { Origin::Ours } else { Origin::None };
        self.arm.cpus = cpus.own();
        files.label.get_or_insert_with(|| label_of(&self.arm, self.recording));
        Ok(TrialPlan { trial: self, files, runs_dir: runs_dir.to_owned(), origin, cpus, lab })
    }

    /// The length of a phase that has one of its own.
    pub(crate) fn length(&self, phase: Phase) -> Option<Duration> {
        match phase {
            Phase::Idle => Some(self.idle.as_duration()),
            Phase::Measure => Some(self.duration.as_duration()),
            Phase::Setup | Phase::Load | Phase::Drain | Phase::Teardown => None,
        }
    }
}

/// Whether the proxy can reach, and be told, the places that were named.
fn check_places<'a>(
    arm: &Arm,
    origin_listen: Option<SocketAddr>,
    mut places: impl Iterator<Item = &'a Path>,
) -> anyhow::Result<()> {
    let elsewhere = matches!(arm.server.kind, ProxyKind::Url(_));
    if arm.netns.is_some() && (elsewhere || origin_listen.is_some()) {
        bail!(
            "--netns makes hosts that do not reach this one: it goes neither with --proxy url: nor with \
             --origin-listen"
        );
    }
    if arm.server.kind.is_not_started() || arm.server.kind == ProxyKind::Mirror {
        return Ok(());
    }
    places.try_for_each(|place| match plain_path(place) {
        Ok(_) => Ok(()),
        Err(why) => bail!("a foreign proxy's files cannot be there: {why}"),
    })
}

/// Fetches open at a time: the ephemeral ports of a host (32768-60999 by default, ip(7)) must do
/// for them, for those in TIME_WAIT and for the proxy's upstream connections.
const MAX_IN_FLIGHT: u64 = 10_000;
/// Shortest and longest phase.
const PHASE: (Micros, Micros) = (Micros(100_000), Micros(3_600_000_000));
/// Shortest and longest hold.
const HOLD: (Micros, Micros) = (Micros(100), Micros(10_000_000));
/// Letters of a label, and of one that is made here: with the time before it, a name of forty letters.
const LABEL_MAX: usize = 64;
const LABEL_MADE: usize = 24;

fn check(arm: &Arm) -> anyhow::Result<()> {
    if arm.faults.cpu_quota.is_some() && arm.server.kind.is_not_started() {
        bail!(
            "--cpu-quota holds for a proxy that the run starts: this one runs by itself, or there is none"
        );
    }
    let (arrivals, burst, cap) = (arm.fetch.arrivals, arm.faults.burst, arm.fetch.cap);
    let Arrivals::PerSecond(rate) = arrivals else {
        ensure!(
            burst == 1,
            "--burst {burst} needs --arrivals with a rate, as 1/s: a closed loop says itself how many \
             run"
        );
        return Ok(());
    };
    // Also with less than one arrival within a cap, all fetches of that one are open.
    let open = (rate * cap.as_secs()).max(1.0) * f64::from(burst);
    if open <= MAX_IN_FLIGHT as f64 {
        return Ok(());
    }
    let at_a_time = Duration::try_from_secs_f64(open).map_or(u64::MAX, |secs| secs.as_secs());
    let of = if burst > 1 { format!(" of --burst {burst}") } else { String::new() };
    bail!(
        "--arrivals {arrivals}{of} with --cap {cap} may keep {at_a_time} fetches open at a time; \
         {MAX_IN_FLIGHT} is the most: lower one of them"
    )
}

/// Files to be sent that are not there are told before the run.
fn check_bodies(arm: &Arm) -> anyhow::Result<()> {
    let bodies = [("--slow-body", &arm.load.slow_body), ("--fetch-body", &arm.fetch.fetch_body)];
    for (flag, path) in bodies {
        let Some(path) = path else { continue };
        let file = std::fs::File::open(path).and_then(|file| file.metadata());
        match file.map(|meta| meta.is_file()) {
            Ok(true) => {}
            Ok(false) => bail!("{flag} {}: it is no file", path.display()),
            Err(why) => bail!("{flag} {}: {why}", path.display()),
        }
    }
    Ok(())
}

/// A label is a part of a file name, and a word in a shell.
fn is_safe(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || "-_.".contains(letter)
}

fn label(text: &str) -> Result<String, String> {
    if (1..=LABEL_MAX).contains(&text.len()) && text.chars().all(is_safe) {
        Ok(text.to_owned())
    } else {
        Err(format!("a label has 1 to {LABEL_MAX} letters, digits, dots, dashes or underscores"))
    }
}

/// What sets this run apart, as `reuseport-rcvbuf40960` or `nginx-slow8`: the program, and of what differs from
/// the default the plain values that there is room for.
fn label_of(arm: &Arm, recording: Recording) -> String {
    let mut usual = Arm::default();
    usual.server.kind = arm.server.kind.clone();
    usual.proxy.rcvbuf = Rcvbuf::Default;
    let fields = |arm: &Arm| match serde_json::to_value(arm) {
        Ok(Value::Object(fields)) => fields,
        _ => Map::new(),
    };
    let (fields, usual) = (fields(arm), fields(&usual.on(None)));
    let program = match &arm.server.kind {
        ProxyKind::Exec(command) => command
            .split_whitespace()
            .next()
            .and_then(|path| Path::new(path).file_name()?.to_str())
            .unwrap_or_default(),
        ProxyKind::Mirror if !arm.proxy.reuseport => "shared",
        ProxyKind::Mirror => "reuseport",
        kind => kind.name(),
    };
    let mut words = vec![program.to_owned()];
    for (key, value) in fields.iter().filter(|(key, value)| usual.get(*key) != Some(value)) {
        words.push(match (value, key.strip_suffix("_us")) {
            (Value::Bool(true), _) if !words.contains(key) => key.clone(),
            (Value::Number(number), None) => format!("{key}{number}"),
            (Value::Number(number), Some(key)) => {
                format!("{key}{}", Micros(number.as_u64().unwrap_or_default()))
            }
            (Value::String(text), _) if ["on", "off", "system"].contains(&text.as_str()) => {
                format!("{key}-{text}")
            }
            (Value::String(text), _) if !text.contains('/') => text.clone(),
            _ => continue,
        });
    }
    if recording != Recording::Full {
        words.push(recording.to_string());
    }
    let mut label = String::new();
    for word in words {
        let word: String =
            word.replace('_', "-").chars().filter(|letter| is_safe(*letter)).collect();
        match label.len() {
            0 => label = word.chars().take(LABEL_MADE).collect(),
            length if length + word.len() < LABEL_MADE => label = format!("{label}-{word}"),
            _ => {}
        }
    }
    label
}

#[cfg(test)]
mod tests;
