//! A role in a process of its own: this binary again, with [`crate::roles::PLAY`] and the role's
//! options in JSON as arguments.
//!
//! Invariants: a child is ready when [`Child::start`] returns, and dead and reaped when it is dropped. It
//! also dies with the thread that started it.

use std::net::SocketAddr;
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::time::Duration;

use anyhow::{Context, bail};
use net::child::{self, Dropped};
use net::cpu::{self, CpuList};
use records::{Record, Role, SlowOrder};

use crate::roles::{PLAY, RoleCommand};

/// How long a role may take until it says that it is ready. It takes milliseconds; this is for a
/// host that is very busy.
const READY_WITHIN: Duration = Duration::from_secs(20);

/// A role that is up.
#[derive(Debug)]
pub(crate) struct Child {
    process: child::Child,
    listen: Option<SocketAddr>,
}

/// What a child let us know.
#[derive(Debug)]
pub(crate) struct Told {
    /// Who it is.
    pub(crate) role: Role,
    /// What it said.
    pub(crate) event: Event,
}

/// See [`Told`].
#[derive(Debug)]
pub(crate) enum Event {
    /// A record that some benchmark has a use for.
    Record(Box<Record>),
    /// It has ended, and all that it said was told before.
    Ended,
}

impl Child {
    /// Starts a role, waits for its ready line, and has what it says later
    /// sent to `told`. Its records are read on its own `cpus`: reading them takes no time from the
    /// workers, which are never among those.
    ///
    /// # Errors
    /// It could not be started, or ended or was silent where it should have been ready.
    pub(crate) fn start(
        role: &RoleCommand,
        cpus: Option<&CpuList>,
        told: &Sender<Told>,
    ) -> anyhow::Result<Self> {
        let (options, role) = (serde_json::to_string(role)?, role.role());
        let mut command = Command::new("/proc/self/exe");
        command.args([PLAY, &options]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let (sender, ready) = mpsc::channel();
        let (told, mut cpus) = (told.clone(), cpus.cloned());
        let tell = move |event| {
            if let Some(cpus) = cpus.take() {
                // Errors: it reads wherever it may.
                let _ = cpu::pin_current_thread(cpus.as_slice());
            }
            let event = match event {
                child::Event::Line(line) => match Record::from_line(&line) {
                    Ok(Record::Ready(ready)) => return drop(sender.send(ready)),
                    Ok(record) if is_of_use(&record) => Event::Record(Box::new(record)),
                    _ => return,
                },
                child::Event::Said(_) => return,
                child::Event::Ended(_) => Event::Ended,
            };
            // Nobody there: nobody wants it.
            let _ = told.send(Told { role, event });
        };
        let name = net::role::thread_name(role, "child");
        let process = child::Child::start(&mut command, name, Dropped::Killed, tell)
            .with_context(|| format!("failed to start the {role}"))?;
        match ready.recv_timeout(READY_WITHIN) {
            Ok(ready) => Ok(Self { process, listen: ready.listen }),
            Err(RecvTimeoutError::Disconnected) => {
                bail!("the {role} ended before it was ready: see its message above")
            }
            Err(RecvTimeoutError::Timeout) => bail!("the {role} is not up within {READY_WITHIN:?}"),
        }
    }

    /// Where it accepts connections.
    ///
    /// # Errors
    /// It is a client.
    pub(crate) fn listen(&self) -> anyhow::Result<SocketAddr> {
        self.listen.context("the ready line names no address to connect to")
    }

    /// Gives it an order, if it is the slow client and listens for any.
    ///
    /// # Errors
    /// It is gone.
    pub(crate) fn order(&mut self, order: SlowOrder) -> anyhow::Result<()> {
        let order = serde_json::to_string(&order)?;
        self.process.write(&format!("{order}\n")).context("failed to steer the slow client")
    }
}

/// The others, some hundred a second, would only wake the thread that measures.
const fn is_of_use(record: &Record) -> bool {
    matches!(
        record,
        Record::Fetch(_)
            | Record::Dialed(_)
            | Record::DownloadInterval(_)
            | Record::Download(_)
            | Record::Accepted(_)
            | Record::Session(_)
    )
}
