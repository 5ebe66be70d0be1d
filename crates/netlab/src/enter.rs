//! Ways into a host: for a program (the hop), for a thread, for a closure.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::thread;

use net::role::{self, Failure};
use nix::sched::{CloneFlags, setns};
use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};

/// What the hop needs to know.
#[derive(Clone, Debug, clap::Args)]
pub struct EnterOptions {
    /// The namespace to enter, as /proc/4711/ns/net
    #[arg(long, value_name = "PATH")]
    pub net: PathBuf,

    /// End when the process with this id, our parent, ends
    #[arg(long, value_name = "PID")]
    pub parent_pid: Option<i32>,

    /// The program to run inside, and its arguments
    #[arg(last = true, required = true, value_name = "PROGRAM")]
    pub command: Vec<OsString>,
}

/// Turns this process into `command` inside the namespace. It stays the same process with the same
/// parent, and the signal at the parent's death stays set, prctl(2): only a program with file
/// capabilities or a set-user-ID bit loses it, and children of the program never had it.
///
/// Returns only if it failed, and says why on standard error.
pub fn enter(options: &EnterOptions) -> ExitCode {
    let Err(error) = try_enter(options);
    role::finish("netns-exec", Err(error), |_| Failure::Trouble)
}

fn try_enter(options: &EnterOptions) -> Result<std::convert::Infallible, EnterError> {
    if let Some(parent) = options.parent_pid {
        set_parent_process_death_signal(Some(Signal::KILL))
            .map_err(|errno| EnterError::Parent(errno.into()))?;
        // It tells of later deaths only, so look once afterwards.
        if getppid().map(Pid::as_raw_pid) != Some(parent) {
            return Err(EnterError::Parent(io::Error::other(
                "the process that started this one has ended, or is not the one it named",
            )));
        }
    }
    enter_net(&options.net)
        .map_err(|source| EnterError::Net { path: options.net.clone(), source })?;
    let (program, args) = options.command.split_first().ok_or(EnterError::NoProgram)?;
    let source = Command::new(program).args(args).exec();
    Err(EnterError::Exec { program: program.clone(), source })
}

#[derive(Debug, thiserror::Error)]
enum EnterError {
    #[error("failed to follow the parent: {0}")]
    Parent(#[source] io::Error),
    #[error("failed to enter {}: {source}; has its lab ended?", path.display())]
    Net { path: PathBuf, source: io::Error },
    #[error("failed to run a program inside: none was named")]
    NoProgram,
    #[error("failed to run {program:?} inside: {source}")]
    Exec { program: OsString, source: io::Error },
}

/// Moves the calling thread into the namespace at `path`, and with it every child that it starts and
/// every socket that it makes from now on. Sockets it has stay where they were made.
///
/// While a thread is inside, the namespace lives: end it or lead it out before its lab ends. Its
/// `/proc/net` is that of the process' main thread; read `/proc/thread-self/net`.
///
/// # Errors
/// The namespace has ended, or the process lacks CAP_SYS_ADMIN, setns(2).
pub fn enter_net(path: &Path) -> io::Result<()> {
    let net = File::open(path)?;
    Ok(setns(net, CloneFlags::CLONE_NEWNET)?)
}

/// Calls `work` on a thread inside the namespace at `path` and waits for it. A child that `work`
/// starts and that asks for a signal at its parent's death gets it when `work` returns.
///
/// # Errors
/// As [`enter_net`], no thread could be started, or `work` panicked.
pub fn in_net<T: Send>(path: &Path, work: impl FnOnce() -> T + Send) -> io::Result<T> {
    thread::scope(|scope| {
        let inside = thread::Builder::new().name("netns".into()).spawn_scoped(scope, || {
            enter_net(path)?;
            Ok(work())
        })?;
        inside.join().unwrap_or_else(|_| Err(io::Error::other("the work inside panicked")))
    })
}
