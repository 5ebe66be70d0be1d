//! A command that runs beside its test.

use std::io;
use std::os::fd::OwnedFd;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use crate::lines::Lines;
use crate::proc::ends_by;
use crate::signals::by_default_in_children;
use crate::wait::soon;
use crate::{PATIENCE, Said};

/// How long the last words of a process that was killed may take to arrive.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// A command that runs. It does not outlive its test, and when that fails, says what it had to say on
/// its standard error.
#[derive(Debug)]
pub struct Running {
    /// A pipe to its standard input, if it was started [with one](Self::with_stdin).
    pub stdin: Option<ChildStdin>,
    /// The command, in words.
    pub(crate) command: String,
    pub(crate) out: Lines,
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
