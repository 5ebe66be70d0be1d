//! The subreaper: a process of ours between the role and its program, which outlives the role by as long
//! as it takes to end all that came of the program.
//!
//! It is what orphans come to (PR_SET_CHILD_SUBREAPER, prctl(2)): a program that put itself into the
//! background, or a worker whose master was killed, is still a descendant of it. It waits for the end
//! of a line whose other side only the role has, so it notices every end of the role, SIGKILL
//! included. Then it ends every descendant, and removes what was written for the program alone.
//!
//! When it is killed itself, the program's first process is asked to end (SIGTERM), so that it may take its
//! children along, and the role, which is a subreaper too, ends what is left. Only who kills both at once leaves what went into the background.
//!
//! What must be set in the program's own process before it starts cannot be set from outside of it without
//! unsafe code. So the subreaper starts this program once more, which sets it and becomes the other.
//!
//! Invariants:
//! - It reaps nobody while the role lives, so that numbers told to the role stay what they are.
//! - It has no signal set for its parent's death, and none but SIGKILL ends it before its work is
//!   done.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use net::cpu::{self, CpuList};
use net::role::{self, RoleError};
use rustix::process::{Pid, Signal, getpid};
use serde::{Deserialize, Serialize};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::limits;
use crate::processes;

/// The subcommand by which this program has to be able to start itself, with [`SubreaperOptions`].
pub const SUBREAPER: &str = "subreaper";

/// What is kept, and how: the one argument of [`SUBREAPER`], in JSON.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SubreaperOptions {
    /// Become the program, which ends with the process of this id, its subreaper.
    pub below: Option<i32>,
    /// Run the program only on these CPUs.
    pub cpus: Option<CpuList>,
    /// Remove this directory when all of it has ended.
    pub remove: Option<PathBuf>,
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<String>,
}

/// Keeps a program to its end; or becomes it, and returns only if that fails.
///
/// # Errors
/// See [`RoleError`]: its parent, its CPUs or the program are not there, or some of what it kept does not
/// end.
pub fn subreaper(options: &SubreaperOptions) -> Result<(), RoleError> {
    if let Some(subreaper) = options.below {
        return Err(become_program(options, subreaper));
    }
    let kept = keep(options);
    let left = processes::end_own(Instant::now() + limits::ORPHANS);
    if let Some(dir) = &options.remove {
        // The role has done it already, or there never was one.
        let _ = fs::remove_dir_all(dir);
    }
    kept.and(left).map_err(RoleError::process)
}

/// Why it did not become the program.
fn become_program(options: &SubreaperOptions, subreaper: i32) -> RoleError {
    let cpus = || options.cpus.as_ref().map_or(Ok(()), |c| cpu::pin_current_thread(c.as_slice()));
    if let Err(error) = role::end_with(subreaper, Signal::TERM).and_then(|()| cpus()) {
        return RoleError::process(error);
    }
    let error = Command::new(&options.program).args(&options.args).exec();
    RoleError::Unable(format!("failed to run {}: {error}", options.program.display()))
}

/// Keeps the program until the line on standard input ends.
fn keep(options: &SubreaperOptions) -> io::Result<()> {
    let ignored = Arc::new(AtomicBool::new(false));
    for signal in [SIGHUP, SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&ignored))?;
    }
    processes::adopt()?;
    // Room for lines that wait for the role: a program may drop what does not fit. As large as it is
    // otherwise, nothing is lost until the role is late.
    let _ = rustix::pipe::fcntl_setpipe_size(rustix::stdio::stdout(), 1024 * 1024);
    let mut line = UnixStream::from(rustix::stdio::stdin().try_clone_to_owned()?);
    // From here on the role alone keeps the other side of it open.
    match line.read_exact(&mut [0]) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
        read => read?,
    }
    let program = start(options)?;
    // What it says ends with it, and not with us.
    let nothing = File::options().write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdout(&nothing)?;
    rustix::stdio::dup2_stderr(&nothing)?;
    // A role that has gone meanwhile is seen to have gone by what follows.
    let _ = writeln!(line, "{program}");
    // A line that is cut off has ended as well.
    let _ = io::copy(&mut line, &mut io::sink());
    Ok(())
}

/// Starts the program, bound to us, in a process group of its own.
fn start(options: &SubreaperOptions) -> io::Result<u32> {
    let below =
        SubreaperOptions { below: Some(getpid().as_raw_pid()), remove: None, ..options.clone() };
    let mut command = below.command()?;
    // Dropped without being waited for: it stays a zombie until the end, and its number its own.
    Ok(command.stdin(Stdio::null()).process_group(0).spawn()?.id())
}

impl SubreaperOptions {
    /// This program, started with these options.
    fn command(&self) -> io::Result<Command> {
        let mut command = Command::new("/proc/self/exe");
        command.arg(SUBREAPER).arg(serde_json::to_string(self)?);
        Ok(command)
    }

    /// A subreaper that waits for [`Line::go`], and the role's side of its line.
    pub(crate) fn command_with_line(&self) -> io::Result<(Command, Line)> {
        let (ours, theirs) = UnixStream::pair()?;
        let mut command = self.command()?;
        command.stdin(Stdio::from(std::os::fd::OwnedFd::from(theirs)));
        Ok((command, Line(ours)))
    }
}

/// The role's side of the line. The subreaper ends what it keeps when this is dropped.
#[derive(Debug)]
pub(crate) struct Line(UnixStream);

impl Line {
    /// Has the program started; its first process.
    pub(crate) fn go(&mut self) -> io::Result<Pid> {
        self.0.write_all(b"\n")?;
        let mut told = String::new();
        // One line is all that comes.
        BufReader::new(&self.0).read_line(&mut told)?;
        let pid = told.trim().parse().ok().and_then(Pid::from_raw);
        pid.ok_or_else(|| io::Error::other("the process that should keep it has ended"))
    }
}
