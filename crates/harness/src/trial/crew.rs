//! The processes of a trial: started, listened to, stopped, reaped.
//!
//! One thread per child and stream reads lines, and one waits for the child's death without
//! reaping it, so that its id stays ours until [`Crew`] has taken note. All of them, and the signal
//! handler, report through one channel to the thread that owns the crew.
//!
//! Invariants:
//! - Children are started by the thread that outlives the trial: PR_SET_PDEATHSIG (prctl(2)) fires
//!   when the *thread* that started a child ends.
//! - Only ids of children that are not reaped are signalled.
//! - A dropped crew leaves no child behind, also while a panic unwinds.

use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child as Process, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use records::{Record, Role, SlowOrder};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};

use self::last_words::LastWords;

mod last_words;
#[cfg(test)]
mod tests;

/// All children of a trial.
#[derive(Debug)]
pub(super) struct Crew {
    children: Vec<Child>,
    sender: Sender<News>,
    news: Receiver<News>,
}

/// A child, by the order of its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ChildId(usize);

/// What can happen.
#[derive(Debug)]
pub(super) enum News {
    /// A child printed a record.
    Record(ChildId, Box<Record>),
    /// A child printed a line that is none.
    Garbled(ChildId, String),
    /// A child said something on its standard error.
    Said(ChildId, String),
    /// A child has ended; everything it said has been told before.
    Ended(ChildId, ExitStatus),
    /// This process got SIGINT or SIGTERM.
    Signal(i32),
    /// This process got SIGUSR1.
    GoOn,
    /// What was seen from outside.
    Sampled(Vec<Record>),
    /// For the crew itself: a child closed its output or its errors, or is dead and not reaped yet.
    PartOver(ChildId),
}

/// Whether a child is fed on its standard input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Orders {
    /// It takes none.
    None,
    /// It reads [`SlowOrder`]s.
    Piped,
}

#[derive(Debug)]
struct Child {
    role: Role,
    process: Process,
    stdin: Option<ChildStdin>,
    threads: Vec<JoinHandle<()>>,
    parts_over: usize,
    last_words: LastWords,
    life: Life,
}

/// Where a child stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Life {
    /// At work.
    Running,
    /// Told to stop.
    Dismissed,
    /// Dead and reaped.
    Ended(ExitStatus),
}

/// What must be over before a child has ended: its output, its errors, its life.
const PARTS: usize = 3;
/// A line longer than this is not ours (a record is a few KiB at most).
const LINE_MAX: u64 = 1024 * 1024;

impl Default for Crew {
    fn default() -> Self {
        let (sender, news) = mpsc::channel();
        Self { children: Vec::new(), sender, news }
    }
}

impl Crew {
    /// A way to report from another thread.
    pub(super) fn sender(&self) -> Sender<News> {
        self.sender.clone()
    }

    /// Starts `command` in a process group of its own, so that a terminal's Ctrl-C reaches only us.
    ///
    /// # Errors
    /// The process or its threads could not be made.
    pub(super) fn start(
        &mut self,
        role: Role,
        command: &[OsString],
        orders: Orders,
    ) -> io::Result<ChildId> {
        let (program, args) = command.split_first().ok_or(io::ErrorKind::InvalidInput)?;
        let stdin = match orders {
            Orders::None => Stdio::null(),
            Orders::Piped => Stdio::piped(),
        };
        let mut process = Command::new(program)
            .args(args)
            .stdin(stdin)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()?;
        let id = ChildId(self.children.len());
        let (stdout, stderr) = (process.stdout.take(), process.stderr.take());
        let pid = Pid::from_child(&process);
        let stdin = process.stdin.take();
        // In the crew before anything else can fail, so that it is stopped whatever happens.
        self.children.push(Child {
            role,
            process,
            stdin,
            threads: Vec::new(),
            parts_over: 0,
            last_words: LastWords::None,
            life: Life::Running,
        });
        let (out, err, death) = (self.sender(), self.sender(), self.sender());
        let threads = [
            spawn(role, "out", move || {
                read_lines(stdout, |line| {
                    let news = match Record::from_line(&line) {
                        Ok(record) => News::Record(id, Box::new(record)),
                        Err(_) => News::Garbled(id, line),
                    };
                    let _ = out.send(news);
                });
                let _ = out.send(News::PartOver(id));
            })?,
            spawn(role, "err", move || {
                read_lines(stderr, |line| {
                    let _ = err.send(News::Said(id, line));
                });
                let _ = err.send(News::PartOver(id));
            })?,
            spawn(role, "wait", move || {
                let dead = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
                while matches!(waitid(WaitId::Pid(pid), dead), Err(rustix::io::Errno::INTR)) {}
                let _ = death.send(News::PartOver(id));
            })?,
        ];
        if let Some(child) = self.children.get_mut(id.0) {
            child.threads.extend(threads);
        }
        Ok(id)
    }

    /// The next news, or `None` at `deadline`.
    pub(super) fn next(&mut self, deadline: Instant) -> Option<News> {
        loop {
            let wait = deadline.saturating_duration_since(Instant::now());
            // Our own sender keeps the channel open, so an error is a timeout.
            match self.news.recv_timeout(wait).ok()? {
                News::PartOver(id) => {
                    if let Some(status) = self.part_over(id) {
                        return Some(News::Ended(id, status));
                    }
                }
                News::Said(id, line) => {
                    self.children.get_mut(id.0)?.last_words.hear(&line);
                    return Some(News::Said(id, line));
                }
                other => return Some(other),
            }
        }
    }

    /// One of a child's threads is done; with the last of them the child is reaped.
    fn part_over(&mut self, id: ChildId) -> Option<ExitStatus> {
        let child = self.children.get_mut(id.0)?;
        child.parts_over += 1;
        if child.parts_over < PARTS {
            return None;
        }
        let status = child.process.wait().ok()?;
        child.life = Life::Ended(status);
        child.threads.drain(..).for_each(|thread| drop(thread.join()));
        Some(status)
    }

    /// Asks a child to end (SIGTERM). What it says until then still arrives as news.
    pub(super) fn dismiss(&mut self, id: ChildId) {
        if let Some(child) = self.children.get_mut(id.0)
            && child.life == Life::Running
        {
            child.life = Life::Dismissed;
            child.signal(Signal::TERM);
        }
    }

    /// Ends a child at once (SIGKILL).
    pub(super) fn kill(&mut self, id: ChildId) {
        if let Some(child) = self.children.get_mut(id.0)
            && !matches!(child.life, Life::Ended(_))
        {
            child.life = Life::Dismissed;
            child.signal(Signal::KILL);
        }
    }

    /// Sends an order. A child that is gone cannot take it, and its death is news of its own.
    pub(super) fn order(&mut self, id: ChildId, order: SlowOrder) {
        let stdin = self.children.get_mut(id.0).and_then(|child| child.stdin.as_mut());
        if let (Some(stdin), Ok(mut line)) = (stdin, serde_json::to_string(&order)) {
            line.push('\n');
            let _ = stdin.write_all(line.as_bytes());
        }
    }

    /// Children of `role` that are not reaped, in the order of their start.
    pub(super) fn living(&self, role: Role) -> Vec<ChildId> {
        (0..self.children.len())
            .map(ChildId)
            .filter(|&id| self.role(id) == Some(role) && !matches!(self.life(id), Life::Ended(_)))
            .collect()
    }

    /// Where a child stands.
    pub(super) fn life(&self, id: ChildId) -> Life {
        self.children.get(id.0).map_or(Life::Running, |child| child.life)
    }

    /// Which program a child is.
    pub(super) fn role(&self, id: ChildId) -> Option<Role> {
        self.children.get(id.0).map(|child| child.role)
    }

    /// A child's process id.
    pub(super) fn pid(&self, id: ChildId) -> Option<u32> {
        self.children.get(id.0).map(|child| child.process.id())
    }

    /// What a child last said on its standard error.
    pub(super) fn last_words(&self, id: ChildId) -> Option<&str> {
        self.children.get(id.0)?.last_words.quoted()
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        for child in &mut self.children {
            if !matches!(child.life, Life::Ended(_)) {
                child.signal(Signal::KILL);
                let _ = child.process.wait();
            }
        }
    }
}

impl Child {
    fn signal(&self, signal: Signal) {
        // ESRCH: it is dead already and will be reaped.
        let _ = kill_process(Pid::from_child(&self.process), signal);
    }
}

fn spawn(
    role: Role,
    part: &str,
    work: impl FnOnce() + Send + 'static,
) -> io::Result<JoinHandle<()>> {
    thread::Builder::new().name(net::role::thread_name(role, part)).spawn(work)
}

/// Hands on whole lines until the stream ends. A last line without its newline is the work of a
/// death in mid-write; the death is told elsewhere.
fn read_lines(stream: Option<impl Read>, mut take: impl FnMut(String)) {
    let Some(stream) = stream else { return };
    let mut stream = BufReader::new(stream);
    let mut line = Vec::new();
    loop {
        line.clear();
        match stream.by_ref().take(LINE_MAX).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        match line.pop() {
            Some(b'\n') => take(String::from_utf8_lossy(&line).into_owned()),
            _ if (line.len() as u64) + 1 < LINE_MAX => return,
            _ => take(String::from_utf8_lossy(&line).into_owned()),
        }
    }
}
