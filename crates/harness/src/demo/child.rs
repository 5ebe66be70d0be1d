//! The process of one trial of a show: `turnstile run` with the arm's options.
//!
//! Invariants:
//! - It is asked to end when the show ends, however that happens (PR_SET_PDEATHSIG), and its own
//!   children end with it.
//! - It is in a process group of its own: every signal reaches it once, through us.

use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::mpsc::Receiver;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use demo::{Ending, Show, Side};
use rustix::process::{Pid, Signal, kill_process};

use super::follow::{self, Follow};
use crate::campaign::LastWords;
use crate::trial::child;

/// Time between two looks at one that is about to end.
const LOOK: Duration = Duration::from_millis(20);

/// A trial that runs.
#[derive(Debug)]
pub(super) struct Trial {
    side: Side,
    child: Child,
    follow: Follow,
    /// Reads what it says on its standard error until it has ended, and keeps the last of it.
    words: Option<JoinHandle<String>>,
}

impl Trial {
    /// Starts `turnstile run` with these options; its run directory will be in `place`.
    ///
    /// # Errors
    /// The place or the process could not be made.
    pub(super) fn start(side: Side, options: &[String], place: &Path) -> io::Result<Self> {
        std::fs::create_dir(place)?;
        let mut command = child::command(options, place);
        command.process_group(0);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let child = command.spawn()?;
        // In our hands before anything else can fail, so that it is ended whatever happens.
        let mut trial = Self { side, child, follow: Follow::new(place), words: None };
        let words = LastWords::of(&mut trial.child)?;
        let listen = move || words.wait();
        trial.words = Some(thread::Builder::new().name("trial-words".into()).spawn(listen)?);
        Ok(trial)
    }

    /// Whose trial it is.
    pub(super) fn side(&self) -> Side {
        self.side
    }

    /// Sends a signal, if it is there to take one.
    pub(super) fn signal(&self, signal: Signal) {
        // ESRCH: it has ended, and that is told elsewhere. It is not reaped: the id is ours.
        let _ = kill_process(Pid::from_child(&self.child), signal);
    }

    /// Hands the show what was recorded since; how it ended, once it has.
    pub(super) fn follow(&mut self, show: &mut Show) -> Option<Ending> {
        let status = match self.child.try_wait() {
            Ok(None) => None,
            Ok(Some(status)) => Some(status.to_string()),
            Err(error) => Some(error.to_string()),
        };
        // After the question, so that nothing is left unread when it has ended.
        self.follow.read(self.side, show);
        let status = status?;
        let words = self.words.take().and_then(|words| words.join().ok()).unwrap_or_default();
        let summary = self.follow.dir().and_then(follow::summary);
        Some(match summary {
            Some(summary) => Ending::Judged(Box::new(summary)),
            None if words.is_empty() => {
                Ending::Broken(format!("it ended without a word ({status})"))
            }
            None => Ending::Broken(words.trim_start_matches("turnstile: ").to_owned()),
        })
    }

    /// Has it end now, in good order: it takes about a second. Each signal that comes meanwhile is
    /// handed on, and it takes it as haste.
    pub(super) fn end(mut self, signals: &Receiver<i32>) {
        self.signal(Signal::TERM);
        while let Ok(None) = self.child.try_wait() {
            if signals.recv_timeout(LOOK).is_ok() {
                self.signal(Signal::TERM);
            }
        }
    }
}

impl Drop for Trial {
    fn drop(&mut self) {
        if let Ok(None) = self.child.try_wait() {
            // It stops its own children within 2 s, and then itself.
            self.signal(Signal::TERM);
            let _ = self.child.wait();
        }
    }
}
