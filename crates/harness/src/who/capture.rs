//! Holds kept as runs, which `explain` and `report` read.
//!
//! Invariant: what was not seen has no record. Nothing was asked of the server, so such a run has no
//! fetches and no verdict: it is the hold, its turn, where its time went, and the accept queues beside it.

use std::collections::VecDeque;
use std::fmt;
use std::fs;
use std::path::PathBuf;

use jiff::Timestamp;
use net::sock_diag::AcceptQueue;
use records::{
    Arm, Hold, ListenerSample, LoopTurn, Manifest, Micros, MonoNs, Phase, PhaseSpan, Program,
    ProxyKind, Record, SchedSample, StepEnd, Stretch, Visibility, Watched,
};
use serde::Serialize;
use trial::cpu_plan::CpuPlan;
use trial::host;
use trial::run_dir::RunWriter;

use super::holder::OwnEnd;
use super::ledger::Told;
use super::queues::Look;
use super::words;

#[cfg(test)]
mod tests;

/// Runs of one watch: each takes 1 MB at most.
const RUNS: usize = 20;
/// Samples of accept queues that are kept for a hold; of more, the last. 17 minutes of two listeners.
const SAMPLES: usize = 10_000;

/// What became of a hold that was to be kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "state")]
pub(super) enum Captured {
    /// It is a run now; `more`: the next will be too.
    Kept { run_dir: String, more: bool },
    /// It could not be written.
    Failed { problem: String },
}

impl fmt::Display for Captured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kept { run_dir, more: true } => write!(f, "kept as {run_dir}"),
            Self::Kept { run_dir, more: false } => {
                write!(f, "kept as {run_dir}; that was the last: no more are kept in this watch")
            }
            Self::Failed { problem } => {
                write!(f, "failed to keep the hold, and keeps no more: {problem}")
            }
        }
    }
}

/// Keeps long holds.
#[derive(Debug)]
pub(super) struct Capture {
    at_least: Micros,
    runs_dir: PathBuf,
    left: usize,
    queues: VecDeque<ListenerSample>,
}

impl Capture {
    /// Of this length or longer.
    pub(super) fn new(at_least: Micros, runs_dir: PathBuf) -> Self {
        Self { at_least, runs_dir, left: RUNS, queues: VecDeque::new() }
    }

    /// Takes note of the queues.
    pub(super) fn look(&mut self, at_ns: MonoNs, look: &Look) {
        let sample = |&AcceptQueue { inode, queue, limit, .. }: &AcceptQueue| ListenerSample {
            at_ns,
            inode,
            queue,
            limit,
        };
        self.queues.extend(look.listeners.iter().map(sample));
        let beyond = self.queues.len().saturating_sub(SAMPLES);
        self.queues.drain(..beyond);
    }

    /// Nobody is held any more.
    pub(super) fn forget(&mut self) {
        self.queues.clear();
    }

    /// Keeps a hold, if it is long enough and there is room.
    pub(super) fn keep(&mut self, told: &Told) -> Option<Captured> {
        if told.hold.length_us < self.at_least || self.left == 0 {
            return None;
        }
        self.left -= 1;
        Some(match self.write(told) {
            Ok(run_dir) => Captured::Kept { run_dir, more: self.left > 0 },
            Err(error) => {
                self.left = 0;
                Captured::Failed { problem: error.to_string() }
            }
        })
    }

    fn write(&self, told: &Told) -> anyhow::Result<String> {
        let mut run = RunWriter::create(&self.runs_dir, Timestamp::now(), "held")?;
        for record in records(told, &self.queues) {
            run.file(&record)?;
        }
        run.flush()?;
        run.manifest(&manifest(told))?;
        Ok(run.dir().display().to_string())
    }
}

/// When it began and ended.
fn span(told: &Told) -> (MonoNs, MonoNs) {
    let began = told.hold.began_ns;
    (began, MonoNs(began.0.saturating_add(told.hold.length_us.0.saturating_mul(1_000))))
}

fn manifest(told: &Told) -> Manifest {
    let ((start_ns, end_ns), hold) = (span(told), &told.hold);
    let mut arm = Arm::default();
    arm.load.slow = 0;
    arm.proxy.workers = 1;
    let name = hold.comm.to_ascii_lowercase();
    arm.server.kind = name.parse().unwrap_or_else(|_| ProxyKind::Server("server".to_owned()));
    let path = fs::read_link(format!("/proc/{}/exe", hold.pid)).unwrap_or_default();
    let words = words::hold(told).join("; ");
    Manifest {
        command: std::env::args().collect(),
        started_at: Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        host: host::read(&CpuPlan::default()),
        phases: vec![PhaseSpan { phase: Phase::Measure, start_ns, end_ns: Some(end_ns) }],
        workers: Some(1),
        listeners: told.listeners.clone(),
        program: Some(Program { name, version: String::new(), path }),
        visibility: Visibility::Traced,
        captured: Some(words.split_whitespace().collect::<Vec<_>>().join(" ")),
        ..Manifest::begun(arm, Micros(0), hold.length_us, hold.length_us)
    }
}

/// The worker is number 0, its turn the first, the holder's session number 0.
fn records(told: &Told, queues: &VecDeque<ListenerSample>) -> Vec<Record> {
    let ((start_ns, end_ns), hold) = (span(told), &told.hold);
    let client = told.by.as_ref().filter(|by| by.own_end == OwnEnd::Server);
    let client = client.and_then(|by| by.client.rsplit(':').next()?.parse::<u16>().ok());
    let steps = u32::from(client.is_some());
    let mut records = Vec::new();
    if let Some(client_port) = client {
        let others = hold.moved.iter().filter(|moved| moved.remote.port() != client_port);
        // How many reads there were is not known, and why it ended neither.
        let (bytes, ended_by) = (others.map(|moved| moved.read).sum(), StepEnd::Unknown);
        let hold = Hold { client_port, start_ns, end_ns, ..Hold::default() };
        records.push(Record::Hold(Hold { turn: 1, bytes, ended_by, ..hold }));
    }
    let turn = LoopTurn { turn: 1, start_ns, end_ns, steps, ..LoopTurn::default() };
    let (cpu_us, turns) = (hold.on_cpu_us, 1);
    let stretch = Stretch { start_ns, end_ns, cpu_us, turns, steps, ..Stretch::default() };
    records.extend([Record::LoopTurn(turn), Record::Stretch(stretch)]);
    let none = (start_ns, Micros(0), Micros(0));
    for (at_ns, run, wait) in [none, (end_ns, hold.on_cpu_us, hold.runnable_us)] {
        let (run_ns, run_wait_ns) = (run.0.saturating_mul(1_000), wait.0.saturating_mul(1_000));
        let who = Watched::Worker(0);
        records.push(Record::SchedSample(SchedSample { who, at_ns, run_ns, run_wait_ns }));
    }
    let in_it = |sample: &&ListenerSample| {
        (start_ns..=end_ns).contains(&sample.at_ns) && told.listeners.contains(&sample.inode)
    };
    records.extend(queues.iter().filter(in_it).copied().map(Record::ListenerSample));
    records
}
