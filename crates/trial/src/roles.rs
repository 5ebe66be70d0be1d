//! The roles of a trial: the only module that names their crates.
//!
//! A role is a subcommand for people. A child of a trial is handed the same options as one JSON document
//! instead ([`RoleCommand::words`]): nothing is spelt out as flags that the child would have to parse back.
//! The document is an argument, so that the command in a manifest is whole and can be repeated, and the
//! standard input stays free for orders.
//!
//! Everything else in the harness knows the roles by their records.

use std::net::SocketAddr;
use std::process::ExitCode;
use std::time::Duration;

use fast_client::FastOptions;
use net::role::{self, RoleOptions, TargetOptions};
use origin::OriginOptions;
use proxy::ProxyOptions;
use records::{
    Arm, BufferingMode, Micros, Phase, ProxyKind, Recording, Requests, Role, ServerToggles, Spool,
};
use serde::{Deserialize, Serialize};
use servers::{SUBREAPER, SubreaperOptions};
use slow_client::SlowOptions;

pub use servers::{
    Given, Refusal, ServerOptions, asks_origin, build_title, check as check_proxy, plain_path,
};

#[cfg(test)]
mod tests;

/// A role and its options.
#[derive(Clone, Debug, clap::Subcommand, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RoleCommand {
    /// Serve bodies of any size: the upstream
    #[command(hide = true)]
    Origin(Box<OriginOptions>),
    /// Relay as an nginx worker does: the proxy under test
    #[command(hide = true)]
    Proxy(Box<ProxyOptions>),
    /// Download without end: the load
    #[command(hide = true)]
    Slow(Box<SlowOptions>),
    /// Fetch small objects, each with a cap: the probe
    #[command(hide = true)]
    Fast(Box<FastOptions>),
    /// Run a foreign server in the mirror's place: nobody types it.
    #[command(skip)]
    Server(Box<ServerOptions>),
}

/// The roles of a trial of `arm`, each with the options that every child has.
impl RoleCommand {
    /// The origin: its answers leave under the same congestion control as the proxy's. Its first request is
    /// the first of `idle`, and its delays begin after that: a fault that was there from the start would be
    /// part of the baseline.
    pub fn origin(arm: &Arm, listen: SocketAddr, idle: Micros, role: RoleOptions) -> Self {
        let delay = arm.faults.delay;
        Self::Origin(Box::new(OriginOptions {
            listen,
            congestion: arm.proxy.congestion.clone(),
            delay,
            delay_after: if delay > Micros(0) { idle } else { Micros(0) },
            workers: arm.faults.origin_workers,
            role,
        }))
    }

    /// The proxy under test: the mirror, or a foreign one in the hands of the role that knows it.
    pub fn proxy(options: ServerOptions, recording: Recording) -> Self {
        if options.arm.server.kind != ProxyKind::Mirror {
            return Self::Server(Box::new(options));
        }
        let ServerOptions { arm, upstream, listen, access_log, hold, pin, role, .. } = options;
        // The mirror is a proxy: there is an origin. Port 0 refuses whoever dials it.
        let upstream = upstream.unwrap_or(SocketAddr::new(listen.ip(), 0));
        let mut toggles = arm.proxy;
        // Temporary files are beside the log, on the disk that a foreign proxy's are on.
        if (toggles.buffering, &toggles.spool) == (BufferingMode::On, &Spool::Default)
            && let Some(dir) = access_log.parent()
        {
            toggles.spool = Spool::Dir(dir.to_owned());
        }
        Self::Proxy(Box::new(ProxyOptions {
            listen,
            upstream,
            toggles,
            pin,
            access_log: Some(access_log),
            hold,
            recording,
            role,
        }))
    }

    /// The downloads.
    pub fn slow(arm: &Arm, target: SocketAddr, requests: Requests, role: RoleOptions) -> Self {
        Self::Slow(Box::new(SlowOptions {
            target: target_of(arm, target),
            toggles: arm.load.clone(),
            hold: requests == Requests::Held,
            orders: true,
            role,
            ..SlowOptions::to(target)
        }))
    }

    /// The fetches of a phase. Bursts are a part of the load: the baseline has none.
    pub fn fast(
        arm: &Arm,
        target: SocketAddr,
        (phase, length): (Phase, Duration),
        role: RoleOptions,
    ) -> Self {
        Self::Fast(Box::new(FastOptions {
            target: target_of(arm, target),
            toggles: arm.fetch.clone(),
            burst: if phase == Phase::Measure { arm.faults.burst } else { 1 },
            duration: length.into(),
            phase,
            role,
        }))
    }
}

/// A target, and the consent to load a host of the run's own network.
fn target_of(arm: &Arm, target: SocketAddr) -> TargetOptions {
    TargetOptions { target, allow_remote: false, own_network: arm.netns.is_some() }
}

impl RoleCommand {
    /// Which role it is.
    pub const fn role(&self) -> Role {
        match self {
            Self::Origin(_) => Role::Origin,
            Self::Proxy(_) | Self::Server(_) => Role::Proxy,
            Self::Slow(_) => Role::Slow,
            Self::Fast(_) => Role::Fast,
        }
    }

    /// The words of a command line, after the program's name, that make a child play it.
    ///
    /// # Errors
    /// A path that is not UTF-8 has no place in JSON.
    pub fn words(&self) -> serde_json::Result<[String; 2]> {
        Ok([PLAY.to_owned(), serde_json::to_string(self)?])
    }

    fn from_json(text: &str) -> serde_json::Result<Self> {
        serde_json::from_str(text)
    }

    /// Plays the role in this process, until it has ended or is stopped, and says why it failed.
    pub fn run(&self) -> ExitCode {
        let ended = match self {
            Self::Origin(options) => origin::run(options),
            Self::Proxy(options) => proxy::run(options),
            Self::Slow(options) => slow_client::run(options),
            Self::Fast(options) => fast_client::run(options),
            Self::Server(options) => servers::run(options),
        };
        role::finish(self.role().name(), ended)
    }
}

/// How long our own roles may take to be ready for work, and to end when asked. They take
/// milliseconds, unless the host is very busy.
const OWN: Timeouts = Timeouts { ready: Duration::from_secs(30), end: Duration::from_secs(5) };

/// What starting a process and hearing of it may take on a host whose CPUs are all taken.
const MARGIN: Duration = Duration::from_secs(10);

/// How long the trial waits for a role.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// Until it is ready for work.
    pub ready: Duration,
    /// Until it has ended, once asked to.
    pub end: Duration,
}

/// How long the trial waits for `role` in a run with this proxy: longer than the role waits for its own
/// parts, so that it has the time to say itself what keeps it.
pub fn timeouts(role: Role, server: &ServerToggles) -> Timeouts {
    let (ready, end) = match role {
        Role::Proxy if server.kind == ProxyKind::Mirror => (Duration::ZERO, proxy::STOPPED_WITHIN),
        Role::Proxy => (servers::ready_within(server), servers::STOPPED_WITHIN),
        _ => return OWN,
    };
    Timeouts { ready: OWN.ready.max(ready + MARGIN), end: OWN.end.max(end + MARGIN) }
}

/// This program, also after its file was replaced: proc(5).
pub const PROGRAM: &str = "/proc/self/exe";

/// The subcommand of a child that is handed its role.
const PLAY: &str = "play";

/// Subcommands by which this program starts itself. Nobody types them.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum HopCommand {
    /// Play a role whose options are stated as JSON
    #[command(hide = true, name = PLAY)]
    Play {
        /// As [`RoleCommand::words`] puts it
        #[arg(value_name = "JSON", value_parser = RoleCommand::from_json)]
        role: RoleCommand,
    },
    /// Keep another program, and end all that comes of it
    #[command(hide = true, name = SUBREAPER)]
    Subreaper {
        /// As it starts itself
        #[arg(value_name = "JSON", value_parser = |text: &str| serde_json::from_str::<SubreaperOptions>(text))]
        options: SubreaperOptions,
    },
}

impl HopCommand {
    /// Does it; where it becomes another program, returns only if that fails.
    pub fn run(&self) -> ExitCode {
        match self {
            Self::Play { role } => role.run(),
            Self::Subreaper { options } => role::finish(SUBREAPER, servers::subreaper(options)),
        }
    }
}
