//! What a server cannot do, said before a run.

use probe::Means;
use records::{Arm, Placement, ProxyKind, Recording};

use crate::build::Build;
use crate::options::Given;
use crate::refusal::Refusal;
use crate::server::Server;
use crate::toggles::{Reason, State, Toggle};

/// Says before a run whether the proxy of `arm` can do all that the arm asks of it. The program is asked
/// for its version; nothing else is run.
///
/// # Errors
/// The first [`Refusal`]: of a toggle, or of a program that is not there.
pub fn check(arm: &Arm, given: &Given, recording: Recording) -> Result<(), Refusal> {
    let kind = &arm.server.kind;
    if *kind != ProxyKind::Mirror && recording == Recording::Minimal {
        let instead = match kind {
            ProxyKind::Url(_) => "leave it out: of one that runs already only its clients tell",
            _ => "take --trace off, so that nobody looks at its workers, or --proxy mirror",
        };
        let reason = Reason::new("it records nothing that could be left out", instead);
        return Err(refusal(kind.to_string(), format!("--recording {recording}"), reason));
    }
    let (program, refused, reason) = match kind {
        ProxyKind::Mirror => {
            let why = "it has no configuration file and serves no files";
            let reason = Reason::new(why, "take it with --proxy nginx or the like");
            let foreign = |flag: &str| ["--directive", "--content"].contains(&flag);
            ("the mirror".to_owned(), foreign as fn(&str) -> bool, reason)
        }
        ProxyKind::Url(_) => {
            let why = "it runs already, and we have no hand in it";
            let instead =
                "set it there, or let us start the program with --proxy nginx or the like";
            let any = |flag: &str| flag != "--congestion";
            (kind.to_string(), any as fn(&str) -> bool, Reason::new(why, instead))
        }
        _ => return prepare(arm, given).map(drop),
    };
    if given.proxy_bin.is_some() {
        return Err(Refusal::NeedlessBinary(kind.name().to_owned()));
    }
    match kind {
        // The clients ask for consent to load another host. A trial has no way to give it: what it starts
        // may be as much as this host can.
        ProxyKind::Url(addr) if !addr.ip().is_loopback() => return Err(Refusal::Elsewhere(*addr)),
        _ => {}
    }
    let all = Toggle::all(arm);
    let found = all.iter().find(|toggle| is_asked(toggle) && refused(toggle.flag));
    found.map_or(Ok(()), |toggle| Err(refusal(program, toggle.typed(), reason)))
}

/// Name and version of a program, as it tells them: `nginx 1.17.4`.
///
/// # Errors
/// The [`Refusal`] of a program that is not there, is another one, or is our own.
pub fn build_title(proxy: &ProxyKind, given: &Given) -> Result<String, Refusal> {
    found(proxy, given).map(|(_, build)| build.title())
}

/// All that is known of the program before it starts.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) server: Server,
    pub(crate) build: Build,
    /// How its workers are to be watched.
    pub(crate) means: Option<Means>,
}

/// As [`check`], and what was found on the way.
pub(crate) fn prepare(arm: &Arm, given: &Given) -> Result<Prepared, Refusal> {
    let (server, build) = found(&arm.server.kind, given)?;
    refuse_toggles(arm, &server, &build)?;
    let means =
        if server.workers.are.can_be_traced() { probe::means(arm.server.trace)? } else { None };
    if arm.place == Placement::OneWorker && means != Some(Means::Probe) {
        let why = "which worker accepted a connection is known only from a trace of its workers";
        let instead = "run as root, or take --place hash";
        let toggle = format!("--place {}", arm.place);
        return Err(refusal(build.title(), toggle, Reason::new(why, instead)));
    }
    Ok(Prepared { server, build, means })
}

fn found(proxy: &ProxyKind, given: &Given) -> Result<(Server, Build), Refusal> {
    let none = || Refusal::NeedlessBinary(proxy.name().to_owned());
    let server = Server::of(proxy, given.server_file.as_deref())?.ok_or_else(none)?;
    let path = server.find(given.proxy_bin.as_deref())?;
    let build = Build::ask(&server.name, &path, &server.version, &server.mark)
        .map_err(|source| Refusal::Version { path, name: server.name.clone(), source })?;
    Ok((server, build))
}

/// Refuses the first toggle that the program cannot honour.
pub(crate) fn refuse_toggles(arm: &Arm, server: &Server, build: &Build) -> Result<(), Refusal> {
    let all = Toggle::all(arm);
    let is = |typed: &str| all.iter().any(|toggle| is_asked(toggle) && toggle.typed() == typed);
    for toggle in all.iter().filter(|toggle| is_asked(toggle)) {
        let leave_out_one = |why: &str| Some(Reason::new(why, "leave one of the two out"));
        let spools =
            ["--spool", "--spool-max"].contains(&toggle.flag) && toggle.typed() != "--spool off";
        let reason = match toggle.flag {
            "--read-policy" => Some(Reason::new(
                "what ends a step is built into the program",
                "take --proxy mirror to choose it, or another build with --proxy-bin",
            )),
            "--congestion" => other_congestion(arm),
            "--trace" => (!server.workers.are.can_be_traced()).then(|| {
                Reason::new(
                    "none of its threads is an event loop that serves connections one after the other",
                    "take --trace off: its access log and its clients tell of it",
                )
            }),
            "--place" => None,
            _ if is("--content file") && toggle.is_about_relaying() => {
                leave_out_one("with --content file nothing comes from the origin")
            }
            _ if is("--buffering off") && spools => {
                leave_out_one("with --buffering off nothing is spooled")
            }
            "--spool-max" if is("--spool off") => {
                leave_out_one("with --spool off nothing is spooled")
            }
            _ => match toggle.rule(&server.toggles) {
                Some(rule) => rule.refusal(toggle, build, &all, &server.args),
                None => Some(server.otherwise.reason()),
            },
        };
        if let Some(reason) = reason {
            return Err(refusal(build.title(), toggle.typed(), reason));
        }
    }
    Ok(())
}

fn is_asked(toggle: &Toggle) -> bool {
    toggle.state == State::Asked
}

fn refusal(program: impl Into<String>, toggle: impl Into<String>, reason: Reason) -> Refusal {
    let Reason { why, instead } = reason;
    Refusal::Toggle { program: program.into(), toggle: toggle.into(), why, instead }
}

/// A foreign proxy's sockets have the congestion control that the kernel gives to all.
fn other_congestion(arm: &Arm) -> Option<Reason> {
    let system = system_congestion().unwrap_or_default();
    (arm.proxy.congestion.name()? != system).then(|| {
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

#[cfg(test)]
mod tests;
