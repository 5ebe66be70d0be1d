//! Runs for tests, built up from what happened in them.
//!
//! The clock starts at 1,000 s; the phases are idle 0 to 4 s, load 4 to 5 s, measure 5 to 13 s, as
//! seen from there. Whatever a run does not say is as in a good run on two CPUs.

mod told;

use std::collections::BTreeMap;
use std::time::Duration;

use records::{
    Accepted, Arm, Bytes, Dialed, Download, DownloadEnd, DownloadInterval, Effective, Fault, Fetch,
    Hold, Host, LogTimes, LoopTurn, Manifest, Micros, MonoNs, Outcome, Phase, PhaseSpan, Role,
    RoleProcess, RunRecords, Session, SessionEnd, Side, SocketSetting, StepEnd, WorkerSample,
    WorkerTotals, from_words,
};

/// Where the clock of every fixture starts.
const START: MonoNs = MonoNs(1_000_000_000_000);
/// Length of the measure phase.
pub const MEASURE: Duration = Duration::from_secs(8);

/// `ms` after the start of the run.
pub fn at_ms(ms: u64) -> MonoNs {
    START + Duration::from_millis(ms)
}

/// A run in the making.
pub struct Run {
    /// What it has recorded so far.
    pub records: RunRecords,
    port: u16,
    sessions: u64,
}

impl Default for Run {
    fn default() -> Self {
        Self::new()
    }
}

impl Run {
    /// A run of two workers with a listener each and no download, of which nothing is told yet.
    pub fn new() -> Self {
        Self { records: RunRecords::new(manifest()), port: 40_000, sessions: 0 }
    }

    /// A good run: 40 idle fetches of 5 ms, two workers that were sampled.
    pub fn good() -> Self {
        let mut run = Self::new();
        run.fetches(Phase::Idle, 40, Outcome::Ok, 5_000);
        for worker in 0..2 {
            run.worker(worker);
        }
        run
    }

    /// A good run with these fetches under load, and a download on each worker.
    pub fn loaded(measured: &[(u64, Outcome, u64)]) -> Self {
        let mut run = Self::good();
        run.download(0, 0, 1_000_000);
        run.download(1, 1, 1_000_000);
        for &(count, outcome, total_us) in measured {
            run.fetches(Phase::Measure, count, outcome, total_us);
        }
        run
    }

    /// The starved run of the main case: both workers hold two downloads each.
    pub fn starved() -> Self {
        let mut run = Self::good();
        for slot in 0..4 {
            run.download(slot, slot % 2, 240_000_000);
        }
        run.fetches(Phase::Measure, 18, Outcome::Ok, 31_000);
        run.fetches(Phase::Measure, 44, Outcome::TimeoutNoByte, 1_004_000);
        run.fetches(Phase::Measure, 16, Outcome::TimeoutPartial, 1_003_000);
        run.fetches(Phase::Measure, 2, Outcome::Reset, 912_000);
        run.hold(0, 5_900, 930, Bytes::mib(491));
        run.hold(1, 8_000, 2_400, Bytes(2_410_000_000));
        run
    }

    /// Its toggles, to be changed.
    pub fn arm(&mut self) -> &mut Arm {
        &mut self.records.manifest.arm
    }

    /// The command is made to fit the arm.
    pub fn command(&mut self, words: &str) {
        self.records.manifest.command = words.split(' ').map(str::to_owned).collect();
    }

    /// `count` fetches of a phase that all ended alike after `total_us`, each with the session that
    /// such a fetch has; workers take them in turn.
    pub fn fetches(&mut self, phase: Phase, count: u64, outcome: Outcome, total_us: u64) {
        let from = if phase == Phase::Idle { at_ms(100) } else { at_ms(5_050) };
        for _ in 0..count {
            let of_phase = self.records.fetches.iter().filter(|fetch| fetch.phase == phase).count();
            let start_ns = from + Duration::from_millis(of_phase as u64 * 97);
            let fetch = self.next_fetch(phase, start_ns, outcome, Micros(total_us));
            self.fetch(fetch);
        }
    }

    /// The fetch to come, that starts when it is meant to and gets nothing back.
    fn next_fetch(
        &self,
        phase: Phase,
        start_ns: MonoNs,
        outcome: Outcome,
        total_us: Micros,
    ) -> Fetch {
        Fetch {
            fetch: self.records.fetches.len() as u64,
            phase,
            intended_ns: start_ns,
            start_ns,
            connect_us: Some(Micros(80)),
            total_us,
            response_us: total_us,
            outcome,
            ..Fetch::default()
        }
    }

    /// One fetch, on a port of its own, with the session that fits its outcome.
    fn fetch(&mut self, mut fetch: Fetch) {
        self.port += 1;
        fetch.client_port = Some(self.port);
        let (status, end, rt_ms) = match fetch.outcome {
            Outcome::Ok => (200, SessionEnd::Completed, fetch.total_us.0 / 1_000),
            Outcome::TimeoutPartial | Outcome::Reset => (200, SessionEnd::ClientClosed, 760),
            Outcome::BadStatus => (502, SessionEnd::UpstreamUnreachable, 0),
            _ => (499, SessionEnd::ClientClosed, 0),
        };
        if status == 200 {
            fetch.status = Some(200);
        }
        let worker = u32::try_from(fetch.fetch % 2).expect("0 or 1");
        let accepted_ns = fetch.start_ns + Duration::from_micros(60);
        self.session(worker, self.port, accepted_ns, fetch.total_us, status, end, rt_ms);
        self.records.fetches.push(fetch);
    }

    /// A session and its accept.
    #[expect(clippy::too_many_arguments, reason = "a test's literal, spelt out once")]
    pub fn session(
        &mut self,
        worker: u32,
        client_port: u16,
        accepted_ns: MonoNs,
        length: Micros,
        status: u16,
        end: SessionEnd,
        rt_ms: u64,
    ) {
        let session = self.sessions;
        self.sessions += 1;
        let at_ns = accepted_ns;
        self.records.accepted.push(Accepted { worker, session, client_port, at_ns });
        self.records.sessions.push(Session {
            worker,
            session,
            client_port,
            request: "GET /bytes/3145728 HTTP/1.1".to_owned(),
            status,
            end,
            accepted_ns,
            closed_ns: accepted_ns + length.as_duration(),
            log: LogTimes { rt_ms, ..LogTimes::default() },
            steps: 1,
            longest_step_us: Micros(10),
            ..Session::default()
        });
    }

    /// A download in `slot`, held by `worker` from the load to the end, at a constant rate.
    pub fn download(&mut self, slot: u32, worker: u32, bytes_per_sec: u64) {
        self.port += 1;
        let client_port = self.port;
        let manifest = &mut self.records.manifest;
        manifest.arm.load.slow = manifest.arm.load.slow.max(slot + 1);
        self.records.dialed.push(Dialed { slot, client_port, at_ns: at_ms(4_010) });
        let accepted_ns = at_ms(4_000) + Duration::from_micros(9_900);
        let (length, end) = (Micros(9_000_000), SessionEnd::ClientClosed);
        self.session(worker, client_port, accepted_ns, length, 200, end, 9_000);
        self.records.downloads.push(Download {
            slot,
            ordinal: 0,
            client_port: Some(client_port),
            start_ns: at_ms(4_020),
            first_byte_us: Some(Micros(400)),
            total_us: Micros(8_985_000),
            bytes: Bytes(bytes_per_sec * 9),
            end: DownloadEnd::Stopped,
        });
        self.bytes(slot, bytes_per_sec);
    }

    /// Intervals of half a second in which `slot` receives at a constant rate.
    pub fn bytes(&mut self, slot: u32, bytes_per_sec: u64) {
        let slot = slot as usize;
        if self.records.intervals.is_empty() {
            self.records.intervals = (0..18)
                .map(|half| DownloadInterval {
                    start_ns: at_ms(4_000 + half * 500),
                    end_ns: at_ms(4_500 + half * 500),
                    bytes: Vec::new(),
                })
                .collect();
        }
        for interval in &mut self.records.intervals {
            if interval.bytes.len() <= slot {
                interval.bytes.resize(slot + 1, Bytes(0));
            }
            interval.bytes[slot] = Bytes(bytes_per_sec / 2);
        }
    }

    /// Samples and totals of a worker that was 62 % on its CPU.
    pub fn worker(&mut self, worker: u32) {
        for tick in 0..=13 {
            let (ms, ns) = (tick * 1_000, tick * 1_000_000_000);
            self.records.samples.push(WorkerSample {
                worker,
                at_ns: at_ms(ms),
                user_ms: ms * 4 / 100,
                system_ms: ms * 58 / 100,
                run_ns: Some(ns / 100 * 62),
                run_wait_ns: Some(ns / 1_000 * 13),
                voluntary_switches: tick * 179,
                involuntary_switches: tick * 50,
            });
        }
        self.records.totals.push(WorkerTotals {
            worker,
            at_ns: at_ms(14_000),
            sessions: 60,
            turns: 900,
            steps: 4_200,
            longest_step_us: Micros(3_100),
            longest_step_bytes: Bytes::kib(940),
            longest_turn_us: Micros(3_400),
            ..WorkerTotals::default()
        });
    }

    /// A hold that starts `start_ms` into the run, alone in its loop turn.
    pub fn hold(&mut self, worker: u32, start_ms: u64, length_ms: u64, bytes: Bytes) {
        let (start_ns, end_ns) = (at_ms(start_ms), at_ms(start_ms + length_ms));
        self.records.holds.push(Hold {
            worker,
            turn: 7,
            session: 3,
            client_port: 40_001,
            start_ns,
            end_ns,
            bytes,
            reads: bytes.0 / 4_096,
            ended_by: StepEnd::UpstreamEmpty,
        });
        let turn = LoopTurn { worker, turn: 7, start_ns, end_ns, events: 1, steps: 1, accepts: 0 };
        self.records.turns.push(turn);
    }

    /// Something went wrong in the measure phase.
    pub fn fault(&mut self, side: Side, message: &str) {
        let message = message.to_owned();
        self.records.manifest.faults.push(Fault { side, phase: Phase::Measure, message });
    }

    /// The run was cut short `ms` after its start.
    pub fn interrupt(&mut self, ms: u64) {
        self.records.manifest.interrupted = Some("SIGINT".to_owned());
        let end = at_ms(ms);
        self.records.manifest.phases.retain(|span| span.start_ns < end);
        for span in &mut self.records.manifest.phases {
            span.end_ns = span.end_ns.filter(|&at| at <= end);
        }
        self.records.fetches.retain(|fetch| fetch.start_ns < end);
        self.records.intervals.retain(|interval| interval.end_ns <= end);
        self.records.samples.retain(|sample| sample.at_ns <= end);
    }

    /// A socket option of the proxy, as asked for and as read back.
    pub fn socket(&mut self, name: &str, requested: Option<Bytes>, effective: Bytes) {
        let name = name.to_owned();
        let setting = SocketSetting { name, requested, effective };
        self.records.manifest.processes[0].effective.sockets.push(setting);
    }
}

fn manifest() -> Manifest {
    let phases = [
        (Phase::Setup, 0, 0),
        (Phase::Idle, 0, 4_000),
        (Phase::Load, 4_000, 5_000),
        (Phase::Measure, 5_000, 13_000),
        (Phase::Drain, 13_000, 14_000),
    ];
    let arm = from_words::<Arm>(&["--reuseport", "--slow", "0"]).on(None);
    Manifest {
        command: ["turnstile", "--reuseport"].map(str::to_owned).to_vec(),
        started_at: "2026-09-21T10:00:00Z".to_owned(),
        host: Host {
            kernel: "6.1.0".to_owned(),
            cpus: 2,
            worker_cpus: vec![0],
            load_cpus: vec![1],
            sysctls: BTreeMap::from([("net.core.rmem_max".to_owned(), "212992".to_owned())]),
            ..Host::default()
        },
        processes: vec![RoleProcess {
            role: Role::Proxy,
            pid: 100,
            command: vec!["turnstile".to_owned(), "proxy".to_owned()],
            effective: Effective::default(),
        }],
        phases: phases
            .into_iter()
            .map(|(phase, start, end)| PhaseSpan {
                phase,
                start_ns: at_ms(start),
                end_ns: Some(at_ms(end)),
            })
            .collect(),
        ..Manifest::begun(arm, Micros(4_000_000), MEASURE.into(), Micros(10_000))
    }
}
