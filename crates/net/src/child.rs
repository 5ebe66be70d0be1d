//! A child process: started, read line by line, signalled, stopped, reaped.
//!
//! One thread for each child reads what it says and waits for its death.
//!
//! Not for: dying with the parent. A program of ours binds itself ([`crate::role::end_with`]), another is
//! started through `setpriv --pdeathsig`. The signal is sent when the *thread* that started the child
//! ends (prctl(2)): start it on one that outlives it.
//!
//! Invariants:
//! - Everything that a child said is told before its end.
//! - Its end is waited for, not that of its pipes: whoever it has left behind may hold those open for as
//!   long as they like.
//! - Its owner alone reaps it, so that its id is ours until then.
//! - A dropped child is dead and reaped, also while a panic unwinds.

use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{self, ChildStdin, Command, ExitStatus};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use crate::terminal::printable;

/// A child process.
#[derive(Debug)]
pub struct Child {
    process: process::Child,
    /// Readable when it has ended: pidfd_open(2).
    end: OwnedFd,
    stdin: Option<ChildStdin>,
    reader: Option<JoinHandle<()>>,
    tail: Arc<Mutex<StderrTail>>,
    dropped: Dropped,
    reaped: Option<ExitStatus>,
}

/// What a child did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// It printed this line. What it printed last without an end of line is the work of a death in
    /// mid-write, and is not told.
    Line(String),
    /// It said this line on its standard error.
    Said(String),
    /// It has ended, and is not reaped yet. Nothing follows.
    Ended,
}

/// What becomes of a child that is dropped while it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dropped {
    /// SIGKILL.
    Killed,
    /// SIGTERM, and SIGKILL if it has not ended within this time: it has things to put back.
    Asked(Duration),
}

/// A longer line is told in pieces of this size: records are a few KiB at most.
const LINE_MAX: usize = 1024 * 1024;
/// What is read of a pipe at most when its child has ended: more than a pipe holds unless root made it
/// larger (pipe(7)). What comes later is not from the child.
const PIPE: usize = 1024 * 1024;

impl Child {
    /// Starts `command` in a process group of its own, so that a terminal's Ctrl-C reaches only us. Of
    /// its standard streams those that are piped are ours. `take` is called with all that happens, on
    /// a thread of the name `name`.
    ///
    /// # Errors
    /// The process or its thread could not be made. Nothing is left running then.
    pub fn start(
        command: &mut Command,
        name: String,
        dropped: Dropped,
        take: impl FnMut(Event) + Send + 'static,
    ) -> io::Result<Self> {
        let mut process = command.process_group(0).spawn()?;
        let end = match pidfd_open(Pid::from_child(&process), PidfdFlags::empty()) {
            Ok(end) => end,
            Err(error) => {
                let _ = process.kill();
                let _ = process.wait();
                return Err(error.into());
            }
        };
        let streams = [
            Stream::of(process.stdout.take().map(Into::into)),
            Stream::of(process.stderr.take().map(Into::into)),
        ];
        let (stdin, tail) = (process.stdin.take(), Arc::default());
        // Whole before anything else can fail, so that it is ended whatever happens.
        let mut child = Self { process, end, stdin, reader: None, tail, dropped, reaped: None };
        let (end, tail) = (child.end.try_clone()?, Arc::clone(&child.tail));
        let read = move || read(&end, streams, &tail, take);
        child.reader = Some(thread::Builder::new().name(name).spawn(read)?);
        Ok(child)
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// Sends it a signal, if it is there to take one.
    pub fn signal(&self, signal: Signal) {
        // ESRCH: it has ended, and that is told elsewhere.
        let _ = pidfd_send_signal(&self.end, signal);
    }

    /// Writes to its standard input, if that is piped.
    ///
    /// # Errors
    /// It is gone, or takes no input.
    pub fn write(&mut self, text: &str) -> io::Result<()> {
        self.stdin.as_mut().ok_or(io::ErrorKind::NotConnected)?.write_all(text.as_bytes())
    }

    /// Waits for its end, for `patience` at most: whether it has ended.
    pub fn ends_within(&self, patience: Duration) -> bool {
        ends_within(&self.end, patience)
    }

    /// Waits for its end and for all that it said, and reaps it.
    ///
    /// # Errors
    /// As `wait(2)`.
    pub fn reap(&mut self) -> io::Result<ExitStatus> {
        // The reader first: it tells all that the child said.
        if let Some(reader) = self.reader.take() {
            let _ = reader.join();
        }
        let status = self.process.wait()?;
        self.reaped = Some(status);
        Ok(status)
    }

    /// Has it end by `signal`, by SIGKILL if that takes longer than `patience`, and reaps it.
    ///
    /// # Errors
    /// As `wait(2)`.
    pub fn stop(&mut self, signal: Signal, patience: Duration) -> io::Result<ExitStatus> {
        self.signal(signal);
        if !self.ends_within(patience) {
            self.signal(Signal::KILL);
        }
        self.reap()
    }

    /// What of its standard error is worth quoting so far, fit for a terminal: the last line that says
    /// something; of a panic, where and what. Empty: it said nothing.
    pub fn stderr_tail(&self) -> String {
        self.tail.lock().unwrap_or_else(PoisonError::into_inner).line.clone()
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if self.reaped.is_none() {
            let _ = match self.dropped {
                Dropped::Killed => self.stop(Signal::KILL, Duration::ZERO),
                Dropped::Asked(patience) => self.stop(Signal::TERM, patience),
            };
        }
    }
}

/// Waits for the end of a process, of which this is a handle (pidfd_open(2)), for `patience` at most:
/// whether it has ended.
pub fn ends_within(process: impl AsFd, patience: Duration) -> bool {
    let patience = Timespec::try_from(patience).ok();
    loop {
        match poll(&mut [PollFd::new(&process, PollFlags::IN)], patience.as_ref()) {
            Err(Errno::INTR) => {}
            ready => return ready == Ok(1),
        }
    }
}

/// Tells all that happens until the child has ended.
fn read(
    end: &OwnedFd,
    [mut stdout, mut stderr]: [Stream; 2],
    tail: &Mutex<StderrTail>,
    mut take: impl FnMut(Event),
) {
    let mut buffer = vec![0; 64 * 1024];
    let said = |line: String, take: &mut dyn FnMut(Event)| {
        tail.lock().unwrap_or_else(PoisonError::into_inner).hear(&line);
        take(Event::Said(line));
    };
    loop {
        let mut waits = vec![PollFd::new(end, PollFlags::IN)];
        let fds = [&stdout, &stderr].map(|stream| stream.fd.as_ref());
        waits.extend(fds.iter().flatten().map(|fd| PollFd::new(fd, PollFlags::IN)));
        match poll(&mut waits, None) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => break,
        }
        let mut ready = waits.iter().map(|wait| !wait.revents().is_empty());
        let ended = ready.next().unwrap_or(false);
        let mut of = |fd: Option<&OwnedFd>| fd.is_some() && ready.next().unwrap_or(false);
        let [out, err] = fds.map(&mut of);
        drop(waits);
        if out {
            stdout.read(ended, &mut buffer, |line| take(Event::Line(line)));
        }
        if err {
            stderr.read(ended, &mut buffer, |line| said(line, &mut take));
        }
        if ended && !out && !err {
            break;
        }
    }
    if !stderr.line.is_empty() {
        said(text(&stderr.line), &mut take);
    }
    take(Event::Ended);
}

/// What a child writes, as lines.
struct Stream {
    fd: Option<OwnedFd>,
    line: Vec<u8>,
    /// What may still be from the child once it has ended, bytes.
    left: usize,
}

impl Stream {
    fn of(fd: Option<OwnedFd>) -> Self {
        Self { fd, line: Vec::new(), left: PIPE }
    }

    /// Reads what is there, and hands on the lines that it ends.
    fn read(&mut self, ended: bool, buffer: &mut [u8], mut take: impl FnMut(String)) {
        let Some(fd) = &self.fd else { return };
        let read = match rustix::io::read(fd, &mut *buffer) {
            Err(Errno::INTR) => return,
            read => read.unwrap_or(0),
        };
        self.left = self.left.saturating_sub(if ended { read } else { 0 });
        for piece in buffer[..read].split_inclusive(|byte| *byte == b'\n') {
            match piece.strip_suffix(b"\n") {
                Some(rest) => {
                    self.line.extend_from_slice(rest);
                    take(text(&std::mem::take(&mut self.line)));
                }
                None => self.line.extend_from_slice(piece),
            }
            if self.line.len() >= LINE_MAX {
                take(text(&std::mem::take(&mut self.line)));
            }
        }
        if read == 0 || self.left == 0 {
            self.fd = None;
        }
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The last line that says something. Of a panic, where and what: a backtrace and advice follow it, and
/// neither says what happened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct StderrTail {
    line: String,
    /// Lines that still belong to the panic, of which the line is the first; absent: it is none.
    panic: Option<u32>,
}

/// A longer line is cut, letters.
const LONGEST: usize = 16 * 1024;

impl StderrTail {
    /// Takes note of a line.
    fn hear(&mut self, line: &str) {
        let line = printable(line);
        let line = line.trim();
        match &mut self.panic {
            _ if line.is_empty() => return,
            Some(0) => return,
            Some(left) => {
                self.line.push(' ');
                *left -= 1;
            }
            None => {
                self.line.clear();
                // Its message follows where it was.
                self.panic = line.contains(" panicked at ").then_some(1);
            }
        }
        self.line.extend(line.chars().take(LONGEST));
    }
}

#[cfg(test)]
mod tests;
