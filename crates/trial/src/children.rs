//! The processes of a trial, as [`net::child`] runs them, and the one channel on which all of them, the
//! sampler and the signal handler report to the thread that owns them.
//!
//! Invariants: of a role at most one process runs at a time. Children are started by the thread that
//! outlives the trial: PR_SET_PDEATHSIG (prctl(2)) fires when the *thread* that started a child ends.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::{Duration, Instant};

use net::child::{self, Child, Dropped};
use records::{Record, Role, SlowOrder};
use rustix::process::Signal;

#[cfg(test)]
mod tests;

/// The children of a trial, the last of each role.
#[derive(Debug)]
pub(super) struct Children {
    by_role: BTreeMap<Role, Child>,
    /// Those that were told to stop.
    dismissed: BTreeSet<Role>,
    sender: Sender<Event>,
    events: Receiver<Event>,
}

/// What can happen.
#[derive(Debug)]
pub(super) enum Event {
    /// A child printed a record.
    Record(Role, Box<Record>),
    /// A child printed a line that is none.
    Garbled(Role, String),
    /// A child said something on its standard error.
    Said(Role, String),
    /// A child has ended, and is to be reaped; everything it said has been told before.
    Ended(Role),
    /// This process got SIGINT or SIGTERM.
    Signal(i32),
    /// This process got SIGUSR1.
    GoOn,
    /// What was seen from outside.
    Sampled(Vec<Record>),
}

impl Default for Children {
    fn default() -> Self {
        let (sender, events) = mpsc::channel();
        Self { by_role: BTreeMap::new(), dismissed: BTreeSet::new(), sender, events }
    }
}

impl Children {
    /// A way to report from another thread.
    pub(super) fn sender(&self) -> Sender<Event> {
        self.sender.clone()
    }

    /// Starts `program` as `role`, whose last process has ended, and returns its process id.
    ///
    /// # Errors
    /// The process or its thread could not be made.
    pub(super) fn start(&mut self, role: Role, program: &Path, args: &[String]) -> io::Result<u32> {
        // Nobody else is told anything while it works.
        let stdin = if role == Role::Slow { Stdio::piped() } else { Stdio::null() };
        let mut command = Command::new(program);
        command.args(args).stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped());
        let (sender, name) = (self.sender(), net::role::thread_name(role, "child"));
        let child = Child::start(&mut command, name, Dropped::Killed, move |event| {
            let event = match event {
                child::Event::Line(line) => match Record::from_line(&line) {
                    Ok(record) => Event::Record(role, Box::new(record)),
                    Err(_) => Event::Garbled(role, line),
                },
                child::Event::Said(line) => Event::Said(role, line),
                child::Event::Ended => Event::Ended(role),
            };
            // Nobody there: nobody wants it.
            let _ = sender.send(event);
        })?;
        let pid = child.id();
        self.by_role.insert(role, child);
        self.dismissed.remove(&role);
        Ok(pid)
    }

    /// The next event, or `None` at `deadline`.
    pub(super) fn next(&self, deadline: Instant) -> Option<Event> {
        let wait = deadline.saturating_duration_since(Instant::now());
        // Our own sender keeps the channel open, so an error is a timeout.
        self.events.recv_timeout(wait).ok()
    }

    /// Reaps a child that has ended, and says how.
    pub(super) fn reap(&mut self, role: Role) -> ExitStatus {
        // It fails of somebody else's child alone.
        self.by_role.get_mut(&role).and_then(|child| child.reap().ok()).unwrap_or_default()
    }

    /// Asks a child to end (SIGTERM), once. What it says until then still arrives as events.
    pub(super) fn dismiss(&mut self, role: Role) {
        if self.dismissed.insert(role) {
            self.signal(role, Signal::TERM);
        }
    }

    /// Ends a child at once (SIGKILL).
    pub(super) fn kill(&self, role: Role) {
        self.signal(role, Signal::KILL);
    }

    fn signal(&self, role: Role, signal: Signal) {
        if let Some(child) = self.by_role.get(&role) {
            child.signal(signal);
        }
    }

    /// Sends an order to the downloads. A child that is gone cannot take it, and its death is an event
    /// of its own.
    pub(super) fn order(&mut self, order: SlowOrder) {
        if let (Some(child), Ok(line)) =
            (self.by_role.get_mut(&Role::Slow), serde_json::to_string(&order))
        {
            let _ = child.write(&format!("{line}\n"));
        }
    }

    /// The process id of a child that has not ended.
    pub(super) fn pid(&self, role: Role) -> Option<u32> {
        let child = self.by_role.get(&role)?;
        (!child.ends_within(Duration::ZERO)).then(|| child.id())
    }

    /// What of a child's standard error can be quoted.
    pub(super) fn stderr_tail(&self, role: Role) -> Option<String> {
        let tail = self.by_role.get(&role)?.stderr_tail();
        (!tail.is_empty()).then_some(tail)
    }
}
