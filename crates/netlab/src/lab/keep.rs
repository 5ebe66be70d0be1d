//! A holder as its lab sees it: a child with a pipe at each end.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::error::LabError;
use crate::net_id::net_path;
use crate::pidfd::{Pidfd, Waited, wait_readable};
use crate::told::{Known, Told};
use crate::{HolderOptions, HostPlan, Program, Stray, strays};

/// A child that holds a namespace. It is told to end, waited for and collected when this is dropped.
#[derive(Debug)]
pub(super) struct Holder {
    name: String,
    child: Child,
    /// Its namespace, once it is ready: it stays the same one even if somebody kills the holder.
    net: Option<File>,
    /// What it printed and is no whole line yet.
    rest: Vec<u8>,
}

/// How long a holder may take to be ready: making a namespace waits for the kernel to have cleaned
/// up after others.
const READY: Duration = Duration::from_secs(20);

/// How long one that was let go may take: longer than its own patience with what is inside.
const END: Duration = Duration::from_secs(10);

/// Its lines are short; whatever prints more is not a holder.
const LONGEST_LINE: usize = 1 << 16;

impl Holder {
    /// Starts it; it works while the next ones are started.
    pub(super) fn start(plan: &HostPlan, program: &Program) -> Result<Self, LabError> {
        let options = HolderOptions {
            name: plan.name.clone(),
            owner: std::process::id(),
            sysctl: plan.sysctls.clone(),
        };
        let started = Command::new(program.path())
            .arg(Program::HOLD)
            .args(options.to_args())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // Ctrl-C is for the owner, which may have records to write first.
            .process_group(0)
            .spawn();
        let failed = |error: io::Error| LabError::Holder {
            host: plan.name.clone(),
            why: format!("failed to run {}: {error}", program.path().display()),
        };
        Ok(Self {
            name: plan.name.clone(),
            child: started.map_err(failed)?,
            net: None,
            rest: Vec::new(),
        })
    }

    /// Waits until its namespace is there and has its settings.
    pub(super) fn wait_until_ready(&mut self) -> Result<(), LabError> {
        let told = self.hear(Instant::now() + READY);
        let host = self.name.clone();
        match told {
            Ok(Told::Ready { .. }) => {
                let pinned = File::open(self.net_path());
                self.net = Some(pinned.map_err(|source| LabError::Enter { host, source })?);
                Ok(())
            }
            Ok(Told::NotAllowed) => Err(LabError::NotAllowed),
            Ok(Told::Sysctl { sysctl, why, known: Known::Here }) => {
                Err(LabError::Sysctl { host, sysctl, why })
            }
            Ok(Told::Sysctl { sysctl, why, known: Known::NotHere }) => {
                let why = format!(
                    "{why}: this kernel does not have it, or has one for the whole machine and \
                     none for a namespace"
                );
                Err(LabError::Sysctl { host, sysctl, why })
            }
            Ok(Told::Failed { why }) => Err(LabError::Holder { host, why }),
            Ok(Told::Ended { .. }) => {
                Err(LabError::Holder { host, why: "it ended before it was ready".into() })
            }
            Err(error) => Err(LabError::Holder { host, why: error.to_string() }),
        }
    }

    /// The host that it holds.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Its process id.
    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The file of its namespace. The number cannot be another process' before it is collected.
    pub(super) fn net_path(&self) -> PathBuf {
        net_path(self.pid())
    }

    /// Tells it to end.
    pub(super) fn let_go(&mut self) {
        drop(self.child.stdin.take());
    }

    /// Waits for its end, by force after `deadline`, and tells who was inside. Once: nobody the second
    /// time.
    pub(super) fn finish(&mut self, deadline: Instant) -> Vec<Stray> {
        self.let_go();
        let told = self.hear(deadline);
        let waited = Pidfd::open(self.pid()).map(|process| process.wait(deadline));
        if waited.ok() != Some(Waited::Ended) {
            // It is our child and not collected: the number is its own.
            let _ = self.child.kill();
        }
        // A child that was killed is collected at once.
        let _ = self.child.wait();
        let net = self.net.take();
        match (told, net) {
            (Ok(Told::Ended { strays }), _) => strays,
            // It could not do its last duty: somebody killed or stopped it.
            (_, Some(net)) => strays::end_all_in(&net, Instant::now() + END),
            (_, None) => Vec::new(),
        }
    }

    /// Its next line.
    fn hear(&mut self, deadline: Instant) -> io::Result<Told> {
        let Some(out) = self.child.stdout.as_mut() else {
            return Err(io::ErrorKind::BrokenPipe.into());
        };
        loop {
            if let Some(end) = self.rest.iter().position(|&byte| byte == b'\n') {
                let line: Vec<u8> = self.rest.drain(..=end).collect();
                return serde_json::from_slice(&line).map_err(|error| {
                    let line = String::from_utf8_lossy(&line);
                    io::Error::other(format!("{:?} is not a holder's word: {error}", line.trim()))
                });
            }
            wait_readable(out, deadline)?;
            let mut piece = [0; 4096];
            let count = out.read(&mut piece)?;
            self.rest.extend(piece.iter().take(count));
            if count == 0 || self.rest.len() > LONGEST_LINE {
                let what = "the program that should hold it ended or is not a holder";
                return Err(io::Error::other(what));
            }
        }
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        // None of it again if it has been collected.
        if !matches!(self.child.try_wait(), Ok(Some(_))) {
            self.finish(Instant::now() + END);
        }
    }
}
