//! What a server cannot do, said before a run.

use std::path::Path;

use probe::Means;
use records::{Arm, Placement, ProxyKind, Recording, RequestLine};

use crate::build::Build;
use crate::server::{Given, Server, needless_build};
use crate::toggles::{Refusal, Toggle};

/// A toggle means nothing to a program; `why` says also what to do instead.
fn cannot(program: &str, toggle: &str, why: &str) -> Refusal {
    Refusal(format!("{program} cannot honour {toggle}: {why}"))
}

/// Says before a run whether the proxy of `arm` can do all that the arm asks of it. The program is asked
/// for its version; nothing else is run.
///
/// # Errors
/// The first [`Refusal`]: of a toggle, or of a program that is not there.
pub fn check(arm: &Arm, given: &Given, recording: Recording) -> Result<(), Refusal> {
    let kind = &arm.server.kind;
    if *kind != ProxyKind::Mirror && recording == Recording::Minimal {
        let why = if kind.is_not_started() {
            "it records nothing that could be left out; leave it out: nobody but the clients tells \
             anything"
        } else {
            "it records nothing that could be left out; take --trace off, so that nobody looks at its \
             workers, or --proxy mirror"
        };
        return Err(cannot(&kind.to_string(), &format!("--recording {recording}"), why));
    }
    let any: fn(&Toggle) -> bool = |toggle| toggle.flag != "--congestion";
    let foreign: fn(&Toggle) -> bool = |toggle| {
        ["--directive", "--content", "--trace"].contains(&toggle.flag.as_str())
            || toggle.is_about_starting()
    };
    let (program, refused, why) = match kind {
        ProxyKind::Mirror => (
            "the mirror".to_owned(),
            foreign,
            "it is part of this program and tells of itself, has no configuration file and serves no \
             files; take it with --server, --proxy nginx or the like",
        ),
        ProxyKind::Url(_) => (
            kind.to_string(),
            any,
            "it runs already, and we have no hand in it; set it there, or let us start the program \
             with --proxy nginx or the like",
        ),
        ProxyKind::Direct => {
            ("--proxy direct".to_owned(), any, "there is no proxy; leave it out, or name a proxy")
        }
        _ => return prepare(arm, given).map(drop),
    };
    if given.proxy_bin.is_some() {
        return Err(needless_build(kind.name()));
    }
    // The clients ask for consent to load another host. A trial has no way to give it: what it starts
    // may be as much as this host can.
    if let ProxyKind::Url(addr) = kind
        && !addr.ip().is_loopback()
    {
        return Err(Refusal(format!(
            "url:{addr} is not on this host's loopback, and a trial puts load nowhere else: run \
             turnstile on the proxy's own host; turnstile slow and turnstile fast by themselves \
             load another host, if you may"
        )));
    }
    match Toggle::asked(arm).find(refused) {
        Some(toggle) => Err(cannot(&program, &toggle.typed(), why)),
        None => Ok(()),
    }
}

/// Name and version of a program, as it tells them: `nginx 1.17.4`.
///
/// # Errors
/// The [`Refusal`] of a program that is not there, is another one, or is our own.
pub fn build_title(proxy: &ProxyKind, given: &Given) -> Result<String, Refusal> {
    found(proxy, given, Path::new("")).map(|(_, build)| build.title())
}

/// Whether this proxy asks an origin, or nobody knows whether it does: one that runs already may.
///
/// # Errors
/// As [`check`], of what is known of a server.
pub fn asks_origin(proxy: &ProxyKind, given: &Given) -> Result<bool, Refusal> {
    Ok(Server::of(proxy, given)?.is_none_or(|server| server.names_origin()))
}

/// What is asked for to see that a program is ready. `None`: the fetches are no measure of that.
pub(crate) fn ready_path(arm: &Arm) -> Option<RequestLine> {
    let default = || match &arm.fetch.fetch_path {
        None => "/bytes/1".parse().ok(),
        Some(line) if arm.fetch.fetch_body.is_none() => line.plain_path()?.parse().ok(),
        Some(_) => None,
    };
    arm.server.ready_path.clone().or_else(default)
}

/// All that is known of the program before it starts.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) server: Server,
    pub(crate) build: Build,
    /// How its workers are to be watched.
    pub(crate) means: Option<Means>,
    /// What it answers when it is ready.
    pub(crate) ready_path: RequestLine,
}

/// As [`check`], and what was found on the way.
pub(crate) fn prepare(arm: &Arm, given: &Given) -> Result<Prepared, Refusal> {
    let dir = match &arm.server.server_dir {
        Some(dir) if !dir.is_dir() => {
            return Err(Refusal(format!("--server-dir {} is no directory", dir.display())));
        }
        dir => dir.as_deref().unwrap_or(Path::new("")),
    };
    let (mut server, build) = found(&arm.server.kind, given, dir)?;
    let variables = arm.server.env.iter().filter_map(|variable| variable.split_once('='));
    server.env.extend(variables.map(|(name, value)| (name.to_owned(), value.to_owned())));
    refuse_toggles(arm, &server, &build)?;
    let Some(ready_path) = ready_path(arm) else {
        let fetch = arm.fetch.fetch_path.as_ref().map(ToString::to_string).unwrap_or_default();
        return Err(Refusal(format!(
            "--fetch-path {fetch} is more than a GET: name a path with --ready-path that tells when \
             the program is ready"
        )));
    };
    let mut means = None;
    if server.workers.are.can_be_traced() {
        means = probe::means(arm.server.trace).map_err(|error| Refusal(error.to_string()))?;
    }
    if arm.place == Placement::OneWorker && means != Some(Means::Probe) {
        let why = "which worker accepted a connection is known only from a trace of its workers; run as \
                   root, or take --place hash";
        return Err(cannot(&build.title(), &format!("--place {}", arm.place), why));
    }
    Ok(Prepared { server, build, means, ready_path })
}

fn found(proxy: &ProxyKind, given: &Given, dir: &Path) -> Result<(Server, Build), Refusal> {
    let none = || needless_build(proxy.name());
    let server = Server::of(proxy, given)?.ok_or_else(none)?;
    let path = server.find(given.proxy_bin.as_deref(), dir)?;
    let file = path.file_name().and_then(|name| name.to_str());
    // A command goes by its program's name.
    let name = file.filter(|_| server.is_command()).unwrap_or(&server.name);
    let build = Build::ask(name, &path, &server.version, &server.mark).map_err(|source| {
        let (path, name) = (path.display(), &server.name);
        Refusal(format!("failed to ask {path} for its version: {source}: is it {name}?"))
    })?;
    Ok((server, build))
}

/// Refuses the first toggle that the program cannot honour.
pub(crate) fn refuse_toggles(arm: &Arm, server: &Server, build: &Build) -> Result<(), Refusal> {
    let is = |typed: &str| Toggle::asked(arm).any(|toggle| toggle.typed() == typed);
    let relays = ["--rcvbuf", "--buffer", "--buffering", "--spool", "--spool-max"];
    for toggle in Toggle::asked(arm) {
        let (flag, typed) = (toggle.flag.as_str(), toggle.typed());
        let leave_one = |why: &str| Some(format!("{why}; leave one of the two out"));
        let spools = ["--spool", "--spool-max"].contains(&flag) && typed != "--spool off";
        let why = match flag {
            "--read-policy" => Some(
                "what ends a step is built into the program; take --proxy mirror to choose it, or \
                 another build with --proxy-bin"
                    .to_owned(),
            ),
            "--congestion" => other_congestion(arm),
            "--trace" => (!server.workers.are.can_be_traced()).then(|| {
                "none of its threads is an event loop that serves connections one after the other; \
                 take --trace off: its access log and its clients tell of it"
                    .to_owned()
            }),
            "--place" => None,
            _ if toggle.is_about_starting() => None,
            _ if is("--content file") && relays.contains(&flag) => {
                leave_one("with --content file nothing comes from the origin")
            }
            _ if is("--buffering off") && spools => {
                leave_one("with --buffering off nothing is spooled")
            }
            "--spool-max" if is("--spool off") => leave_one("with --spool off nothing is spooled"),
            _ => match toggle.rule(&server.toggles) {
                Some(rule) => rule.refusal(&toggle, build, &server.words()),
                None => Some(server.otherwise.reason()),
            },
        };
        if let Some(why) = why {
            return Err(cannot(&build.title(), &typed, &why));
        }
    }
    Ok(())
}

/// A foreign proxy's sockets have the congestion control that the kernel gives to all.
fn other_congestion(arm: &Arm) -> Option<String> {
    let system = system_congestion().unwrap_or_default();
    (arm.proxy.congestion.name()? != system).then(|| {
        format!(
            "its senders use what the kernel gives to all ({system}); take --congestion system, or set \
             net.ipv4.tcp_congestion_control"
        )
    })
}

/// `net.ipv4.tcp_congestion_control` of this network namespace.
pub(crate) fn system_congestion() -> Option<String> {
    net::process::sysctl("net.ipv4.tcp_congestion_control")
}

#[cfg(test)]
mod tests;
