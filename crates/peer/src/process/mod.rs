//! The foreign program as processes: started, listened to, looked at, ended.
//!
//! Invariants:
//! - It is in a process group of its own, which is signalled only while its first process is not
//!   reaped, so that the number is ours.
//! - It is started by the thread that outlives it: PR_SET_PDEATHSIG (prctl(2)) fires when the
//!   *thread* that started it ends.
//! - A dropped [`Program`] leaves no process behind, also while a panic unwinds.

mod ending;
mod look;
mod port;
mod workers;

use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use net::cpu::CpuList;
use net::role;
use records::Role;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, waitid};

pub(crate) use self::look::{connected, listening};
pub(crate) use self::port::Reservation;
pub(crate) use self::workers::{Crew, find};

use crate::hop::HOP;
use crate::setting::Invocation;

/// A program that runs.
#[derive(Debug)]
pub(crate) struct Program {
    child: Child,
    life: Life,
    words: Arc<Mutex<VecDeque<String>>>,
    listeners: Vec<JoinHandle<()>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Life {
    /// It may be dead, but its number is ours.
    Held,
    Reaped,
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
    pub(crate) last_signal: Signal,
    pub(crate) stdout: Stdout,
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
/// How long the last words of a dead program are waited for: others may hold its standard error.
const HEARING: Duration = Duration::from_millis(500);

impl Program {
    /// Starts it through [`crate::hop`], in a process group of its own.
    ///
    /// # Errors
    /// This program cannot start itself, or the threads that listen cannot be made.
    pub(crate) fn start(start: Start<'_>) -> io::Result<(Self, Option<ChildStdout>)> {
        let Start { name, path, invocation, dir, cpus, last_signal, stdout } = start;
        let mut command = Command::new("/proc/self/exe");
        let signal = if last_signal == Signal::TERM { "TERM" } else { "KILL" };
        command.args([HOP, "--parent-pid", &std::process::id().to_string()]);
        command.args(["--last-signal", signal]);
        if let Some(cpus) = cpus {
            command.args(["--cpus", &cpus.to_string()]);
        }
        command.arg("--").arg(path).args(&invocation.args).envs(invocation.env);
        command.current_dir(dir).process_group(0);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn()?;
        let (out, err) = (child.stdout.take(), child.stderr.take());
        let words = Arc::default();
        // Whole before anything else can fail, so that it is ended whatever happens.
        let mut program =
            Self { child, life: Life::Held, words: Arc::clone(&words), listeners: Vec::new() };
        program.listeners.push(listen(name, err, &words)?);
        match stdout {
            Stdout::Kept => Ok((program, out)),
            Stdout::Told => {
                program.listeners.push(listen(name, out, &words)?);
                Ok((program, None))
            }
        }
    }

    /// Its first process.
    pub(crate) fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// Calls `tell` when its first process is dead; it is not reaped by that.
    ///
    /// # Errors
    /// No thread can be made.
    pub(crate) fn on_death(&self, tell: impl FnOnce() + Send + 'static) -> io::Result<()> {
        let pid = self.pid();
        spawn("death", move || {
            let dead = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
            while matches!(waitid(WaitId::Pid(pid), dead), Err(rustix::io::Errno::INTR)) {}
            tell();
        })?;
        Ok(())
    }

    /// The last lines it said, as one; of a dead program, all that it said.
    pub(crate) fn last_words(&self) -> String {
        let deadline = Instant::now() + HEARING;
        while Instant::now() < deadline && !self.listeners.iter().all(JoinHandle::is_finished) {
            thread::park_timeout(Duration::from_millis(5));
        }
        let words = self.words.lock().unwrap_or_else(PoisonError::into_inner);
        words.iter().map(String::as_str).collect::<Vec<_>>().join(" / ")
    }

    /// Ends it as it wants to be ended, then whatever of it is left. Returns how its first process
    /// ended.
    ///
    /// # Errors
    /// Some of it does not die, as a process in an uninterruptible sleep.
    pub(crate) fn stop(&mut self, crew: &Crew) -> io::Result<ExitStatus> {
        ending::end(self.pid(), crew)?;
        self.reap()
    }

    fn reap(&mut self) -> io::Result<ExitStatus> {
        let status = self.child.wait()?;
        self.life = Life::Reaped;
        Ok(status)
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        if self.life == Life::Held {
            ending::kill(self.pid());
            let _ = self.reap();
        }
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
