//! A role in a process of its own: this binary again, with the role's name as first argument.
//!
//! Invariants:
//! - A child is ready when [`Child::start`] returns, and dead and reaped when it is dropped. It
//!   also dies with the thread that started it.
//! - What it prints is always read, so it never waits for us.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{self, ChildStdout, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::{Context, bail};
use net::cpu::CpuList;
use net::role::RoleOptions;
use records::{Record, Role};

/// How long a role may take until it says that it is ready. It takes milliseconds; this is for a
/// host that is very busy.
const READY_WITHIN: Duration = Duration::from_secs(20);

/// A role that is up.
#[derive(Debug)]
pub(crate) struct Child {
    process: process::Child,
    reader: Option<JoinHandle<()>>,
    listen: Option<SocketAddr>,
}

impl Child {
    /// Starts `role` with `args` on `cpus` and waits for its ready line. What it says later is
    /// received from the second value.
    ///
    /// # Errors
    /// It could not be started, or ended or was silent where it should have been ready.
    pub(crate) fn start(
        role: Role,
        args: Vec<String>,
        cpus: Option<&CpuList>,
    ) -> anyhow::Result<(Self, Receiver<Record>)> {
        let shared =
            RoleOptions { cpus: cpus.cloned(), parent_pid: i32::try_from(process::id()).ok() };
        let mut process = Command::new("/proc/self/exe")
            .arg(role.name())
            .args(args)
            .args(shared.to_args())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("failed to start the {role}"))?;
        let stdout = process.stdout.take();
        // Dropped, and with it the process, when anything below fails.
        let mut child = Self { process, reader: None, listen: None };
        let (sender, records) = mpsc::channel();
        let name = net::role::thread_name(role, "out");
        child.reader = Some(thread::Builder::new().name(name).spawn(|| read(stdout, sender))?);
        match records.recv_timeout(READY_WITHIN) {
            Ok(Record::Ready(ready)) => child.listen = ready.listen,
            Ok(other) => bail!("the {role} said {other:?} before it was ready"),
            Err(RecvTimeoutError::Disconnected) => {
                bail!("the {role} ended before it was ready: see its message above")
            }
            Err(RecvTimeoutError::Timeout) => bail!("the {role} is not up within {READY_WITHIN:?}"),
        }
        Ok((child, records))
    }

    /// Where it accepts connections.
    ///
    /// # Errors
    /// It is a client.
    pub(crate) fn listen(&self) -> anyhow::Result<SocketAddr> {
        self.listen.context("the ready line names no address to connect to")
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
fn read(stdout: Option<ChildStdout>, records: Sender<Record>) {
    let Some(stdout) = stdout else { return };
    for line in BufReader::new(stdout).lines().map_while(Result::ok) {
        // A line that is torn is the end of a child that was killed.
        if let Ok(record) = Record::from_line(&line) {
            let _ = records.send(record);
        }
    }
}
