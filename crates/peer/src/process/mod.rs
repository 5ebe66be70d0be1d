//! The foreign program as processes: started, listened to, looked at, ended.
//!
//! Invariants:
//! - It is a child of its keeper ([`crate::keeper`]), and so is all that it leaves behind: whatever
//!   becomes of this process, nothing of it stays.
//! - It is in a process group of its own. Its first process is reaped by nobody before the keeper
//!   ends, so that the number is ours.
//! - The keeper is started by the thread that outlives it.
//! - A dropped [`Program`] leaves no process behind, also while a panic unwinds.

mod acquaint;
pub(crate) mod descendants;
mod ending;
mod look;
mod port;
mod workers;

use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use net::cpu::CpuList;
use net::role;
use records::Role;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, getpid, pidfd_open};

pub(crate) use self::acquaint::{Acquaintance, Serving};
pub(crate) use self::look::{connected, holders, listening, title};
pub(crate) use self::port::Reservation;
pub(crate) use self::workers::{Crew, find};

use crate::hop::{HOP, HopOptions, LastSignal};
use crate::keeper::Line;
use crate::patience::{HEARING, KEEPER};
use crate::setting::Invocation;

/// A program that runs.
#[derive(Debug)]
pub(crate) struct Program {
    root: Pid,
    death: OwnedFd,
    keeper: Keeper,
}

/// The keeper of a program that is about to run, or runs.
#[derive(Debug)]
pub(crate) struct Keeper {
    process: Child,
    /// `None`: the keeper was told to end.
    line: Option<Line>,
    words: Arc<Mutex<VecDeque<String>>>,
    listeners: Vec<JoinHandle<()>>,
}

/// How a program is started.
#[derive(Debug)]
pub(crate) struct Start<'a> {
    pub(crate) name: &'static str,
    pub(crate) path: &'a Path,
    pub(crate) invocation: Invocation,
    /// Its working directory.
    pub(crate) dir: &'a Path,
    /// CPUs for all of it.
    pub(crate) cpus: Option<&'a CpuList>,
    pub(crate) last_signal: LastSignal,
    pub(crate) stdout: Stdout,
    /// A directory that goes when all of it has ended.
    pub(crate) remove: Option<PathBuf>,
}

/// What is done with its standard output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stdout {
    /// It goes where its standard error goes: to ours, line by line.
    Told,
    /// It is for the caller to read.
    Kept,
}

/// Lines that are kept to be quoted.
const LAST_WORDS: usize = 10;

impl Keeper {
    /// Starts the keeper of a program, in a process group of its own.
    ///
    /// # Errors
    /// This program cannot start itself, or the threads that listen cannot be made.
    pub(crate) fn start(start: Start<'_>) -> io::Result<(Self, Option<ChildStdout>)> {
        let Start { name, path, invocation, dir, cpus, last_signal, stdout, remove } = start;
        // What the keeper leaves if it is killed comes to us.
        descendants::adopt()?;
        let options = HopOptions {
            parent_pid: getpid().as_raw_pid(),
            last_signal,
            cpus: cpus.cloned(),
            keep: true,
            remove,
            command: std::iter::once(path.into())
                .chain(invocation.args.into_iter().map(Into::into))
                .collect(),
        };
        let (line, theirs) = Line::pair()?;
        let mut command = Command::new("/proc/self/exe");
        command.arg(HOP).args(options.to_args()).envs(invocation.env);
        command.current_dir(dir).process_group(0);
        command.stdin(theirs).stdout(Stdio::piped()).stderr(Stdio::piped());
        let spawned = command.spawn();
        // It holds the keeper's side of the line, whose end would not be seen.
        drop(command);
        let mut process = spawned?;
        let (out, err) = (process.stdout.take(), process.stderr.take());
        let words = Arc::default();
        // Whole before anything else can fail, so that it is ended whatever happens.
        let mut keeper =
            Self { process, line: Some(line), words: Arc::clone(&words), listeners: Vec::new() };
        keeper.listeners.push(listen(name, err, &words)?);
        match stdout {
            Stdout::Kept => Ok((keeper, out)),
            Stdout::Told => {
                keeper.listeners.push(listen(name, out, &words)?);
                Ok((keeper, None))
            }
        }
    }

    /// Has the program started, through [`crate::hop`].
    ///
    /// # Errors
    /// The keeper has ended.
    pub(crate) fn go(mut self) -> io::Result<Program> {
        let Some(line) = &mut self.line else { return Err(io::ErrorKind::NotConnected.into()) };
        let root = line.go()?;
        let death = pidfd_open(root, PidfdFlags::empty())?;
        Ok(Program { root, death, keeper: self })
    }

    /// Has the keeper end all that came of the program, and waits for it.
    ///
    /// # Errors
    /// Some of it does not die, as a process in an uninterruptible sleep.
    fn end(&mut self) -> io::Result<()> {
        let Some(line) = self.line.take() else { return Ok(()) };
        drop(line);
        let keeper = pidfd_open(Pid::from_child(&self.process), PidfdFlags::empty());
        if keeper.is_ok_and(|keeper| !ending::await_death(std::iter::once(&keeper), KEEPER)) {
            self.process.kill()?;
        }
        if self.process.wait()?.success() {
            return Ok(());
        }
        // Somebody has killed it: what it kept is ours now.
        descendants::end_all(getpid(), Instant::now() + KEEPER)
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

impl Program {
    /// Its first process.
    pub(crate) fn pid(&self) -> Pid {
        self.root
    }

    /// Calls `tell` with what happened when its first process is dead, or its keeper.
    ///
    /// # Errors
    /// No thread can be made, or no descriptor is left.
    pub(crate) fn on_death(
        &self,
        tell: impl FnOnce(&'static str) + Send + 'static,
    ) -> io::Result<()> {
        let keeper = pidfd_open(Pid::from_child(&self.keeper.process), PidfdFlags::empty())?;
        let program = self.death.try_clone()?;
        spawn("death", move || {
            let mut fds =
                [PollFd::new(&program, PollFlags::IN), PollFd::new(&keeper, PollFlags::IN)];
            while matches!(poll(&mut fds, None), Err(rustix::io::Errno::INTR)) {}
            let [_, keeper] = fds;
            // The program dies of its keeper's death.
            tell(if keeper.revents().is_empty() {
                "it ended unasked"
            } else {
                "the process that keeps it ended unasked"
            });
        })?;
        Ok(())
    }

    /// Those of its processes that are not below its first one any more, the oldest first: it put
    /// them, or itself, into the background.
    pub(crate) fn background(&self) -> Vec<i32> {
        let keeper = Pid::from_child(&self.keeper.process);
        let mut all = descendants::living(keeper);
        all.retain(|&pid| {
            Pid::from_raw(pid).is_some_and(|pid| !descendants::descends(pid, self.root))
        });
        all
    }

    /// The last lines it said, as one; of a dead program, all that it said.
    pub(crate) fn last_words(&self) -> String {
        let Keeper { words, listeners, .. } = &self.keeper;
        let deadline = Instant::now() + HEARING;
        while Instant::now() < deadline && !listeners.iter().all(JoinHandle::is_finished) {
            thread::park_timeout(Duration::from_millis(5));
        }
        let words = words.lock().unwrap_or_else(PoisonError::into_inner);
        words.iter().map(String::as_str).collect::<Vec<_>>().join(" / ")
    }

    /// Ends it as it wants to be ended, then whatever of it is left.
    ///
    /// # Errors
    /// Some of it does not die, as a process in an uninterruptible sleep.
    pub(crate) fn stop(&mut self, crew: &Crew) -> io::Result<()> {
        let ended = ending::end(self.root, crew);
        self.keeper.end().and(ended)
    }
}

/// Says on our standard error what the program says, and keeps the last of it.
fn listen(
    name: &'static str,
    stream: Option<impl Read + Send + 'static>,
    words: &Arc<Mutex<VecDeque<String>>>,
) -> io::Result<JoinHandle<()>> {
    const LONGEST: u64 = 64 * 1024;
    let words = Arc::clone(words);
    spawn("said", move || {
        let Some(stream) = stream else { return };
        let mut stream = BufReader::new(stream);
        let mut line = Vec::new();
        loop {
            line.clear();
            match stream.by_ref().take(LONGEST).read_until(b'\n', &mut line) {
                Ok(0) | Err(_) => return,
                Ok(_) => {}
            }
            let text = String::from_utf8_lossy(&line);
            let text = text.trim_end();
            if text.is_empty() {
                continue;
            }
            // Nobody may be listening: that changes nothing.
            let _ = writeln!(io::stderr(), "{name}: {text}");
            let mut words = words.lock().unwrap_or_else(PoisonError::into_inner);
            words.push_back(text.to_owned());
            if words.len() > LAST_WORDS {
                words.pop_front();
            }
        }
    })
}

pub(crate) fn spawn<T: Send + 'static>(
    part: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    thread::Builder::new().name(role::thread_name(Role::Proxy, part)).spawn(work)
}
