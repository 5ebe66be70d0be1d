//! What is known of a server: a data file for each, `servers/*.toml`, or one of the user's own.
//!
//! A file says how the program is found, asked for its version and started, what its configuration is
//! made of ([`crate::configuration`]), what becomes of each toggle ([`crate::toggles`]), what its log
//! looks like ([`crate::log`]) and where its event loops are. Nothing else here knows any program by
//! name. `docs/proxies.md` tells users how to write one.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use records::ProxyKind;
use serde::{Deserialize, Serialize};

use crate::build;
use crate::log::LogFormat;
use crate::toggles::{Refusal, Rule};

/// The servers that are built in, in the order in which they are shown.
const BUILT_IN: [(&str, &str); 5] = [
    ("nginx", include_str!("../servers/nginx.toml")),
    ("haproxy", include_str!("../servers/haproxy.toml")),
    ("caddy", include_str!("../servers/caddy.toml")),
    ("apache", include_str!("../servers/apache.toml")),
    ("h2o", include_str!("../servers/h2o.toml")),
];
const EXEC: &str = include_str!("../servers/exec.toml");

/// The names of the servers that are built in.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    BUILT_IN.into_iter().map(|(name, _)| name)
}

/// What is given of the program under test beside its name.
#[derive(Clone, Debug, Default, PartialEq, Eq, clap::Args, Serialize, Deserialize)]
pub struct Given {
    /// Your own server, as './app --port {port}'
    ///
    /// Filled in are {host}, {port}, {listen} (both), {workers}, and {origin} of one that is a proxy; without
    /// it no origin is started. One that is told no port is found where it listens (docs/own-server.md)
    #[arg(long, value_name = "COMMAND", conflicts_with = "server_file")]
    pub server: Option<String>,

    /// Put a server of your own in the mirror's place, which this file describes: the proxy is named as
    /// the file is (docs/proxies.md)
    #[arg(long, hide_short_help = true, value_name = "FILE", value_parser = server_file)]
    pub server_file: Option<PathBuf>,

    /// Another build of that program than the one in PATH
    #[arg(long, hide_short_help = true, value_name = "PATH")]
    pub proxy_bin: Option<PathBuf>,
}

impl Given {
    /// The proxy that a command is, or that a file of one's own describes.
    pub fn kind(&self) -> Option<ProxyKind> {
        let command = self.server.clone().map(ProxyKind::Exec);
        command.or_else(|| named(self.server_file.as_deref()?).ok())
    }
}

fn server_file(text: &str) -> Result<PathBuf, String> {
    named(Path::new(text)).map(|_| text.into())
}

/// The proxy that the file at `path` describes, by its name.
fn named(path: &Path) -> Result<ProxyKind, String> {
    let name = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    match name.parse() {
        Ok(ProxyKind::Server(name)) if names().any(|known| known == name) => {
            Err(format!("{name} is built in: give the file another name"))
        }
        Ok(kind @ ProxyKind::Server(_)) => Ok(kind),
        _ => Err(format!(
            "{name:?} is no name of a server: name the file with small letters, digits and ._-, as \
             envoy.toml"
        )),
    }
}

/// A build was named for a proxy that has none.
pub(crate) fn needless_build(proxy: &str) -> Refusal {
    Refusal(format!("--proxy-bin has no meaning with --proxy {proxy}: leave it out"))
}

fn no_server(name: String) -> Refusal {
    let known = names().collect::<Vec<_>>().join(", ");
    Refusal(format!(
        "failed to find a server of the name {name}: write mirror, {known} or url:IP:PORT, give its \
         command with --server, or describe it in a file and name that with --server-file"
    ))
}

fn bad_file(path: &Path, source: &io::Error) -> Refusal {
    let path = path.display();
    Refusal(format!("failed to read what describes the server, {path}: {source}"))
}

/// One server, as its file describes it.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub(crate) struct Server {
    /// The name of the file: [`ProxyKind::name`].
    #[serde(skip)]
    pub(crate) name: String,
    /// Commands it goes by, the likeliest first.
    commands: Vec<String>,
    /// The Debian package that has it.
    package: Option<String>,
    /// How it is asked for its version; empty: not at all.
    pub(crate) version: Vec<String>,
    /// What its answer has in it when it is itself; empty: anything.
    pub(crate) mark: String,
    /// Its arguments, which keep it in the foreground.
    pub(crate) args: Vec<String>,
    pub(crate) env: BTreeMap<String, String>,
    /// The files it reads, by their names within the directory of the run.
    pub(crate) files: BTreeMap<String, String>,
    /// Text that stands in them only where its rule holds.
    pub(crate) parts: BTreeMap<String, Rule>,
    /// What becomes of each toggle, by its words: `--spool off`, or `--spool` for any other.
    pub(crate) toggles: BTreeMap<String, Rule>,
    /// What becomes of a toggle that is not among them.
    pub(crate) otherwise: Rule,
    /// Beginnings of lines of `--directive` that belong to another place than the rest.
    pub(crate) global_directives: Vec<String>,
    /// Directories where its modules may be.
    pub(crate) modules: Vec<String>,
    pub(crate) workers: Workers,
    /// `None`: it has no access log.
    pub(crate) log: Option<LogFormat>,
}

/// Where its event loops are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub(crate) struct Workers {
    pub(crate) are: Are,
    /// Of processes: how their command lines begin.
    pub(crate) title: String,
}

/// What an event loop is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Are {
    /// A child process.
    Processes,
    /// Child processes that are no event loops, but that the log tells by their ids.
    Pools,
    /// A thread of the one process that waits in a poll.
    Threads,
    /// As many as there happen to be, in any process of its: they are found out under requests.
    #[default]
    Discovered,
    /// None that could be named.
    None,
}

impl Are {
    /// Whether a worker polls, and serves what the poll returned, so that a trace of it can be told as
    /// steps.
    pub(crate) const fn can_be_traced(self) -> bool {
        matches!(self, Self::Processes | Self::Threads | Self::Discovered)
    }
}

impl Server {
    /// The server of `kind`, described by `file` if it is one of the user's; `None`: it is not started by us.
    pub(crate) fn of(kind: &ProxyKind, given: &Given) -> Result<Option<Self>, Refusal> {
        match (kind, given.server_file.as_deref()) {
            (ProxyKind::Mirror | ProxyKind::Url(_) | ProxyKind::Direct, _) => Ok(None),
            (ProxyKind::Exec(command), _) => Self::exec(command).map(Some),
            (ProxyKind::Server(name), Some(path)) => {
                let refused = |source| bad_file(path, &source);
                let text = fs::read_to_string(path).map_err(refused)?;
                Self::read(name, &text).map(Some).map_err(refused)
            }
            (ProxyKind::Server(name), None) => match BUILT_IN.iter().find(|(n, _)| n == name) {
                Some((_, text)) => Self::built_in(name, text).map(Some),
                None => Err(no_server(name.clone())),
            },
        }
    }

    fn built_in(name: &str, text: &str) -> Result<Self, Refusal> {
        let path = PathBuf::from(format!("{name}.toml"));
        Self::read(name, text).map_err(|source| bad_file(&path, &source))
    }

    /// The server that `text` describes.
    pub(crate) fn read(name: &str, text: &str) -> io::Result<Self> {
        let mut server: Self = toml::from_str(text).map_err(io::Error::other)?;
        name.clone_into(&mut server.name);
        crate::toggles::check_keys(&server.toggles)?;
        Ok(server)
    }

    /// What it is started with: its arguments, and what its environment has beside ours.
    pub(crate) fn words(&self) -> Vec<&str> {
        self.args.iter().chain(self.env.values()).map(String::as_str).collect()
    }

    /// Whether `{origin}` is named anywhere: it is a proxy.
    pub(crate) fn names_origin(&self) -> bool {
        let rules = self.parts.values().chain(self.toggles.values()).map(|rule| &rule.text);
        let texts = self.args.iter().chain(self.env.values()).chain(self.files.values());
        rules.chain(texts).any(|text| text.contains("{origin}"))
    }

    /// The server that a command is. No shell sees it: it is split into words, and its places are
    /// filled in.
    fn exec(command: &str) -> Result<Self, Refusal> {
        let refused = |why: &str| Refusal(format!("failed to read the command of --server: {why}"));
        let words = shlex::split(command).ok_or_else(|| refused("its quotes do not close"))?;
        let mut words = words.into_iter();
        let program = words.next().ok_or_else(|| refused("it is empty"))?;
        Ok(Self { commands: vec![program], args: words.collect(), ..Self::built_in("exec", EXEC)? })
    }

    /// Whether it listens where it likes: a command that is not told a port.
    pub(crate) fn chooses_port(&self) -> bool {
        let told = |word: &&str| word.contains("{port}") || word.contains("{listen}");
        self.is_command() && !self.words().iter().any(told)
    }

    /// Whether it is a command that its user gave.
    pub(crate) fn is_command(&self) -> bool {
        self.name == "exec"
    }

    /// The file that runs: another build, or what its commands mean on this host, seen from a directory.
    pub(crate) fn find(&self, bin: Option<&Path>, dir: &Path) -> Result<PathBuf, Refusal> {
        let no_program = |path: &Path| {
            let path = path.display();
            Refusal(format!(
                "failed to find the program {path}: name one that is there and can be run"
            ))
        };
        if let Some(bin) = bin {
            if self.is_command() {
                return Err(needless_build("exec:"));
            }
            return build::look_up(bin, Path::new("")).ok_or_else(|| no_program(bin));
        }
        let mut commands = self.commands.iter().map(Path::new);
        let found = commands.find_map(|command| build::look_up(command, dir));
        let first = || self.commands.first().cloned().unwrap_or_default();
        found.ok_or_else(|| match &self.package {
            Some(package) => Refusal(format!(
                "failed to find {}: install it with `apt-get install {package}` or \
                 `scripts/install-servers.sh {}`, or name another build with --proxy-bin",
                first(),
                self.name
            )),
            None => no_program(Path::new(&first())),
        })
    }
}

#[cfg(test)]
mod tests;
