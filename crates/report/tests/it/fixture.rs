//! Runs that never were: records of a seeded simulation, and a summary that agrees with them.
use rand::{RngExt as _, SeedableRng as _, rngs::ChaCha8Rng};
use records::{
    Accepted, Bytes, Dialed, DownloadInterval, Fetch, Hold, ListenerSample, Manifest, Micros,
    MonoNs, Outcome, OutcomeCounts, Phase, StepEnd, Stretch, Summary,
};
use report::{Fate, PageData, RunInput};
use serde_json::json;

/// Length of each phase, ms, and what fills it.
#[derive(Clone, Copy)]
pub(crate) struct Shape {
    pub(crate) workers: u32,
    pub(crate) downloads: u32,
    pub(crate) idle: u64,
    pub(crate) fetches: u64,
    pub(crate) fetch_every_ms: u64,
    /// Longest and shortest step of a download, ms.
    pub(crate) step_ms: (u64, u64),
    pub(crate) seed: u64,
}

impl Shape {
    /// Two workers, four downloads, 80 fetches under load.
    pub(crate) const STARVED: Self = Self {
        workers: 2,
        downloads: 4,
        idle: 30,
        fetches: 80,
        fetch_every_ms: 100,
        step_ms: (60, 2200),
        seed: 7,
    };
    /// About 100,000 steps and 5,000 fetches.
    pub(crate) const LARGE: Self = Self {
        workers: 4,
        downloads: 8,
        idle: 100,
        fetches: 4900,
        fetch_every_ms: 60,
        step_ms: (2, 21),
        seed: 11,
    };
}

/// Records of one run.
pub(crate) struct Run {
    pub(crate) manifest: Manifest,
    pub(crate) summary: Summary,
    pub(crate) fetches: Vec<Fetch>,
    pub(crate) holds: Vec<Hold>,
    pub(crate) stretches: Vec<Stretch>,
    pub(crate) dialed: Vec<Dialed>,
    pub(crate) intervals: Vec<DownloadInterval>,
    pub(crate) accepted: Vec<Accepted>,
    pub(crate) listeners: Vec<ListenerSample>,
    pub(crate) fates: Vec<Fate>,
}

const START_MS: u64 = 1_000_000;
const CAP_MS: u64 = 1000;

fn at(ms: u64) -> MonoNs {
    MonoNs((START_MS + ms) * 1_000_000)
}

fn port(base: u16, number: u64) -> u16 {
    base + u16::try_from(number % 20_000).expect("small")
}

impl Run {
    /// A run of this shape: workers do one step after the other, fetches wait.
    pub(crate) fn of(shape: Shape) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(shape.seed);
        let idle_ms = shape.idle * 100;
        let measure_ms = shape.fetches * shape.fetch_every_ms;
        let end_ms = idle_ms + 200 + measure_ms + CAP_MS;
        let mut run = Self::empty(shape, idle_ms, measure_ms);
        for slot in 0..shape.downloads {
            let client_port = port(50_000, u64::from(slot));
            run.dialed.push(Dialed { slot, client_port, at_ns: at(idle_ms) });
            let worker = slot % shape.workers;
            run.accept(worker, client_port, idle_ms);
        }
        for worker in 0..shape.workers {
            run.steps(&mut rng, shape, worker, idle_ms, end_ms);
        }
        run.all_fetches(&mut rng, shape, idle_ms);
        for tick in 0..measure_ms / 200 {
            let from = idle_ms + 200 + tick * 200;
            let bytes = (0..shape.downloads).map(|_| Bytes(rng.random_range(0..90_000_000)));
            let bytes = bytes.collect();
            run.intervals.push(DownloadInterval {
                start_ns: at(from),
                end_ns: at(from + 200),
                bytes,
            });
            for worker in 0..u64::from(shape.workers) {
                let (inode, queue) = (100 + worker, rng.random_range(0..12));
                run.listeners.push(ListenerSample { at_ns: at(from), inode, queue, limit: 511 });
            }
        }
        run.fates = run.overlaps();
        run.summary = run.summarised("starved");
        run
    }

    fn empty(shape: Shape, idle_ms: u64, measure_ms: u64) -> Self {
        let measured = idle_ms + 200;
        let phases = json!([
            {"phase": "setup", "start_ns": at(0).0, "end_ns": at(10).0},
            {"phase": "idle", "start_ns": at(10).0, "end_ns": at(idle_ms).0},
            {"phase": "load", "start_ns": at(idle_ms).0, "end_ns": at(measured).0},
            {"phase": "measure", "start_ns": at(measured).0, "end_ns": at(measured + measure_ms).0},
            {"phase": "drain", "start_ns": at(measured + measure_ms).0,
             "end_ns": at(measured + measure_ms + CAP_MS).0},
        ]);
        let manifest = serde_json::from_value(json!({
            "schema_version": 1, "version": "0.1.0", "command": ["turnstile", "--reuseport"],
            "started_at": "2026-11-21T06:10:14Z", "arm": arm(shape), "idle_us": idle_ms * 1000,
            "measure_us": measure_ms * 1000, "hold_us": 10_000,
            "host": {"kernel": "6.18", "cpu_model": "a CPU", "cpus": 2, "worker_cpus": [0],
                "load_cpus": [1], "memory_kib": 4096, "sysctls": {}, "stolen_ms": 0},
            "processes": [], "phases": phases, "faults": [],
            "listeners": (0..shape.workers).map(|w| 100 + w).collect::<Vec<_>>(),
        }))
        .expect("a manifest");
        let summary = serde_json::from_value(json!({
            "schema_version": 1, "verdict": "inconclusive", "verdict_reasons": [], "caveats": [],
            "arm": arm(shape), "idle": none(), "measure": none(),
            "slow": {"downloads": shape.downloads, "bytes": 0, "bytes_per_sec": 0, "completed": 0,
                "broken": 0, "slot_bytes_per_sec": [], "completed_us": [], "workers_holding": 0},
            "proxy": {"status_counts": {}, "status_outcomes": {}, "unlogged": {},
                "early_closes": 0, "session_ends": {}, "workers": []},
        }))
        .expect("a summary");
        Self {
            manifest,
            summary,
            fetches: Vec::new(),
            holds: Vec::new(),
            stretches: Vec::new(),
            dialed: Vec::new(),
            intervals: Vec::new(),
            accepted: Vec::new(),
            listeners: Vec::new(),
            fates: Vec::new(),
        }
    }

    fn accept(&mut self, worker: u32, client_port: u16, ms: u64) {
        let session = self.accepted.len() as u64;
        self.accepted.push(Accepted { worker, session, client_port, at_ns: at(ms) });
    }

    fn steps(&mut self, rng: &mut ChaCha8Rng, shape: Shape, worker: u32, from: u64, end: u64) {
        let mine: Vec<u32> = (0..shape.downloads).filter(|s| s % shape.workers == worker).collect();
        let mut now = from;
        let mut turn = 0;
        while now < end && !mine.is_empty() {
            turn += 1;
            let slot = mine[rng.random_range(0..mine.len())];
            // Few are long, most are short.
            let spread: u64 = rng.random_range(0_u64..1000).pow(3);
            let (low, high) = shape.step_ms;
            let long = shape.fetches > 1000 && turn % 3000 == 1500;
            let length = if long { 1500 } else { low + spread * (high - low) / 1_000_000_000 };
            self.holds.push(Hold {
                worker,
                turn,
                session: u64::from(slot),
                client_port: port(50_000, u64::from(slot)),
                start_ns: at(now),
                end_ns: at(now + length),
                bytes: Bytes(length * 700_000),
                reads: length * 170,
                ended_by: StepEnd::DownstreamFull,
            });
            let pause = rng.random_range(1..8);
            self.stretches.push(Stretch {
                worker,
                start_ns: at(now + length),
                end_ns: at(now + length + pause),
                poll_us: Micros(pause * 100),
                cpu_us: Micros(pause * 500),
                turns: 3,
                steps: 5,
                accepts: 1,
            });
            now += length + pause;
        }
    }

    fn all_fetches(&mut self, rng: &mut ChaCha8Rng, shape: Shape, idle_ms: u64) {
        for number in 0..shape.idle {
            let worker = rng.random_range(0..shape.workers);
            self.fetch(Phase::Idle, number, worker, number * 100 + 10, 4 + rng.random_range(0..6));
        }
        for number in 0..shape.fetches {
            let worker = rng.random_range(0..shape.workers);
            let start = idle_ms + 200 + number * shape.fetch_every_ms;
            let busy = self.holds.iter().filter(|hold| hold.worker == worker);
            let mut until = at(start);
            // Two steps stand between a fetch and its answer.
            for _ in 0..2 {
                let next = busy.clone().find(|hold| hold.start_ns <= until && hold.end_ns > until);
                until =
                    next.map_or(until, |hold| hold.end_ns + std::time::Duration::from_millis(8));
            }
            let waited = until.micros_since(at(start)).0 / 1000 + 8;
            self.fetch(Phase::Measure, number, worker, start, waited);
        }
    }

    fn fetch(&mut self, phase: Phase, number: u64, worker: u32, start: u64, waits: u64) {
        let client_port = port(20_000, self.fetches.len() as u64);
        let served = waits < CAP_MS;
        let total = Micros(if served { waits * 1000 } else { CAP_MS * 1000 + 400 });
        self.fetches.push(Fetch {
            fetch: number,
            phase,
            intended_ns: at(start),
            start_ns: at(start),
            client_port: Some(client_port),
            connect_us: Some(Micros(120)),
            first_byte_us: served.then_some(total),
            total_us: total,
            response_us: total,
            bytes: Bytes(if served { 3 << 20 } else { 0 }),
            status: served.then_some(200),
            outcome: if served { Outcome::Ok } else { Outcome::TimeoutNoByte },
        });
        self.accept(worker, client_port, start + 1);
    }

    /// What held each fetch, as the steps of others that overlap it on its worker.
    fn overlaps(&self) -> Vec<Fate> {
        let fate = |(place, fetch): (usize, &Fetch)| {
            let accepted =
                self.accepted.iter().filter(|a| Some(a.client_port) == fetch.client_port);
            let worker = accepted.map(|accepted| accepted.worker).next()?;
            let (start, end) = (fetch.start_ns, fetch.start_ns + fetch.total_us.as_duration());
            let common = |hold: &Hold| hold.end_ns.min(end).micros_since(hold.start_ns.max(start));
            let holds = self.holds.iter().enumerate();
            let held = holds
                .filter(|(_, hold)| hold.worker == worker && hold.start_ns < end)
                .filter(|(_, hold)| hold.end_ns > start)
                .map(|(at, hold)| (at, common(hold)))
                .collect();
            Some(Fate { fetch: place, worker: Some(worker), held, causes: Vec::new() })
        };
        self.fetches.iter().enumerate().filter_map(fate).collect()
    }

    /// A summary of the fetches as they are, with this verdict.
    pub(crate) fn summarised(&self, verdict: &str) -> Summary {
        let mut value = serde_json::to_value(&self.summary).expect("a summary");
        value["verdict"] = json!(verdict);
        value["verdict_reasons"] = json!(["so the fixture says"]);
        for (name, phase) in [("idle", Phase::Idle), ("measure", Phase::Measure)] {
            let fetches: Vec<&Fetch> = self.fetches.iter().filter(|f| f.phase == phase).collect();
            let outcomes: OutcomeCounts = fetches.iter().map(|fetch| fetch.outcome).collect();
            let mut times: Vec<u64> = fetches.iter().map(|fetch| fetch.total_us.0).collect();
            times.sort_unstable();
            let rank = |per_mille: usize| {
                let place = times.len() * per_mille / 1000;
                times.get(place.min(times.len().saturating_sub(1))).copied().unwrap_or(0)
            };
            let latency = json!({"min": rank(0), "p50": rank(500), "p90": rank(900),
                "p99": rank(990), "max": rank(1000), "mean": 0});
            value[name] = json!({"attempts": outcomes.attempts(), "latency_us": latency,
                "response_us": latency, "lag_us": latency, "censored": outcomes.failed(),
                "failed_share": outcomes.failed_share().unwrap_or(0.0), "outcomes": outcomes});
        }
        if !self.fates.is_empty() {
            value["causes"] = json!([
                {"cause": "held_by_step", "share_of_late_time": 0.97, "time_us": 61_854_809,
                 "fetches": 80},
                {"cause": "unexplained", "share_of_late_time": 0.03, "time_us": 1_900_000,
                 "fetches": 0}]);
        }
        serde_json::from_value(value).expect("a summary")
    }

    pub(crate) fn input(&self) -> RunInput<'_> {
        RunInput {
            manifest: &self.manifest,
            summary: &self.summary,
            fetches: &self.fetches,
            holds: &self.holds,
            holders: &[],
            stretches: &self.stretches,
            dialed: &self.dialed,
            intervals: &self.intervals,
            accepted: &self.accepted,
            sessions: &[],
            listeners: &self.listeners,
            sockets: &[],
            absences: &[],
            blocked: &[],
            fates: &self.fates,
        }
    }

    pub(crate) fn data(&self) -> PageData {
        PageData::of(self.input())
    }

    /// Every fetch of both phases ends so.
    pub(crate) fn all_end(mut self, outcome: Outcome, verdict: &str) -> Self {
        for fetch in &mut self.fetches {
            fetch.outcome = outcome;
            if outcome == Outcome::Ok {
                fetch.total_us = Micros(fetch.total_us.0.min(9_000));
            }
        }
        self.fates = self.overlaps();
        self.summary.causes.clear();
        self.summary = self.summarised(verdict);
        self
    }

    /// With downloads that moved, by about as much in every run.
    pub(crate) fn with_downloads(mut self) -> Self {
        let bytes: u64 =
            self.intervals.iter().flat_map(|interval| &interval.bytes).map(|b| b.0).sum();
        let ms = self.intervals.len() as u64 * 200;
        self.summary.slow.bytes = Bytes(bytes);
        self.summary.slow.bytes_per_sec = records::BytesPerSec(bytes * 1000 / ms.max(1));
        self
    }

    /// What is left of a run whose workers nobody saw.
    pub(crate) fn unseen(mut self) -> Self {
        self.holds.clear();
        self.stretches.clear();
        self.accepted.clear();
        self.listeners.clear();
        self.fates.clear();
        self.manifest.visibility = records::Visibility::ClientsOnly;
        self.summary.visibility = records::Visibility::ClientsOnly;
        self.summary.causes.clear();
        self.summary = self.summarised("starved");
        self.summary.causes.clear();
        self
    }

    /// A run that was cut short while it was idle.
    pub(crate) fn interrupted(mut self) -> Self {
        let unseen = self.fetches.iter().position(|fetch| fetch.phase == Phase::Measure);
        self.fetches.truncate(unseen.unwrap_or(0));
        self.holds.clear();
        self.intervals.clear();
        self.dialed.clear();
        self.fates.clear();
        self.manifest.phases.truncate(2);
        if let Some(last) = self.manifest.phases.last_mut() {
            last.end_ns = None;
        }
        self.manifest.interrupted = Some("SIGINT".to_owned());
        self.summary.causes.clear();
        self.summary = self.summarised("inconclusive");
        self.summary.interrupted = Some("SIGINT".to_owned());
        self
    }
}

fn none() -> serde_json::Value {
    let zero = json!({"min": 0, "p50": 0, "p90": 0, "p99": 0, "max": 0, "mean": 0});
    json!({"attempts": 0, "outcomes": {}, "latency_us": zero, "response_us": zero,
        "failed_share": 0.0, "lag_us": zero})
}

fn arm(shape: Shape) -> serde_json::Value {
    json!({"reuseport": true, "rcvbuf": null, "sndbuf": null, "listen_rcvbuf": null,
        "listen_sndbuf": null, "workers": shape.workers, "read_policy": "drain", "buffer": 4096,
        "backlog": 511, "multi_accept": false, "slow": shape.downloads,
        "slow_size": 2_147_483_648_u64,
        "sink": "trunc", "read_rate": null, "place": "spread", "arrivals": "10/s",
        "fetch_size": 3_145_728, "cap_us": CAP_MS * 1000, "pin": "auto"})
}
