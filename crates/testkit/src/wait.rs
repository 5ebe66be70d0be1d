//! Waiting that comes to an end: what hangs makes a test fail, not hang, and the failure names what was waited
//! for. And turns: on few CPUs, two tests that put load on them at a time would starve each other.

use std::env;
use std::fs::{File, OpenOptions};
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};
use rustix::io::retry_on_intr;

/// Nothing in these tests takes as long unless it hangs, also on a busy host.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Between two looks at what tells nobody when it changes.
const BETWEEN_LOOKS: Duration = Duration::from_millis(2);

/// When patience ends.
pub(crate) fn soon() -> Instant {
    Instant::now() + PATIENCE
}

/// What is left until then; zero once it has passed.
pub(crate) fn left(deadline: Instant) -> Duration {
    deadline.saturating_duration_since(Instant::now())
}

/// Looks again and again until `what` is there, and returns what `look` found.
#[track_caller]
pub fn until<T>(what: &str, look: impl FnMut() -> Option<T>) -> T {
    until_by(soon(), what, look)
}

#[track_caller]
pub(crate) fn until_by<T>(deadline: Instant, what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(!left(deadline).is_zero(), "waited in vain for {what}");
        thread::sleep(BETWEEN_LOOKS);
    }
}

/// Says to a process that its test was started by one that has the turn.
const LENT: &str = "TURNSTILE_TEST_TURN";

/// A turn, which lasts until it is dropped, or the process ends in any other way.
#[derive(Debug)]
pub struct Turn {
    /// Its lock ends with it: flock(2).
    _file: Option<File>,
}

/// Waits until no other test of this user on this host has its turn, be it of this process or of
/// another: whatever runs the tests may run each in a process of its own.
pub fn in_turn() -> Turn {
    if env::var_os(LENT).is_some() {
        return Turn { _file: None };
    }
    in_turn_by(&env::temp_dir())
}

/// The same among those who keep their turns by a file in `dir`.
pub(crate) fn in_turn_by(dir: &Path) -> Turn {
    let user = rustix::process::geteuid().as_raw();
    let path = dir.join(format!("turnstile-tests-{user}.lock"));
    // Every call opens it anew: a lock belongs to what was opened, not to the process.
    let opened = OpenOptions::new().create(true).truncate(false).write(true).open(&path);
    let file = opened.unwrap_or_else(|error| panic!("failed to open {}: {error}", path.display()));
    retry_on_intr(|| flock(&file, FlockOperation::LockExclusive)).expect("a lock");
    Turn { _file: Some(file) }
}

impl Turn {
    /// Lets a test that `command` runs have this turn: it would wait for ours in vain.
    pub fn lend(&self, command: &mut Command) {
        command.env(LENT, "1");
    }
}
