//! The last that a child said on its standard error, known as soon as it has ended.
//!
//! Invariants:
//! - The child's end is waited for, not that of its pipe: whoever it has left behind may hold that open
//!   for as long as they like.
//! - What is not UTF-8 is read like everything else.

use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::process::{Child, ChildStderr};

use net::terminal::printable;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open};

#[cfg(test)]
mod tests;

/// A child that is listened to.
#[derive(Debug)]
pub(crate) struct LastWords {
    /// Readable when it has ended: pidfd_open(2).
    end: OwnedFd,
    stderr: Option<ChildStderr>,
}

/// A longer line is cut.
const LINE_MAX: usize = 16 * 1024;
/// What a pipe holds at most unless somebody made it larger: pipe(7).
const PIPE: usize = 64 * 1024;

impl LastWords {
    /// Of `child`, which was not waited for; its standard error is taken, if it is a pipe.
    ///
    /// # Errors
    /// As `pidfd_open(2)`.
    pub(crate) fn of(child: &mut Child) -> io::Result<Self> {
        let end = pidfd_open(Pid::from_child(child), PidfdFlags::empty())?;
        Ok(Self { end, stderr: child.stderr.take() })
    }

    /// Waits until it has ended, without reaping it, and returns the last line that says something.
    pub(crate) fn wait(self) -> String {
        let Self { end, mut stderr } = self;
        let (mut last, mut buffer) = (LastLine::default(), [0; 4096]);
        // What it wrote before its end is in the pipe by then; what comes later is not from it.
        let mut left_in_pipe = PIPE;
        while left_in_pipe > 0 {
            let mut waits = vec![PollFd::new(&end, PollFlags::IN)];
            waits.extend(stderr.as_ref().map(|stderr| PollFd::new(stderr, PollFlags::IN)));
            match poll(&mut waits, None) {
                Ok(_) => {}
                Err(Errno::INTR) => continue,
                Err(_) => break,
            }
            let ready = |at: usize| waits.get(at).is_some_and(|wait| !wait.revents().is_empty());
            let (ended, said) = (ready(0), ready(1));
            if ended && !said {
                break;
            }
            match stderr.as_mut().filter(|_| said).map(|stderr| stderr.read(&mut buffer)) {
                None => {}
                Some(Ok(read @ 1..)) => {
                    last.hear(buffer.get(..read).unwrap_or_default());
                    left_in_pipe = left_in_pipe.saturating_sub(if ended { read } else { 0 });
                }
                Some(Err(error)) if error.kind() == io::ErrorKind::Interrupted => {}
                Some(Ok(0) | Err(_)) => stderr = None,
            }
        }
        last.line_over();
        last.last
    }
}

/// The last line that said something, and the one that is still being said.
#[derive(Default)]
struct LastLine {
    last: String,
    line: Vec<u8>,
}

impl LastLine {
    fn hear(&mut self, bytes: &[u8]) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let room = LINE_MAX.saturating_sub(self.line.len());
            self.line.extend(piece.iter().take(room));
            if piece.ends_with(b"\n") {
                self.line_over();
            }
        }
    }

    fn line_over(&mut self) {
        let said = printable(&String::from_utf8_lossy(&self.line));
        self.line.clear();
        if !said.trim().is_empty() {
            self.last = said.trim_end().to_owned();
        }
    }
}
