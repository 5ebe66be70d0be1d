//! A command that runs beside its test, or to its end, and what it says; and a role, which says when it is
//! ready and prints records.

use std::fs;
use std::io::{self, BufRead, BufReader, Read};
use std::net::{SocketAddr, TcpStream};
use std::ops::{Deref, DerefMut};
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};
use std::{iter, mem, thread};

use records::{Ready, Record};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use crate::PATIENCE;
use crate::host::ends_by;
use crate::socket::connect;
use crate::wait::{left, soon};

/// How long the last words of a process that was killed may take to arrive.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// A command that runs. It does not outlive its test, and when that fails, says what it had to say on
/// its standard error.
#[derive(Debug)]
pub struct Running {
    /// A pipe to its standard input, if it was started [with one](Self::with_stdin).
    pub stdin: Option<ChildStdin>,
    /// The command, in words.
    command: String,
    out: Lines,
    err: Lines,
    child: Child,
    /// The process itself: its number may be another's once it was reaped.
    handle: OwnedFd,
}

impl Running {
    /// Starts a command with nothing on its standard input.
    #[track_caller]
    pub fn start(command: &mut Command) -> Self {
        Self::spawn(command.stdin(Stdio::null()).stdout(Stdio::piped()))
    }

    /// The same with a pipe to its standard input.
    #[track_caller]
    pub fn with_stdin(command: &mut Command) -> Self {
        Self::spawn(command.stdin(Stdio::piped()).stdout(Stdio::piped()))
    }

    /// The same as [`start`](Self::start) with a standard output whose reader has gone.
    #[track_caller]
    pub fn unheard(command: &mut Command) -> Self {
        let (reader, writer) = io::pipe().expect("a pipe");
        drop(reader);
        Self::spawn(command.stdin(Stdio::null()).stdout(writer))
    }

    /// Reads no more of what it prints: with its next line it has no reader.
    pub fn hear_no_more(&mut self) {
        self.out = Lines::of(io::empty());
    }

    #[track_caller]
    fn spawn(command: &mut Command) -> Self {
        let words = format!("{command:?}");
        by_default_in_children();
        let mut child = match command.stderr(Stdio::piped()).spawn() {
            Ok(child) => child,
            Err(error) => panic!("failed to start {words}: {error}"),
        };
        let handle = pidfd_open(Pid::from_child(&child), PidfdFlags::empty()).expect("our child");
        let err = Lines::of(child.stderr.take().expect("a pipe"));
        let out = match child.stdout.take() {
            Some(stdout) => Lines::of(stdout),
            None => Lines::of(io::empty()),
        };
        Self { stdin: child.stdin.take(), command: words, out, err, child, handle }
    }

    /// The process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal.
    #[track_caller]
    pub fn signal(&self, signal: Signal) {
        pidfd_send_signal(&self.handle, signal).expect("our child, which was not waited for");
    }

    /// The next line that it prints; `None`: it has closed its output.
    #[track_caller]
    pub fn line(&self) -> Option<String> {
        self.out.next(soon(), "a line").map(without_end)
    }

    /// The next line of its standard error; `None`: it has closed that.
    #[track_caller]
    pub fn complaint(&self) -> Option<String> {
        self.err.next(soon(), "a line on standard error").map(without_end)
    }

    /// Whether it has ended by now.
    pub fn has_ended(&mut self) -> bool {
        self.child.try_wait().expect("our child").is_some()
    }

    /// Asks it to end as the harness does, and waits for that.
    #[track_caller]
    pub fn stop(&mut self) -> Said {
        self.end(Signal::TERM)
    }

    /// Sends it `signal`, and waits for its end.
    #[track_caller]
    pub fn end(&mut self, signal: Signal) -> Said {
        self.signal(signal);
        self.finish()
    }

    /// Waits for its end, and for all that it says until then.
    #[track_caller]
    pub fn finish(&mut self) -> Said {
        self.finish_within(PATIENCE)
    }

    /// [`finish`](Self::finish) of one that may take longer.
    #[track_caller]
    pub fn finish_within(&mut self, patience: Duration) -> Said {
        let deadline = Instant::now() + patience;
        assert!(ends_by(&self.handle, deadline), "waited in vain for the end of {}", self.command);
        let status = self.child.wait().expect("our child");
        let (mut stdout, mut stderr) = (String::new(), String::new());
        for (lines, text) in [(&self.out, &mut stdout), (&self.err, &mut stderr)] {
            // Who has inherited it may keep it open.
            while let Some(line) = lines.next(deadline, "the end of all that it says") {
                *text += &line;
            }
        }
        Said { command: self.command.clone(), status, stdout, stderr }
    }
}

fn without_end(mut line: String) -> String {
    line.truncate(line.trim_end_matches('\n').len());
    line
}

impl Drop for Running {
    #[expect(clippy::print_stderr, reason = "it is for people, with the rest of a failed test")]
    fn drop(&mut self) {
        // No error when it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
        if thread::panicking() {
            let said = self.err.last_words(Instant::now() + LAST_WORDS);
            if !said.is_empty() {
                eprintln!("{} said:\n{said}", self.command);
            }
        }
    }
}

/// What a command said that has ended.
#[derive(Clone, Debug)]
pub struct Said {
    /// The command, in words.
    pub command: String,
    /// How it ended.
    pub status: ExitStatus,
    /// All of its standard output that was not taken before.
    pub stdout: String,
    /// The same of its standard error.
    pub stderr: String,
}

impl Said {
    /// Its exit code; a death by signal has none.
    pub fn code(&self) -> Option<i32> {
        self.status.code()
    }

    /// What it said, if it ended well: with exit code 0.
    #[track_caller]
    pub fn ended_well(self) -> Self {
        assert!(self.status.success(), "{}", self.all());
        self
    }

    /// What it said on its standard error, if it ended with `code` and printed nothing.
    #[track_caller]
    pub fn refused(self, code: i32) -> String {
        assert_eq!((self.code(), &*self.stdout), (Some(code), ""), "{}", self.all());
        self.stderr
    }

    /// Its standard output as records, a line each.
    #[track_caller]
    pub fn records(&self) -> Vec<Record> {
        // Who was killed may have torn its last line.
        let is_torn = |line: &&str| self.status.signal().is_some() && !line.ends_with('\n');
        self.stdout.split_inclusive('\n').filter(|line| !is_torn(line)).map(record).collect()
    }

    /// Everything, for a test that failed.
    pub fn all(&self) -> String {
        let Self { command, status, stdout, stderr } = self;
        format!("{command}: {status}\n{stdout}\n{stderr}")
    }
}

#[track_caller]
fn record(line: &str) -> Record {
    match Record::from_line(line) {
        Ok(record) => record,
        Err(error) => panic!("{error}: {line:?}"),
    }
}

/// Runs a command to its end, with nothing on its standard input.
#[track_caller]
pub fn say(command: &mut Command) -> Said {
    Running::start(command).finish()
}

/// A role that is ready. Its records can be taken as they come, each once.
///
/// Some records never end, as those of intervals: so that a loop that waits for others does, none is
/// waited for when the role has been ready for [`PATIENCE`] twice.
#[derive(Debug)]
pub struct Process {
    running: Running,
    too_late: Instant,
    /// What it said first.
    pub ready: Ready,
}

impl Process {
    /// Starts a role with nothing on its standard input, and waits until it is ready.
    #[track_caller]
    pub fn start(command: &mut Command) -> Self {
        Self::of(Running::start(command))
    }

    /// A role that was started, once it is ready.
    #[track_caller]
    pub fn of(running: Running) -> Self {
        let first = running.out.next(soon(), "the first line");
        match first.as_deref().map(Record::from_line) {
            Some(Ok(Record::Ready(ready))) => Self { running, too_late: soon() + PATIENCE, ready },
            _ => panic!("{} is not ready: {first:?}", running.command),
        }
    }

    /// Where it accepts connections.
    #[track_caller]
    pub fn addr(&self) -> SocketAddr {
        self.ready.listen.expect("a role that listens")
    }

    /// A connection to it, whose reads end.
    #[track_caller]
    pub fn connect(&self) -> TcpStream {
        connect(self.addr())
    }

    /// What `pick` takes of the records to come, where `what` is waited for.
    #[track_caller]
    pub fn await_record<T>(&self, what: &str, mut pick: impl FnMut(Record) -> Option<T>) -> T {
        let deadline = soon().min(self.too_late);
        while let Some(line) = self.out.next(deadline, what) {
            if let Some(picked) = pick(record(&line)) {
                return picked;
            }
        }
        panic!("{} ended before {what}", self.command)
    }
}

/// Takes the records of one kind, as `pick!(Session)`: a closure that makes of each record, or of
/// what borrows it, what is in it, and `None` of another kind's.
#[macro_export]
macro_rules! pick {
    ($kind:ident) => {
        |record| match record {
            ::records::Record::$kind(picked) => Some(picked),
            _ => None,
        }
    };
}

impl Deref for Process {
    type Target = Running;

    fn deref(&self) -> &Running {
        &self.running
    }
}

impl DerefMut for Process {
    fn deref_mut(&mut self) -> &mut Running {
        &mut self.running
    }
}

/// The lines of a stream, of which each is taken once. They are read as they come: who writes them never
/// waits for us.
#[derive(Debug)]
struct Lines(Receiver<Vec<u8>>);

impl Lines {
    /// Reads `stream` on a thread of its own until its end.
    fn of(stream: impl Read + Send + 'static) -> Self {
        let (tell, lines) = channel();
        thread::spawn(move || {
            let mut stream = BufReader::new(stream);
            let mut line = Vec::new();
            while stream.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
                if tell.send(mem::take(&mut line)).is_err() {
                    break;
                }
            }
        });
        Self(lines)
    }

    /// The next line with its end, which only the last one may lack, where `what` is waited for;
    /// `None`: there is no more.
    #[track_caller]
    fn next(&self, deadline: Instant, what: &str) -> Option<String> {
        match self.0.recv_timeout(left(deadline)) {
            Ok(line) => Some(String::from_utf8(line).expect("processes write UTF-8")),
            Err(RecvTimeoutError::Disconnected) => None,
            Err(RecvTimeoutError::Timeout) => panic!("waited in vain for {what}"),
        }
    }

    /// What comes until then, as far as it is text: for who must not fail any more.
    fn last_words(&self, deadline: Instant) -> String {
        let lines = iter::from_fn(|| self.0.recv_timeout(left(deadline)).ok());
        String::from_utf8_lossy(&lines.flatten().collect::<Vec<u8>>()).into_owned()
    }
}

/// Gives every process that is started from now on the default of each signal that this one ignores.
/// This one goes on ignoring them: what ignores a signal hands that on to all that it starts.
fn by_default_in_children() {
    let status = fs::read_to_string("/proc/self/status").expect("procfs");
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).expect("proc(5)");
    let ignored = u64::from_str_radix(ignored.trim(), 16).expect("proc(5)");
    for signal in [Signal::HUP, Signal::INT, Signal::QUIT, Signal::TERM] {
        if ignored & (1 << (signal.as_raw() - 1)) != 0 {
            // A signal that has a handler gets its default back at exec: execve(2).
            let unread = Arc::new(AtomicBool::new(false));
            signal_hook::flag::register(signal.as_raw(), unread).expect("a handler");
        }
    }
}
