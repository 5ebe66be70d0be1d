//! A role in a process of its own: this binary again, with [`crate::roles::PLAY`] and the role's
//! name as first arguments.
//!
//! Invariants:
//! - A child is ready when [`Child::start`] returns, and dead and reaped when it is dropped. It
//!   also dies with the thread that started it.
//! - What it prints is always read, so it never waits for us.
//! - Its end is told once, after everything that it said.

use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::process::{self, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::{Context, bail};
use net::cpu::{self, CpuList};
use net::role::RoleOptions;
use records::{Ready, Record, Role, SlowOrder};

use crate::roles;

/// How long a role may take until it says that it is ready. It takes milliseconds; this is for a
/// host that is very busy.
const READY_WITHIN: Duration = Duration::from_secs(20);

/// A role that is up.
#[derive(Debug)]
pub(crate) struct Child {
    process: process::Child,
    stdin: Option<ChildStdin>,
    reader: Option<JoinHandle<()>>,
    listen: Option<SocketAddr>,
}

/// What a child let us know.
#[derive(Debug)]
pub(crate) struct Told {
    /// Who it is.
    pub(crate) role: Role,
    /// What it said.
    pub(crate) news: News,
}

/// See [`Told`].
#[derive(Debug)]
pub(crate) enum News {
    /// A record that some benchmark has a use for.
    Record(Box<Record>),
    /// It has closed its output: it is dead or dying.
    Ended,
}

impl Child {
    /// Starts `role` with `args` on `cpus`, waits for its ready line, and has what it says later
    /// sent to `told`. Its records are read on its own CPUs: reading them takes no time from the
    /// workers, which are never among those.
    ///
    /// # Errors
    /// It could not be started, or ended or was silent where it should have been ready.
    pub(crate) fn start(
        role: Role,
        args: Vec<String>,
        cpus: Option<&CpuList>,
        told: &Sender<Told>,
    ) -> anyhow::Result<Self> {
        let shared =
            RoleOptions { cpus: cpus.cloned(), parent_pid: i32::try_from(process::id()).ok() };
        let mut process = Command::new("/proc/self/exe")
            .args([roles::PLAY, role.name()])
            .args(args)
            .args(shared.to_args())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("failed to start the {role}"))?;
        let (stdin, stdout) = (process.stdin.take(), process.stdout.take());
        // Dropped, and with it the process, when anything below fails.
        let mut child = Self { process, stdin, reader: None, listen: None };
        let (sender, ready) = mpsc::channel();
        let (told, cpus) = (told.clone(), cpus.cloned());
        let name = net::role::thread_name(role, "out");
        child.reader = Some(thread::Builder::new().name(name).spawn(move || {
            if let Some(cpus) = cpus {
                // Errors: it reads wherever it may.
                let _ = cpu::pin_current_thread(cpus.as_slice());
            }
            read(role, stdout, &sender, &told);
        })?);
        match ready.recv_timeout(READY_WITHIN) {
            Ok(ready) => child.listen = ready.listen,
            Err(RecvTimeoutError::Disconnected) => {
                bail!("the {role} ended before it was ready: see its message above")
            }
            Err(RecvTimeoutError::Timeout) => bail!("the {role} is not up within {READY_WITHIN:?}"),
        }
        Ok(child)
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
        let mut line = serde_json::to_string(&order)?;
        line.push('\n');
        let stdin = self.stdin.as_mut().context("nothing leads to the slow client")?;
        stdin.write_all(line.as_bytes()).context("failed to steer the slow client")
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        // Errors: it is dead already.
        let _ = self.process.kill();
        let _ = self.process.wait();
        if let Some(reader) = self.reader.take() {
            let _ = reader.join();
        }
    }
}

/// Hands on records until the stream ends; goes on reading when nobody wants them.
fn read(role: Role, stdout: Option<ChildStdout>, ready: &Sender<Ready>, told: &Sender<Told>) {
    let Some(stdout) = stdout else { return };
    for line in BufReader::new(stdout).lines().map_while(Result::ok) {
        // A line that is torn is the end of a child that was killed.
        match Record::from_line(&line) {
            Ok(Record::Ready(line)) => {
                let _ = ready.send(line);
            }
            Ok(record) if is_of_use(&record) => {
                let _ = told.send(Told { role, news: News::Record(Box::new(record)) });
            }
            _ => {}
        }
    }
    let _ = told.send(Told { role, news: News::Ended });
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
