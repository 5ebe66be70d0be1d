//! Runs that never were, records of a seeded simulation; and campaigns of them.

use std::time::Duration;

use analysis::Analysis;
use analysis::guard::rounds::Ran;
use analysis::guard::{Comparison, arm_row};
use rand::{RngExt as _, SeedableRng as _, rngs::ChaCha8Rng};
use records::{
    ArmSpec, Bytes, Dialed, DownloadInterval, Fetch, Hold, ListenerSample, Micros, MonoNs, Outcome,
    Phase, PhaseSpan, RunRecords, SessionEnd, Side, StepEnd, Stretch, Summary, Verdict, Visibility,
};
use report::{Arm, Campaign, Case, CaseArm, CaseFigure};
use testkit::fixture::at_ms as at;

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

/// One run.
pub(crate) struct Run(testkit::fixture::Run);

const CAP_MS: u64 = 1000;

fn port(base: u16, number: u64) -> u16 {
    base + u16::try_from(number % 20_000).expect("small")
}

impl Run {
    /// A run of this shape: workers do one step after the other, fetches wait.
    pub(crate) fn of(shape: Shape) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(shape.seed);
        let idle_ms = shape.idle * 100;
        let measured = idle_ms + 200;
        let end_ms = measured + shape.fetches * shape.fetch_every_ms;
        let mut run = Self(testkit::fixture::Run::new());
        run.0.arm().proxy.workers = shape.workers;
        run.0.arm().load.slow = shape.downloads;
        let records = &mut run.0.records;
        records.manifest.listeners = (0..u64::from(shape.workers)).map(|w| 100 + w).collect();
        let phases = [
            (Phase::Idle, 0, idle_ms),
            (Phase::Load, idle_ms, measured),
            (Phase::Measure, measured, end_ms),
            (Phase::Drain, end_ms, end_ms + CAP_MS),
        ];
        let span =
            |(phase, start, end)| PhaseSpan { phase, start_ns: at(start), end_ns: Some(at(end)) };
        records.manifest.phases = phases.map(span).to_vec();
        for slot in 0..shape.downloads {
            let client_port = port(50_000, u64::from(slot));
            run.records_mut().dialed.push(Dialed { slot, client_port, at_ns: at(idle_ms) });
            let length = Micros((end_ms - idle_ms) * 1000);
            let worker = slot % shape.workers;
            let end = SessionEnd::ClientClosed;
            run.0.session(worker, client_port, at(idle_ms), length, 200, end, 0);
        }
        for worker in 0..shape.workers {
            run.0.worker(worker);
            run.steps(&mut rng, shape, worker, (idle_ms, end_ms + CAP_MS));
        }
        run.fetches(&mut rng, shape, idle_ms);
        for from in (measured..end_ms).step_by(200) {
            let bytes = (0..shape.downloads).map(|_| Bytes(rng.random_range(0..90_000_000)));
            let interval = DownloadInterval {
                start_ns: at(from),
                end_ns: at(from + 200),
                bytes: bytes.collect(),
            };
            run.records_mut().intervals.push(interval);
            for worker in 0..u64::from(shape.workers) {
                let (inode, queue) = (100 + worker, rng.random_range(0..12));
                let sample = ListenerSample { at_ns: at(from), inode, queue, limit: 511 };
                run.records_mut().listeners.push(sample);
            }
        }
        run
    }

    pub(crate) fn records(&self) -> &RunRecords {
        &self.0.records
    }

    pub(crate) fn records_mut(&mut self) -> &mut RunRecords {
        &mut self.0.records
    }

    pub(crate) fn analysis(&self) -> Analysis<'_> {
        Analysis::of(self.records())
    }

    fn steps(&mut self, rng: &mut ChaCha8Rng, shape: Shape, worker: u32, (from, end): (u64, u64)) {
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
            self.records_mut().holds.push(Hold {
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
            let stretch = |from, length: u64, polls: u64, turns| Stretch {
                worker,
                start_ns: at(from),
                end_ns: at(from + length),
                poll_us: Micros(length * polls),
                cpu_us: Micros(length * (1_000 - polls)),
                turns,
                steps: turns,
                accepts: 0,
            };
            let (held, short) = (stretch(now, length, 0, 1), stretch(now + length, pause, 100, 3));
            self.records_mut().stretches.extend([held, short]);
            now += length + pause;
        }
    }

    fn fetches(&mut self, rng: &mut ChaCha8Rng, shape: Shape, idle_ms: u64) {
        for number in 0..shape.idle {
            let (worker, start) = (rng.random_range(0..shape.workers), at(number * 100 + 10));
            let total = Duration::from_millis(4 + rng.random_range(0..6));
            self.fetch((Phase::Idle, number), worker, start, [start, start + total]);
        }
        for number in 0..shape.fetches {
            let worker = rng.random_range(0..shape.workers);
            let start = at(idle_ms + 200 + number * shape.fetch_every_ms);
            let busy = self.records().holds.iter().filter(|hold| hold.worker == worker);
            // One step stands before its accept, and one before its answer.
            let free = |at: MonoNs| {
                let mut holds = busy.clone();
                let held = holds.find(|hold| hold.start_ns <= at && hold.end_ns > at);
                held.map_or(at, |hold| hold.end_ns)
            };
            let accepted = free(start);
            let answered = free(accepted + Duration::from_millis(8)) + Duration::from_millis(8);
            self.fetch((Phase::Measure, number), worker, start, [accepted, answered]);
        }
    }

    fn fetch(
        &mut self,
        (phase, number): (Phase, u64),
        worker: u32,
        start: MonoNs,
        [accepted, answered]: [MonoNs; 2],
    ) {
        let client_port = port(20_000, self.records().fetches.len() as u64);
        let waited = answered.micros_since(start);
        let served = waited < Micros(CAP_MS * 1000);
        let total = if served { waited } else { Micros(CAP_MS * 1000 + 400) };
        let (status, end) =
            if served { (200, SessionEnd::Completed) } else { (499, SessionEnd::ClientClosed) };
        let length = answered.micros_since(accepted);
        self.0.session(worker, client_port, accepted, length, status, end, length.0 / 1000);
        // The worker comes to the request when it is free again, and answers at once.
        let read = Some(accepted.max(MonoNs(answered.0.saturating_sub(8_000_000))));
        let session = self.records_mut().sessions.last_mut().expect("it was just told");
        (session.request_ns, session.connected_ns) = (read, read);
        session.head_ns = read.filter(|_| served);
        self.records_mut().fetches.push(Fetch {
            fetch: number,
            phase,
            intended_ns: start,
            start_ns: start,
            client_port: Some(client_port),
            connect_us: Some(Micros(120)),
            first_byte_us: served.then_some(total),
            total_us: total,
            response_us: total,
            bytes: Bytes(if served { 3 << 20 } else { 0 }),
            status: served.then_some(200),
            outcome: if served { Outcome::Ok } else { Outcome::TimeoutNoByte },
        });
    }

    /// Every fetch under load ends so, and soon.
    pub(crate) fn all_end(mut self, outcome: Outcome) -> Self {
        let fetches = self.records_mut().fetches.iter_mut();
        for fetch in fetches.filter(|fetch| fetch.phase == Phase::Measure) {
            fetch.outcome = outcome;
            fetch.total_us = fetch.total_us.min(Micros(9_000));
            fetch.response_us = fetch.total_us;
        }
        self
    }

    /// What is left of a run whose workers nobody saw.
    pub(crate) fn unseen(mut self) -> Self {
        let records = self.records_mut();
        records.manifest.visibility = Visibility::ClientsOnly;
        let RunRecords { manifest, fetches, intervals, dialed, downloads, .. } = records.clone();
        *records =
            RunRecords { fetches, intervals, dialed, downloads, ..RunRecords::new(manifest) };
        self
    }

    /// A run whose proxy died.
    pub(crate) fn broken(mut self) -> Self {
        self.0.fault(Side::Proxy, "the proxy ended with signal 9 while it was needed");
        self
    }

    /// A run that was cut short while it was idle.
    pub(crate) fn interrupted(mut self) -> Self {
        let idle = self.records().manifest.phases[0];
        self.0.interrupt(idle.end_ns.expect("it ended").micros_since(idle.start_ns).0 / 1000);
        let records = self.records_mut();
        records.manifest.phases[0].end_ns = None;
        let RunRecords { manifest, fetches, stretches, accepted, .. } = records.clone();
        *records = RunRecords { fetches, stretches, accepted, ..RunRecords::new(manifest) };
        self
    }
}

/// Runs of every kind: a name, the run, its verdict, a word of its title and one of its page.
pub(crate) fn kinds() -> [(&'static str, Run, &'static str, [&'static str; 2]); 6] {
    let starved = || Run::of(Shape::STARVED);
    let held = "a worker stuck serving one download";
    let unseen = "workers of this proxy were not seen";
    let broken = "the proxy ended with signal 9";
    [
        ("failing", starved(), "starved", ["failed", held]),
        ("no-failure", starved().all_end(Outcome::Ok), "healthy", ["none of 80"; 2]),
        ("all-refused", starved().all_end(Outcome::Refused), "starved", ["80 of 80"; 2]),
        ("interrupted", starved().interrupted(), "inconclusive", ["fetches", "SIGINT cut the run"]),
        ("inconclusive", starved().broken(), "inconclusive", [broken, "they prove nothing"]),
        ("unseen", starved().unseen(), "starved", ["failed", unseen]),
    ]
}

/// The starvation and its cure, over so many rounds.
pub(crate) fn two_arms(rounds: u32) -> Campaign {
    let of = |seed: u32| Run::of(Shape { seed: u64::from(seed), ..Shape::STARVED });
    let starved = (0..rounds).map(|round| of(round + 1)).collect();
    let cured = (0..rounds).map(|round| of(round + 100).all_end(Outcome::Ok)).collect();
    let mut campaign = Campaign {
        dir: "runs/x-compare".into(),
        purpose: "compare".to_owned(),
        command: words("turnstile compare --rounds 10 --arm drain: --arm nginx:"),
        rounds,
        planned: 2 * rounds as usize,
        seed: 7,
        arms: vec![
            arm(0, "drain", "--reuseport", starved),
            arm(1, "rcvbuf 40 KiB", "--reuseport --rcvbuf 40960", cured),
        ],
        comparison: None,
        case: None,
        manifest: Some(of(1).records().manifest.clone()),
    };
    campaign.comparison = Some(compared(&campaign));
    campaign
}

/// Many arms without a comparison.
pub(crate) fn arms_alone(arms: usize, rounds: u32) -> Campaign {
    let two = two_arms(rounds);
    let mut all = two.arms.clone();
    for place in all.len()..arms {
        let mut arm = two.arms[place % 2].clone();
        arm.spec.name = format!("{} with a long name, the number {place} of them", arm.spec.name);
        all.push(arm);
    }
    let planned = arms * rounds as usize;
    Campaign { purpose: "check".to_owned(), arms: all, planned, comparison: None, ..two }
}

/// A published situation.
pub(crate) fn case() -> Campaign {
    let arm = |name: &str, verdict| CaseArm {
        name: name.to_owned(),
        verdict,
        dir: format!("trials/01-{name}").into(),
        figures: vec![CaseFigure {
            label: "fetches",
            here: Some("53 of 80 failed".to_owned()),
            published: Some("37 of 50 <b>".to_owned()),
        }],
    };
    let case = Case {
        title: "The starvation of 2023".to_owned(),
        source: "a talk".to_owned(),
        story: vec!["Once.".to_owned(), "Then.".to_owned()],
        look: "the longest step".to_owned(),
        arms: vec![arm("drain", Verdict::Starved), arm("rcvbuf", Verdict::Healthy)],
    };
    let purpose = "case starvation-2023".to_owned();
    Campaign { purpose, case: Some(case), comparison: None, ..two_arms(1) }
}

/// What is left of the two arms when all but so many trials were not run.
pub(crate) fn cut_to(trials: usize) -> Campaign {
    let mut campaign = two_arms(3);
    let mut left = trials;
    for arm in &mut campaign.arms {
        arm.trials.truncate(left.min(1));
        left -= arm.trials.len();
        arm.row = row(&arm.spec.name, &arm.trials);
    }
    campaign.comparison = Some(compared(&campaign));
    campaign
}

fn arm(place: usize, name: &str, line: &str, runs: Vec<Run>) -> Arm {
    let ran = |(round, run): (u32, Run)| {
        let dir = format!("trials/{round:02}-{place} \"a\"").into();
        Ran::of(dir, round, run.analysis().summary, run.records().clone())
    };
    let trials: Vec<Ran> = (0..).zip(runs).map(ran).collect();
    let spec = ArmSpec { name: name.to_owned(), args: words(line) };
    Arm { spec, row: row(name, &trials), trials }
}

fn row(name: &str, trials: &[Ran]) -> records::ArmRow {
    let summaries: Vec<&Summary> = trials.iter().map(|told| &told.summary).collect();
    arm_row(name, &summaries)
}

fn compared(campaign: &Campaign) -> Comparison {
    let arms = campaign.arms.iter().map(|arm| (arm.spec.name.clone(), arm.trials.clone()));
    Comparison::of(&arms.collect::<Vec<_>>())
}

fn words(line: &str) -> Vec<String> {
    line.split(' ').map(str::to_owned).collect()
}
