//! Why a run with a server would not be what was asked for.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use probe::ProbeError;

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
         `scripts/install-servers.sh {kind}`, or name another build with --proxy-bin"
    )]
    Missing {
        /// The command looked for.
        name: String,
        /// The Debian package that has it.
        package: String,
        /// [`records::ProxyKind::name`].
        kind: String,
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
        name: String,
        /// What happened.
        source: io::Error,
    },
    /// A build was named for a proxy that has none.
    #[error("--proxy-bin has no meaning with --proxy {0}: leave it out")]
    NeedlessBinary(String),
    /// Nobody has described that server.
    #[error(
        "failed to find a server of the name {name}: write mirror, {known}, exec:COMMAND or \
         url:IP:PORT, or describe it in a file and name that with --server-file"
    )]
    NoServer {
        /// As it was typed.
        name: String,
        /// The servers that are built in.
        known: String,
    },
    /// The file that describes a server cannot be read.
    #[error("failed to read what describes the server, {path}: {source}")]
    ServerFile {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
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
    Trace(#[from] ProbeError),
}
