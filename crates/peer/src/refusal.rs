//! What a program cannot do, said before a run.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use records::{Arm, BufferingMode, Congestion, ProxyKind, Recording, TraceMode};
use tracer::{Means, TracerError};

use crate::build::Build;
use crate::driver::{self, Driver, Reason, Tracing};
use crate::toggle::Toggle;

/// Why a run with this proxy would not be what was asked for.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// A toggle means nothing to the program.
    #[error("{program} cannot honour {toggle}: {why}; {instead}")]
    Toggle {
        /// The program with its version.
        program: String,
        /// The toggle as typed.
        toggle: String,
        /// Why not.
        why: String,
        /// What to do instead.
        instead: String,
    },
    /// The program is not installed.
    #[error(
        "failed to find {name}: install it with `apt-get install {package}` or \
         `scripts/install-peers.sh {kind}`, or name another build with --proxy-bin"
    )]
    Missing {
        /// The command looked for.
        name: String,
        /// The Debian package that has it.
        package: String,
        /// [`ProxyKind::name`].
        kind: &'static str,
    },
    /// A command was given that is not there.
    #[error("failed to find the program {path}: name one that is there and can be run")]
    NoProgram {
        /// As it was given.
        path: PathBuf,
    },
    /// The program does not say what it is.
    #[error("failed to ask {path} for its version: {source}: is it {name}?")]
    Version {
        /// The file.
        path: PathBuf,
        /// What it should be.
        name: &'static str,
        /// What happened.
        source: io::Error,
    },
    /// A build was named for a proxy that has none.
    #[error("--proxy-bin has no meaning with --proxy {0}: leave it out")]
    NeedlessBinary(&'static str),
    /// A proxy on another host, where no load goes that nobody there agreed to.
    #[error(
        "url:{0} is not on this host's loopback, and a trial puts load nowhere else: run turnstile on \
         the proxy's own host; turnstile slow and turnstile fast by themselves load another host, if \
         you may"
    )]
    Elsewhere(SocketAddr),
    /// A command template that cannot be filled in.
    #[error("failed to read the command of --proxy exec: {0}")]
    Command(String),
    /// The workers cannot be watched as asked.
    #[error(transparent)]
    Trace(#[from] TracerError),
}

/// Says before a run whether the proxy of `arm` can do all that the arm asks of it. `bin` is another
/// build than the one in PATH. The program is asked for its version; nothing else is run.
///
/// # Errors
/// The first [`Refusal`]: of a toggle, or of a program that is not there.
pub fn check(arm: &Arm, bin: Option<&Path>, recording: Recording) -> Result<(), Refusal> {
    if arm.proxy != ProxyKind::Mirror && recording == Recording::Minimal {
        return Err(nothing_to_leave_out(arm));
    }
    match &arm.proxy {
        ProxyKind::Mirror => refuse_binary(arm, bin).and_then(|()| meant_for_others(arm)),
        ProxyKind::Url(addr) => refuse_binary(arm, bin)
            .and_then(|()| on_loopback(*addr))
            .and_then(|()| running_already(arm)),
        _ => prepare(arm, bin).map(drop),
    }
}

/// Name and version of a program, as it tells them: `nginx 1.17.4`. `bin` as for [`check`].
///
/// # Errors
/// The [`Refusal`] of a program that is not there, is another one, or is our own.
pub fn build_title(proxy: &ProxyKind, bin: Option<&Path>) -> Result<String, Refusal> {
    found(proxy, bin).map(|(_, build)| build.title())
}

/// The file that would run as `proxy`; `None`: it is our own, it runs already, or there is none. `bin` as
/// for [`check`]. Nothing is run.
pub fn program_path(proxy: &ProxyKind, bin: Option<&Path>) -> Option<PathBuf> {
    driver::of(proxy).ok()??.find(bin).ok()
}

/// All that is known of the program before it starts.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) driver: Box<dyn Driver>,
    pub(crate) build: Build,
    /// How its workers are to be watched.
    pub(crate) means: Option<Means>,
}

/// As [`check`], and what was found on the way.
pub(crate) fn prepare(arm: &Arm, bin: Option<&Path>) -> Result<Prepared, Refusal> {
    let (driver, build) = found(&arm.proxy, bin)?;
    refuse_toggles(arm, &*driver, &build)?;
    let means = match driver.tracing() {
        Tracing::Fits => tracer::means(arm.trace)?,
        Tracing::Misleads => None,
    };
    if arm.place == records::Placement::OneWorker && means != Some(Means::Bpftrace) {
        let why = "which worker accepted a connection is known only from a trace of its workers";
        let instead = "run as root with bpftrace installed, or take --place hash";
        return Err(refusal(&build, &Toggle::OneWorker, Reason::new(why, instead)));
    }
    Ok(Prepared { driver, build, means })
}

fn found(proxy: &ProxyKind, bin: Option<&Path>) -> Result<(Box<dyn Driver>, Build), Refusal> {
    let driver = driver::of(proxy)?.ok_or(Refusal::NeedlessBinary(proxy.name()))?;
    let build = Build::ask(driver.find(bin)?, &*driver)?;
    Ok((driver, build))
}

/// Refuses the first toggle that the program cannot honour.
pub(crate) fn refuse_toggles(arm: &Arm, driver: &dyn Driver, build: &Build) -> Result<(), Refusal> {
    let asked = Toggle::asked(arm);
    let from_files = asked.contains(&Toggle::ContentFile);
    for toggle in &asked {
        let reason = match toggle {
            Toggle::ReadPolicy(_) => Some(Reason::new(
                "what ends a step is built into the program",
                "take --proxy mirror to choose it, or another build with --proxy-bin",
            )),
            Toggle::Congestion(wanted) => congestion_reason(wanted),
            Toggle::Trace(mode) => trace_reason(*mode, driver),
            Toggle::OneWorker => None,
            relaying if from_files && relaying.is_about_relaying() => Some(Reason::new(
                "with --content file nothing comes from the origin",
                "leave one of the two out",
            )),
            Toggle::SpoolDir(_) | Toggle::SpoolMax(_)
                if asked.contains(&Toggle::Buffering(BufferingMode::Off)) =>
            {
                let why = "with --buffering off nothing is spooled";
                Some(Reason::new(why, "leave one of the two out"))
            }
            Toggle::SpoolMax(_) if asked.contains(&Toggle::SpoolOff) => {
                Some(Reason::new("with --spool off nothing is spooled", "leave one of the two out"))
            }
            other => driver.refuses(other, arm, build),
        };
        if let Some(reason) = reason {
            return Err(refusal(build, toggle, reason));
        }
    }
    Ok(())
}

fn refusal(build: &Build, toggle: &Toggle, reason: Reason) -> Refusal {
    Refusal::Toggle {
        program: build.title(),
        toggle: toggle.to_string(),
        why: reason.why,
        instead: reason.instead,
    }
}

/// A foreign proxy's sockets have the congestion control that the kernel gives to all.
fn congestion_reason(wanted: &Congestion) -> Option<Reason> {
    let system = system_congestion().unwrap_or_default();
    let name = wanted.name()?;
    (name != system).then(|| {
        Reason::new(
            format!("its senders use what the kernel gives to all ({system})"),
            "take --congestion system, or set net.ipv4.tcp_congestion_control",
        )
    })
}

/// `net.ipv4.tcp_congestion_control` of this network namespace.
pub(crate) fn system_congestion() -> Option<String> {
    let text = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_congestion_control").ok()?;
    Some(text.trim().to_owned())
}

fn trace_reason(mode: TraceMode, driver: &dyn Driver) -> Option<Reason> {
    (mode != TraceMode::Auto && driver.tracing() == Tracing::Misleads).then(|| {
        Reason::new(
            "none of its threads is an event loop that serves connections one after the other",
            "take --trace off: its access log and its clients tell of it",
        )
    })
}

fn refuse_binary(arm: &Arm, bin: Option<&Path>) -> Result<(), Refusal> {
    bin.map_or(Ok(()), |_| Err(Refusal::NeedlessBinary(arm.proxy.name())))
}

/// A program that does not know us records nothing for us.
fn nothing_to_leave_out(arm: &Arm) -> Refusal {
    let instead = match arm.proxy {
        ProxyKind::Url(_) => "leave it out: of one that runs already only its clients tell",
        _ => "take --trace off, so that nobody looks at its workers, or --proxy mirror",
    };
    Refusal::Toggle {
        program: arm.proxy.to_string(),
        toggle: format!("--recording {}", Recording::Minimal),
        why: "it records nothing that could be left out".to_owned(),
        instead: instead.to_owned(),
    }
}

/// What only a foreign program has.
fn meant_for_others(arm: &Arm) -> Result<(), Refusal> {
    let foreign = |toggle: &&Toggle| matches!(toggle, Toggle::Directives | Toggle::ContentFile);
    Toggle::asked(arm).iter().find(foreign).map_or(Ok(()), |toggle| {
        Err(Refusal::Toggle {
            program: "the mirror".to_owned(),
            toggle: toggle.to_string(),
            why: "it has no configuration file and serves no files".to_owned(),
            instead: "take it with --proxy nginx or the like".to_owned(),
        })
    })
}

/// The clients ask for consent to load another host. A trial has no way to give it: what it starts may
/// be as much as this host can.
fn on_loopback(addr: SocketAddr) -> Result<(), Refusal> {
    if addr.ip().is_loopback() { Ok(()) } else { Err(Refusal::Elsewhere(addr)) }
}

/// A proxy that runs already has the settings that it has.
fn running_already(arm: &Arm) -> Result<(), Refusal> {
    let unset = |toggle: &&Toggle| !matches!(toggle, Toggle::Congestion(_));
    Toggle::asked(arm).iter().find(unset).map_or(Ok(()), |toggle| {
        Err(Refusal::Toggle {
            program: arm.proxy.to_string(),
            toggle: toggle.to_string(),
            why: "it runs already, and we have no hand in it".to_owned(),
            instead: "set it there, or let us start the program with --proxy nginx or the like"
                .to_owned(),
        })
    })
}

#[cfg(test)]
mod tests;
