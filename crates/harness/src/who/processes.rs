//! Which processes are watched: those chosen by id, by name or by port, and all that they fork.
//!
//! Not for: what the processes do; that is the probe's.
//!
//! Invariant: a process is found once and ends once. A number that the kernel gave to another process
//! since is that other process (`starttime` of proc_pid_stat(5)).

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, bail, ensure};
use net::sock_diag::SockDiag;
use probe::process::open_sockets;
use procfs::process::all_processes;
use serde::Serialize;

use super::WhoOptions;

#[cfg(test)]
mod tests;

/// A process, as the kernel's table has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) pid: u32,
    pub(super) parent: u32,
    /// When it was started, in clock ticks since boot.
    pub(super) started: u64,
    pub(super) comm: String,
}

/// What became of a process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Change {
    pub(super) pid: u32,
    pub(super) comm: String,
    pub(super) change: ChangeKind,
}

/// See [`Change`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ChangeKind {
    /// It is watched from now on.
    Found,
    /// It has ended.
    Ended,
    /// It was called this before: it became another program (exec), or took another name.
    Renamed(String),
    /// No thread of it has come out of a poll so far.
    Silent,
}

/// The processes that are watched.
#[derive(Debug)]
pub(super) struct Processes {
    comms: Vec<String>,
    known: BTreeMap<u32, Row>,
}

impl Processes {
    /// Those that are there now, and fit any of what was chosen.
    ///
    /// # Errors
    /// One that was chosen is not there, or cannot be found.
    pub(super) fn find(chosen: &WhoOptions) -> anyhow::Result<Self> {
        let mut table = table()?;
        let mut roots: BTreeSet<u32> = BTreeSet::new();
        for &pid in &chosen.pid {
            let is_there = table.iter().any(|row| row.pid == pid);
            ensure!(is_there, "failed to watch process {pid}: there is none of this id");
            roots.insert(pid);
        }
        for comm in &chosen.comm {
            let named = table.iter().filter(|row| row.comm == *comm).map(|row| row.pid);
            let before = roots.len();
            roots.extend(named);
            ensure!(
                roots.len() > before,
                "failed to find a process of the name {comm}: none is called so in /proc/PID/comm, \
                 which has 15 letters at most"
            );
        }
        for &port in &chosen.port {
            roots.extend(listening_on(port, &table)?);
        }
        // Whoever looks is not to be found by its own name, nor what it started.
        table.retain(|row| row.pid != std::process::id());
        let known = table.iter().filter(|row| roots.contains(&row.pid)).map(keyed).collect();
        let mut processes = Self { comms: chosen.comm.clone(), known };
        processes.take(table);
        Ok(processes)
    }

    /// Looks again: who has ended, who came, who is called otherwise.
    pub(super) fn refresh(&mut self) -> anyhow::Result<Vec<Change>> {
        Ok(self.take(table()?))
    }

    /// Takes in the table as it is now.
    pub(super) fn take(&mut self, table: Vec<Row>) -> Vec<Change> {
        let now: BTreeMap<u32, Row> = table.iter().map(keyed).collect();
        let mut changes = Vec::new();
        self.known.retain(|pid, known| {
            let Some(row) = now.get(pid).filter(|row| row.started == known.started) else {
                changes.push(known.changed(ChangeKind::Ended));
                return false;
            };
            if row.comm != known.comm {
                let before = std::mem::replace(&mut known.comm, row.comm.clone());
                changes.push(known.changed(ChangeKind::Renamed(before)));
            }
            true
        });
        // A child may have children: until no more are found.
        loop {
            let found: Vec<&Row> = table.iter().filter(|row| self.is_new(row)).collect();
            if found.is_empty() {
                return changes;
            }
            for row in found {
                changes.push(row.changed(ChangeKind::Found));
                self.known.insert(row.pid, row.clone());
            }
        }
    }

    fn is_new(&self, row: &Row) -> bool {
        let chosen = self.known.contains_key(&row.parent) || self.comms.contains(&row.comm);
        chosen && !self.known.contains_key(&row.pid) && row.pid != std::process::id()
    }

    /// Their ids.
    pub(super) fn ids(&self) -> Vec<u32> {
        self.known.keys().copied().collect()
    }

    /// A process by its id, while it is there.
    pub(super) fn name(&self, pid: u32) -> Option<&str> {
        self.known.get(&pid).map(|row| row.comm.as_str())
    }
}

impl Row {
    fn changed(&self, change: ChangeKind) -> Change {
        Change { pid: self.pid, comm: self.comm.clone(), change }
    }
}

fn keyed(row: &Row) -> (u32, Row) {
    (row.pid, row.clone())
}

/// All processes that have not ended.
fn table() -> anyhow::Result<Vec<Row>> {
    let all = all_processes().context("failed to read /proc")?;
    let stats = all.flatten().filter_map(|process| process.stat().ok());
    let living = stats.filter(|stat| !matches!(stat.state, 'Z' | 'X'));
    let row = living.filter_map(|stat| {
        Some(Row {
            pid: u32::try_from(stat.pid).ok()?,
            parent: u32::try_from(stat.ppid).ok()?,
            started: stat.starttime,
            comm: stat.comm,
        })
    });
    Ok(row.collect())
}

/// Who has a socket open that listens on `port`, on whatever address.
fn listening_on(port: u16, table: &[Row]) -> anyhow::Result<Vec<u32>> {
    let all = SockDiag::open().and_then(|mut diag| diag.all_listeners());
    let all = all.context("failed to ask the kernel for listeners")?;
    let here = all.iter().filter(|queue| queue.addr.port() == port);
    let inodes: BTreeSet<u64> = here.map(|queue| queue.inode).collect();
    let holds = |row: &&Row| open_sockets(row.pid).any(|inode| inodes.contains(&inode));
    let found: Vec<u32> = table.iter().filter(holds).map(|row| row.pid).collect();
    let failed = format!("failed to find who listens on port {port}");
    if inodes.is_empty() {
        bail!("{failed}: nobody does in this network namespace");
    }
    ensure!(
        !found.is_empty(),
        "{failed}: somebody does, but may not be seen: run this as root, or name the process by --pid"
    );
    Ok(found)
}
