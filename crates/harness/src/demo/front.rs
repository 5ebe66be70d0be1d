//! What the room sees: the screen, or lines on standard output.

use std::io::{self, Write};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use ::demo::{Key, Look, Plain, Show};
use net::terminal::printable;
use records::MonoNs;

use super::screen::Screen;

/// Where the show is seen.
pub(super) enum Front {
    /// On a terminal.
    Terminal(Box<Screen>, Look),
    /// In lines.
    Lines(Plain),
}

/// What came from the room.
pub(super) enum Heard {
    /// Keys, or nothing.
    Keys(Vec<Key>),
    /// A signal.
    Signal(i32),
}

/// Time between two pictures: half of what passes between two writes of a trial.
const FRAME: Duration = Duration::from_millis(100);

impl Front {
    /// Shows the show as it stands at `now`.
    ///
    /// # Errors
    /// Nobody can see it any more.
    pub(super) fn show(&mut self, show: &Show, now: MonoNs) -> io::Result<()> {
        match self {
            Self::Terminal(screen, look) => screen.show(show, now, *look),
            Self::Lines(plain) => {
                let mut out = io::stdout().lock();
                // A reason may quote what a program said.
                for line in plain.lines(show, now).iter().map(|line| printable(line)) {
                    writeln!(out, "{line}")?;
                }
                out.flush()
            }
        }
    }

    /// Waits for the next picture, or for what comes before it.
    ///
    /// # Errors
    /// The terminal is gone.
    pub(super) fn wait(&mut self, signals: &Receiver<i32>) -> io::Result<Heard> {
        match self {
            Self::Terminal(screen, _) => {
                let keys = screen.keys(FRAME);
                // A terminal that hangs up says so by a signal too, and that is what counts.
                match signals.try_recv() {
                    Ok(signal) => Ok(Heard::Signal(signal)),
                    Err(_) => keys.map(Heard::Keys),
                }
            }
            Self::Lines(..) => match signals.recv_timeout(FRAME) {
                Ok(signal) => Ok(Heard::Signal(signal)),
                Err(RecvTimeoutError::Timeout) => Ok(Heard::Keys(Vec::new())),
                // The handler's thread is gone, and with it every way to end but ours.
                Err(RecvTimeoutError::Disconnected) => Err(io::ErrorKind::BrokenPipe.into()),
            },
        }
    }
}
