//! The program as processes: started, heard, ended.
//!
//! Invariants:
//! - It is a child of its subreaper ([`crate::subreaper`]), and so is all that it leaves behind: whatever
//!   becomes of this process, nothing of it stays.
//! - It is in a process group of its own. Its first process is reaped by nobody before the subreaper
//!   ends, so that the number is ours.
//! - The subreaper is started by the thread that outlives it.
//! - A dropped [`Program`] leaves no process behind, also while a panic unwinds.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use net::child::{self, Child, Dropped};
use net::role;
use records::{Record, Role};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, Signal, getpid, kill_process, pidfd_open};

use crate::limits;
use crate::processes::{self, await_end};
use crate::subreaper::{Line, SubreaperOptions};

/// A program that is about to run, or runs, with its subreaper.
#[derive(Debug)]
pub(crate) struct Program {
    subreaper: Child,
    /// `None`: the subreaper was told to end.
    line: Option<Line>,
    /// Its first process, once it was started.
    root: Option<Pid>,
    words: LastWords,
}

/// The last lines that a program said.
type LastWords = Arc<Mutex<VecDeque<String>>>;

/// Lines that are kept to be quoted.
const QUOTED: usize = 10;

/// What the role's main thread waits for.
#[derive(Debug)]
pub(crate) enum Event {
    /// We are told to stop.
    Stop,
    /// The program ended, or a part of it, and what that is called.
    Ended(&'static str),
    /// The tracer saw something.
    Traced(Box<Record>),
    /// A line of its log.
    Logged(String),
}

/// Whose a program's standard output is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stdout {
    /// Its log's.
    Log,
    /// People's, as its standard error is.
    People,
}

impl Program {
    /// Starts the subreaper of a program, in a directory and with what its environment has beside ours.
    ///
    /// # Errors
    /// This program cannot start itself.
    pub(crate) fn prepare(
        name: &str,
        options: &SubreaperOptions,
        place: (&Path, Vec<(String, String)>),
        stdout: Stdout,
        tell: impl Fn(Event) + Send + 'static,
    ) -> io::Result<Self> {
        // What the subreaper leaves if it is killed comes to us.
        processes::adopt()?;
        let (mut command, line) = options.command_with_line()?;
        let (dir, env) = place;
        command.envs(env).current_dir(dir).stdout(Stdio::piped()).stderr(Stdio::piped());
        let words = LastWords::default();
        let (name, heard) = (name.to_owned(), Arc::clone(&words));
        let take = move |event| match event {
            child::Event::Line(line) if stdout == Stdout::Log => tell(Event::Logged(line)),
            child::Event::Line(line) | child::Event::Said(line) => {
                hear(&name, line.trim_end(), &heard);
            }
            child::Event::Ended(_) => tell(Event::Ended("the process that keeps it ended unasked")),
        };
        let thread = role::thread_name(Role::Proxy, "said");
        let subreaper = Child::start(&mut command, thread, Dropped::Killed, take)?;
        Ok(Self { subreaper, line: Some(line), root: None, words })
    }

    /// Has the program started; its first process.
    ///
    /// # Errors
    /// The subreaper has ended.
    pub(crate) fn go(&mut self) -> io::Result<Pid> {
        let root = self.line.as_mut().ok_or(io::ErrorKind::NotConnected)?.go()?;
        self.root = Some(root);
        Ok(root)
    }

    /// Those of its processes that are not below its first one any more, the oldest first: it put
    /// them, or itself, into the background.
    pub(crate) fn background(&self) -> Vec<i32> {
        let subreaper = i32::try_from(self.subreaper.id()).ok().and_then(Pid::from_raw);
        let mut all = subreaper.map(processes::living).unwrap_or_default();
        all.retain(|&pid| !self.is_its(pid));
        all
    }

    /// Whether that process is below its first one, or is it.
    pub(crate) fn is_its(&self, pid: i32) -> bool {
        self.root.is_some_and(|root| processes::descends(pid, root))
    }

    /// The last lines it said, as one; of a program that was stopped, the last of all that it said.
    pub(crate) fn last_words(&self) -> String {
        let words = self.words.lock().unwrap_or_else(PoisonError::into_inner);
        words.iter().map(String::as_str).collect::<Vec<_>>().join(" / ")
    }

    /// Asks it to end (SIGTERM), and has the subreaper end whatever of it is left then.
    ///
    /// # Errors
    /// Some of it does not die, as a process in an uninterruptible sleep.
    pub(crate) fn stop(&mut self) -> io::Result<()> {
        let Some(line) = self.line.take() else { return Ok(()) };
        if let Some(root) = self.root
            && let Ok(end) = pidfd_open(root, PidfdFlags::empty())
        {
            // ESRCH: it is dead already.
            let _ = kill_process(root, Signal::TERM);
            await_end([&end], limits::ASKED);
        }
        drop(line);
        if !self.subreaper.ends_within(limits::SUBREAPER) {
            self.subreaper.signal(Signal::KILL);
        }
        if self.subreaper.reap()?.success() {
            return Ok(());
        }
        // Somebody has killed it: what it kept is ours now.
        processes::end_all(getpid(), Instant::now() + limits::SUBREAPER)
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.stop();
    }
}

/// Says on our standard error what the program says, and keeps the last of it.
fn hear(name: &str, line: &str, words: &LastWords) {
    if line.is_empty() {
        return;
    }
    // Nobody may be listening: that changes nothing.
    let _ = writeln!(io::stderr(), "{name}: {line}");
    let mut words = words.lock().unwrap_or_else(PoisonError::into_inner);
    words.push_back(line.to_owned());
    if words.len() > QUOTED {
        words.pop_front();
    }
}

/// Tells when one of these processes has ended, if there are any, and what that is called.
///
/// # Errors
/// No thread can be made.
pub(crate) fn on_end(
    processes: Vec<OwnedFd>,
    what: &'static str,
    tell: impl FnOnce(Event) + Send + 'static,
) -> io::Result<()> {
    if processes.is_empty() {
        return Ok(());
    }
    let wait = move || {
        // pidfd_open(2): a descriptor of a process is readable when it has ended.
        let mut fds: Vec<_> = processes.iter().map(|fd| PollFd::new(fd, PollFlags::IN)).collect();
        while matches!(poll(&mut fds, None), Err(rustix::io::Errno::INTR)) {}
        tell(Event::Ended(what));
    };
    let name = role::thread_name(Role::Proxy, "ends");
    thread::Builder::new().name(name).spawn(wait).map(drop)
}
