//! The processes of a trial, as [`net::child`] runs them, and the one channel on which all of them, the
//! sampler and the signal handler report to the thread that owns the crew.
//!
//! Invariant: children are started by the thread that outlives the trial: PR_SET_PDEATHSIG (prctl(2))
//! fires when the *thread* that started a child ends.

use std::ffi::OsString;
use std::io;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::Instant;

use net::child::{Child, Dropped, Event};
use records::{Record, Role, SlowOrder};
use rustix::process::Signal;

#[cfg(test)]
mod tests;

/// All children of a trial.
#[derive(Debug)]
pub(super) struct Crew {
    children: Vec<Member>,
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
struct Member {
    role: Role,
    child: Child,
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

    /// Starts `command`.
    ///
    /// # Errors
    /// The process or its thread could not be made.
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
        let mut command = Command::new(program);
        command.args(args).stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped());
        let (id, sender) = (ChildId(self.children.len()), self.sender());
        let name = net::role::thread_name(role, "child");
        let child = Child::start(&mut command, name, Dropped::Killed, move |event| {
            let news = match event {
                Event::Line(line) => match Record::from_line(&line) {
                    Ok(record) => News::Record(id, Box::new(record)),
                    Err(_) => News::Garbled(id, line),
                },
                Event::Said(line) => News::Said(id, line),
                Event::Ended(status) => News::Ended(id, status),
            };
            // Nobody there: nobody wants it.
            let _ = sender.send(news);
        })?;
        self.children.push(Member { role, child, life: Life::Running });
        Ok(id)
    }

    /// The next news, or `None` at `deadline`. With the news of its end a child is reaped.
    pub(super) fn next(&mut self, deadline: Instant) -> Option<News> {
        let wait = deadline.saturating_duration_since(Instant::now());
        // Our own sender keeps the channel open, so an error is a timeout.
        let news = self.news.recv_timeout(wait).ok()?;
        if let News::Ended(id, status) = news
            && let Some(member) = self.children.get_mut(id.0)
        {
            // It fails of nobody else's child alone.
            let _ = member.child.reap();
            member.life = Life::Ended(status);
        }
        Some(news)
    }

    /// Asks a child to end (SIGTERM). What it says until then still arrives as news.
    pub(super) fn dismiss(&mut self, id: ChildId) {
        self.signal(id, Signal::TERM, |life| life == Life::Running);
    }

    /// Ends a child at once (SIGKILL).
    pub(super) fn kill(&mut self, id: ChildId) {
        self.signal(id, Signal::KILL, |life| !matches!(life, Life::Ended(_)));
    }

    fn signal(&mut self, id: ChildId, signal: Signal, wanted: impl Fn(Life) -> bool) {
        let member = self.children.get_mut(id.0);
        if let Some(member) = member.filter(|member| wanted(member.life)) {
            member.life = Life::Dismissed;
            member.child.signal(signal);
        }
    }

    /// Sends an order. A child that is gone cannot take it, and its death is news of its own.
    pub(super) fn order(&mut self, id: ChildId, order: SlowOrder) {
        if let (Some(member), Ok(line)) =
            (self.children.get_mut(id.0), serde_json::to_string(&order))
        {
            let _ = member.child.write(&format!("{line}\n"));
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
        self.children.get(id.0).map_or(Life::Running, |member| member.life)
    }

    /// Which program a child is.
    pub(super) fn role(&self, id: ChildId) -> Option<Role> {
        self.children.get(id.0).map(|member| member.role)
    }

    /// A child's process id.
    pub(super) fn pid(&self, id: ChildId) -> Option<u32> {
        self.children.get(id.0).map(|member| member.child.id())
    }

    /// What of a child's standard error can be quoted.
    pub(super) fn stderr_tail(&self, id: ChildId) -> Option<String> {
        let tail = self.children.get(id.0)?.child.stderr_tail();
        (!tail.is_empty()).then_some(tail)
    }
}
