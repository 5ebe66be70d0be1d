//! The process of one trial of a show: `turnstile run` with the arm's options.
//!
//! Invariants:
//! - It is asked to end when the show ends, however that happens (PR_SET_PDEATHSIG), and its own
//!   children end with it.
//! - It is in a process group of its own: every signal reaches it once, through us.

use std::io;
use std::path::Path;
use std::sync::mpsc::Receiver;
use std::time::Duration;

use demo::{Ending, Show, Side};
use net::child::Child;
use rustix::process::Signal;

use super::follow::{self, Follow};
use crate::child;

/// Time between two looks at one that is about to end.
const LOOK: Duration = Duration::from_millis(20);

/// A trial that runs.
#[derive(Debug)]
pub(super) struct Trial {
    side: Side,
    child: Child,
    follow: Follow,
}

impl Trial {
    /// Starts `turnstile run` with these options; its run directory will be in `place`.
    ///
    /// # Errors
    /// The place or the process could not be made.
    pub(super) fn start(side: Side, options: &[String], place: &Path) -> io::Result<Self> {
        std::fs::create_dir(place)?;
        let child = child::start(child::command(options, place), || {})?;
        Ok(Self { side, child, follow: Follow::new(place) })
    }

    /// Whose trial it is.
    pub(super) fn side(&self) -> Side {
        self.side
    }

    /// Sends a signal, if it is there to take one.
    pub(super) fn signal(&self, signal: Signal) {
        self.child.signal(signal);
    }

    /// Hands the show what was recorded since; how it ended, once it has.
    pub(super) fn follow(&mut self, show: &mut Show) -> Option<Ending> {
        let ended = self.child.ends_within(Duration::ZERO);
        // After the question, so that nothing is left unread when it has ended.
        self.follow.read(self.side, show);
        if !ended {
            return None;
        }
        let status = match self.child.reap() {
            Ok(status) => status.to_string(),
            Err(error) => error.to_string(),
        };
        if let Some(summary) = self.follow.dir().and_then(follow::summary) {
            return Some(Ending::Judged(Box::new(summary)));
        }
        let said = self.child.stderr_tail();
        Some(Ending::Broken(match said.trim_start_matches("turnstile: ") {
            "" => format!("it ended without a word ({status})"),
            said => said.to_owned(),
        }))
    }

    /// Has it end now, in good order: it takes about a second. Each signal that comes meanwhile is
    /// handed on, and it takes it as haste.
    pub(super) fn end(self, signals: &Receiver<i32>) {
        self.signal(Signal::TERM);
        while !self.child.ends_within(LOOK) {
            if signals.try_recv().is_ok() {
                self.signal(Signal::TERM);
            }
        }
    }
}
