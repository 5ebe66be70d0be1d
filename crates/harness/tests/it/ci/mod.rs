//! `turnstile check` end to end: a foreign proxy that is fair and one that is not, bad input, every
//! form of output, and the examples of `docs/ci.md`.

mod docs;
mod gate;

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;
use tempfile::TempDir;
use testkit::{Running, script, skip};

pub(crate) use testkit::{Said, in_turn};

use crate::support::turnstile;

/// No command of these tests takes as long, also on a busy host with every attempt needed.
const PATIENCE: Duration = Duration::from_secs(240);
/// Enough fetches in each phase for a conclusion, and no more. One download: others would be waited
/// for that an unfair proxy of one thread lets not even begin. Nothing is traced: it costs time to come
/// and go, and tells nothing that these gates ask for.
pub(crate) const SHORT: [&str; 6] = [
    "--idle=500ms",
    "--duration=600ms",
    "--arrivals=50/s",
    "--fetch-size=512KiB",
    "--slow=1",
    "--trace=off",
];
/// What tells the two proxies apart.
pub(crate) const GATE: &str = "--threshold failed_share<=0.01 --threshold p90<500ms";
/// Where the examples of `docs/ci.md` expect the proxy.
pub(crate) const MY_PROXY: &str = "target/release/my-proxy";

/// What of the foreign proxy is under test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Proxy {
    Fair,
    Unfair,
}

/// A place to work in, with a proxy of one's own where the examples expect it.
pub(crate) struct Place(TempDir);

impl Place {
    pub(crate) fn new(proxy: Proxy) -> Self {
        let place = Self(tempfile::tempdir().expect("a directory"));
        place.put(proxy);
        place
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// Puts that proxy where the other was, as a new build would be.
    pub(crate) fn put(&self, proxy: Proxy) {
        self.put_in(".", proxy);
    }

    /// The same in a directory of its own: the mirror, which tells nobody of itself. A small buffer, so
    /// that origin and clients outrun it on any host.
    pub(crate) fn put_in(&self, dir: &str, proxy: Proxy) {
        let policy = if proxy == Proxy::Unfair { "drain" } else { "bytes:64KiB" };
        let own = turnstile().get_program().display().to_string();
        let text = format!(
            "#!/bin/sh\nexec '{own}' proxy --workers 1 --rcvbuf 1MiB --buffer 1KiB \
             --read-policy {policy} \"$@\" >/dev/null\n"
        );
        script(self.path(), &format!("{dir}/{MY_PROXY}"), &text);
    }

    /// A command in this place, which finds `turnstile`.
    pub(crate) fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        let own = Path::new(turnstile().get_program()).parent().expect("a directory").to_owned();
        let inherited = std::env::var_os("PATH").unwrap_or_default();
        let paths = std::iter::once(own).chain(std::env::split_paths(&inherited));
        command.current_dir(self.path()).env("PATH", std::env::join_paths(paths).expect("a PATH"));
        for unwanted in ["NO_COLOR", "COLUMNS", "GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY"] {
            command.env_remove(unwanted);
        }
        command
    }

    /// `turnstile check` with `gate`, of the proxy here in a short trial.
    pub(crate) fn check(&self, gate: &str) -> Command {
        let mut command = self.command("turnstile");
        command.arg("check").args(gate.split(' ')).arg("--").args(SHORT);
        command.args(["--proxy", &exec()]);
        command
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path().join(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
    }
}

/// The proxy as a command.
pub(crate) fn exec() -> String {
    format!("exec:{MY_PROXY} --listen {{listen}} --upstream {{origin}}")
}

/// Runs a command to its end.
pub(crate) fn say(command: &mut Command) -> Said {
    Running::start(command).finish_within(PATIENCE)
}

/// Runs it again while it is inconclusive. `None`: it stayed so because others had this host's CPUs,
/// which is told; that it is inconclusive for any other reason is the caller's to judge: a rule that
/// finds every figure too uncertain is no busy host.
pub(crate) fn conclusive(mut run: impl FnMut() -> Said) -> Option<Said> {
    const TIMES: usize = 3;
    let mut said = run();
    for _ in 1..TIMES {
        if said.code() != Some(11) {
            break;
        }
        said = run();
    }
    if said.code() == Some(11) && busy(&said) {
        skip("others keep this host busy; nothing can be shown on it now");
        return None;
    }
    Some(said)
}

/// Whether trials of it prove nothing because others had this host's CPUs: what
/// `harness::judge` says of them, and no other reason.
pub(crate) fn busy(said: &Said) -> bool {
    let all = said.all().split_whitespace().collect::<Vec<_>>().join(" ");
    ["others than the workers took at least", "the hypervisor took ", "this host is too busy"]
        .iter()
        .any(|why| all.contains(why))
}
