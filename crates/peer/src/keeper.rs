//! The keeper: a process of ours between the role and its program, which outlives the role by as long
//! as it takes to end all that came of the program.
//!
//! It is what orphans come to (PR_SET_CHILD_SUBREAPER, prctl(2)): a program that put itself into the
//! background, or a worker whose master was killed, is still a descendant of it. It waits for the end
//! of a line whose other side only the role has, so it notices every end of the role, SIGKILL
//! included. Then it ends every descendant, and removes what was written for the program alone.
//!
//! When it is killed itself, the program's first process gets its last signal, and the role, which is
//! a subreaper too, ends the others. Only who kills both at once leaves what went into the background.
//!
//! Invariants:
//! - It reaps nobody while the role lives, so that numbers told to the role stay what they are.
//! - It has no signal set for its parent's death, and none but SIGKILL ends it before its work is
//!   done.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use rustix::process::{Pid, getpid};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::hop::{HOP, HopError, HopOptions};
use crate::patience::KEEPER_TRIES;
use crate::process::descendants;

/// What the role says when the program shall start.
const GO: &[u8] = b"\n";

/// Keeps a program until the line on standard input ends.
pub(crate) fn keep(options: &HopOptions) -> Result<(), HopError> {
    let kept = serve(options).map_err(HopError::Process);
    let left = descendants::end_all(getpid(), Instant::now() + KEEPER_TRIES);
    if let Some(dir) = &options.remove {
        // The role has done it already, or there never was one.
        let _ = fs::remove_dir_all(dir);
    }
    kept.and(left.map_err(HopError::Process))
}

fn serve(options: &HopOptions) -> io::Result<()> {
    let ignored = Arc::new(AtomicBool::new(false));
    for signal in [SIGHUP, SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&ignored))?;
    }
    descendants::adopt()?;
    let mut line = UnixStream::from(rustix::stdio::stdin().try_clone_to_owned()?);
    // From here on the role alone keeps the other side of it open.
    let mut go = [0; GO.len()];
    if let Err(error) = line.read_exact(&mut go) {
        return match error.kind() {
            io::ErrorKind::UnexpectedEof => Ok(()),
            _ => Err(error),
        };
    }
    let program = start(options)?;
    // What it says ends with it, and not with us.
    let nothing = File::options().write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdout(&nothing)?;
    rustix::stdio::dup2_stderr(&nothing)?;
    // A role that has gone meanwhile is seen to have gone by what follows.
    let _ = writeln!(line, "{program}");
    let mut rest = [0; 16];
    loop {
        match line.read(&mut rest) {
            Ok(0) => return Ok(()),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            // It was cut off, which is an end as well.
            Err(_) => return Ok(()),
        }
    }
}

/// Starts the program through the hop that binds it to us, in a process group of its own.
fn start(options: &HopOptions) -> io::Result<u32> {
    let own = HopOptions {
        parent_pid: getpid().as_raw_pid(),
        keep: false,
        remove: None,
        ..options.clone()
    };
    let mut command = Command::new("/proc/self/exe");
    command.arg(HOP).args(own.to_args()).stdin(Stdio::null()).process_group(0);
    // Dropped without being waited for: it stays a zombie until the end, and its number its own.
    Ok(command.spawn()?.id())
}

impl HopOptions {
    /// The same options as arguments of a command line.
    pub(crate) fn to_args(&self) -> Vec<OsString> {
        let mut args: Vec<OsString> = ["--parent-pid", &self.parent_pid.to_string()]
            .into_iter()
            .chain(["--last-signal", self.last_signal.name()])
            .map(OsString::from)
            .collect();
        if let Some(cpus) = &self.cpus {
            args.extend(["--cpus".into(), cpus.to_string().into()]);
        }
        if self.keep {
            args.push("--keep".into());
        }
        if let Some(dir) = &self.remove {
            args.extend(["--remove".into(), dir.into()]);
        }
        args.push("--".into());
        args.extend(self.command.iter().cloned());
        args
    }
}

/// The role's side of the line.
#[derive(Debug)]
pub(crate) struct Line(UnixStream);

impl Line {
    /// Both sides: ours, and what becomes the keeper's standard input.
    pub(crate) fn pair() -> io::Result<(Self, Stdio)> {
        let (ours, theirs) = UnixStream::pair()?;
        Ok((Self(ours), Stdio::from(std::os::fd::OwnedFd::from(theirs))))
    }

    /// Has the program started; its first process.
    pub(crate) fn go(&mut self) -> io::Result<Pid> {
        self.0.write_all(GO)?;
        let mut told = String::new();
        // One line is all that comes.
        BufReader::new(&self.0).read_line(&mut told)?;
        let pid = told.trim().parse().ok().and_then(Pid::from_raw);
        pid.ok_or_else(|| io::Error::other("the process that should keep it has ended"))
    }
}
