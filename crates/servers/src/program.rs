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
use std::fs::File;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use net::child::{self, Child, Dropped, ends_within};
use net::{process, role};
use records::{Record, Role};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};

use crate::configuration::Setting;
use crate::limits;
use crate::log::LogFormat;
use crate::processes;
use crate::subreaper::{Line, SubreaperOptions};

/// A program that is about to run, or runs, with its subreaper.
#[derive(Debug)]
pub(crate) struct Program {
    subreaper: Child,
    /// `None`: the subreaper was told to end.
    line: Option<Line>,
    /// Its first process, once it was started.
    root: Option<Pid>,
    said: Arc<Mutex<Said>>,
}

/// What a program says for people: kept in a file as far as there is room, the last of it for quoting.
#[derive(Debug)]
struct Said {
    file: File,
    /// Bytes that the file may still grow by.
    room: usize,
    last: VecDeque<String>,
}

/// The file of that, in the directory of the run.
const OUTPUT: &str = "output.log";
/// What is kept of a program's output: more fills a disk and tells nobody more.
const KEPT: usize = 16 << 20;
/// Lines that are quoted, and letters of each.
const QUOTED: (usize, usize) = (10, 300);

impl Said {
    fn new(path: &Path) -> io::Result<Self> {
        Ok(Self { file: File::create(path)?, room: KEPT, last: VecDeque::new() })
    }

    fn hear(&mut self, line: &str) {
        if line.is_empty() {
            return;
        }
        if self.room > 0 {
            self.room = self.room.saturating_sub(line.len() + 1);
            let more = if self.room == 0 { "(it said more than is kept)\n" } else { "" };
            // A disk that is full is told by the records, which matter more.
            let _ = self.file.write_all(format!("{line}\n{more}").as_bytes());
        }
        if self.last.len() == QUOTED.0 {
            self.last.pop_front();
        }
        self.last.push_back(line.chars().take(QUOTED.1).collect());
    }
}

/// What the role's main thread waits for.
#[derive(Debug)]
pub(crate) enum Event {
    /// We are told to stop.
    Stop,
    /// The program ended, or a part of it, in words.
    Ended(String),
    /// The tracer saw something.
    Traced(Box<Record>),
    /// A line of its log.
    Logged(String),
}

impl Program {
    /// Starts the subreaper of a program.
    ///
    /// # Errors
    /// This program cannot start itself, or a directory or file is not to be had.
    pub(crate) fn prepare(
        options: &SubreaperOptions,
        setting: &Setting<'_>,
        tell: impl Fn(Event) + Send + 'static,
    ) -> io::Result<Self> {
        // What the subreaper leaves if it is killed comes to us.
        processes::adopt()?;
        let (mut command, line) = options.command_with_line()?;
        command.envs(setting.env()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // A command works where we do.
        let own = (!setting.server.is_command()).then_some(&setting.dir);
        if let Some(dir) = setting.arm.server.server_dir.as_ref().or(own) {
            command.current_dir(dir);
        }
        // What it says on its standard output is its log, or people's, as its standard error is.
        let logs = setting.server.log.as_ref().is_some_and(LogFormat::is_stdout);
        let said = Arc::new(Mutex::new(Said::new(&setting.dir.join(OUTPUT))?));
        let heard = Arc::clone(&said);
        let take = move |event| match event {
            child::Event::Line(line) if logs => tell(Event::Logged(line)),
            child::Event::Line(line) | child::Event::Said(line) => {
                heard.lock().unwrap_or_else(PoisonError::into_inner).hear(line.trim_end());
            }
            child::Event::Ended => {
                tell(Event::Ended("the process that keeps it ended unasked".to_owned()));
            }
        };
        let thread = role::thread_name(Role::Proxy, "said");
        let subreaper = Child::start(&mut command, thread, Dropped::Killed, take)?;
        Ok(Self { subreaper, line: Some(line), root: None, said })
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
        let mut all = self.living();
        all.retain(|&pid| !self.is_its(pid));
        all
    }

    /// Whether that process is below its first one, or is it.
    pub(crate) fn is_its(&self, pid: i32) -> bool {
        self.root.is_some_and(|root| process::descends(pid, root.as_raw_pid()))
    }

    /// The last lines it said, as one; of a program that was stopped, the last of all that it said.
    pub(crate) fn last_words(&self) -> String {
        let said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        said.last.iter().map(String::as_str).collect::<Vec<_>>().join(" / ")
    }

    /// Where its processes accept connections.
    pub(crate) fn listens_on(&self) -> Vec<SocketAddr> {
        processes::accepting(&self.living()).unwrap_or_default()
    }

    /// All of its processes, the oldest first.
    fn living(&self) -> Vec<i32> {
        processes::living(self.subreaper.id().cast_signed())
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
            ends_within(&end, limits::ASKED);
        }
        drop(line);
        if !self.subreaper.ends_within(limits::SUBREAPER) {
            self.subreaper.signal(Signal::KILL);
        }
        if self.subreaper.reap()?.success() {
            return Ok(());
        }
        // Somebody has killed it: what it kept is ours now.
        processes::end_own(Instant::now() + limits::SUBREAPER)
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.stop();
    }
}

/// Tells, in these words, when one of these processes has ended, if there are any.
///
/// # Errors
/// No thread can be made.
pub(crate) fn on_end(
    processes: Vec<OwnedFd>,
    how: impl FnOnce() -> String + Send + 'static,
    tell: impl FnOnce(Event) + Send + 'static,
) -> io::Result<()> {
    if processes.is_empty() {
        return Ok(());
    }
    let wait = move || {
        // pidfd_open(2): a descriptor of a process is readable when it has ended.
        let mut fds: Vec<_> = processes.iter().map(|fd| PollFd::new(fd, PollFlags::IN)).collect();
        while matches!(poll(&mut fds, None), Err(rustix::io::Errno::INTR)) {}
        tell(Event::Ended(how()));
    };
    let name = role::thread_name(Role::Proxy, "ends");
    thread::Builder::new().name(name).spawn(wait).map(drop)
}
