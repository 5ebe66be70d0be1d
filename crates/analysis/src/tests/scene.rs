//! Scenes for tests: the lives of workers put together piece by piece, and fetches laid beside them.
//!
//! Times are milliseconds after a moment in the measure phase. The kernel shows everything, and what
//! a scene does not say did not happen: nobody waits for a CPU, no handshake is dropped.

pub(crate) mod garbage;
pub(crate) mod random;

use std::collections::BTreeMap;

use records::{
    Accepted, Answered, Bytes, Cause, CounterSpan, CpuSample, Fetch, Hold, LoopTurn, Micros,
    MonoNs, Outcome, Phase, SchedSample, Session, SessionEnd, StepEnd, Stretch, Watched,
};

use crate::baseline::Baseline;
use crate::explain::split::all;
use crate::explain::{Context, Explained, FetchSplit, explain};
use crate::figures::fetch_summary;
use crate::thresholds::Thresholds;
use testkit::fixture::{Run, at_ms};

/// The harness looks at threads so often, ms.
const LOOK_AT_THREADS: u64 = 25;
/// It looks at what the hypervisor took so often, ms.
const LOOK_AT_STEAL: u64 = 100;
/// It looks from the first to the last of these, ms.
pub(crate) const LOOKS: [u64; 2] = [0, 4_000];

/// `ms` into the scene.
pub(crate) fn at(ms: u64) -> MonoNs {
    at_ms(6_000 + ms)
}

/// A run in the making.
pub(crate) struct Scene {
    pub(crate) run: Run,
    /// How far the life of each worker is told, ms.
    told: BTreeMap<u32, u64>,
    /// Waits for a CPU, by worker, and what the hypervisor took, by CPU.
    waits: Vec<(u32, Lost)>,
    stolen: Vec<(u32, Lost)>,
    /// What each CPU ran; of none: nobody tells.
    used: Vec<(u32, Lost)>,
    port: u16,
    number: u64,
}

/// Time that somebody had no CPU.
#[derive(Clone, Copy)]
struct Lost {
    from: u64,
    to: u64,
    ms: u64,
}

/// Loop turns with short steps.
#[derive(Clone, Copy)]
pub(crate) struct Turns {
    /// Length of one, polls left out, us.
    pub(crate) turn_us: u64,
    /// Part of the time in polls, percent.
    pub(crate) poll: u64,
    /// Part of the rest without a CPU, percent.
    pub(crate) off: u64,
}

/// Turns of 1 ms, none of it in polls, always on a CPU.
pub(crate) const BUSY: Turns = Turns { turn_us: 1_000, poll: 0, off: 0 };
/// Turns with as much time in polls as out of them.
pub(crate) const HALF_IDLE: Turns = Turns { turn_us: 100, poll: 50, off: 0 };

/// One connection at its worker.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Client {
    pub(crate) worker: u32,
    pub(crate) session: u64,
    pub(crate) port: u16,
}

/// When what happened to a fetch, ms. It starts when it is wanted, and connects at once.
#[derive(Clone, Copy)]
pub(crate) struct Times {
    pub(crate) wanted: u64,
    pub(crate) started: u64,
    pub(crate) connected: Option<u64>,
    pub(crate) accepted: Option<u64>,
    pub(crate) request: Option<u64>,
    pub(crate) head: Option<u64>,
    /// Absent: its session had not ended when the run did.
    pub(crate) closed: Option<u64>,
    pub(crate) ended: u64,
    pub(crate) outcome: Outcome,
}

impl Times {
    /// In a listener's queue from `from`, until its client gives up.
    pub(crate) fn queued(from: u64, ended: u64) -> Self {
        Self {
            wanted: from,
            started: from,
            connected: Some(from),
            accepted: None,
            request: None,
            head: None,
            closed: None,
            ended,
            outcome: Outcome::TimeoutNoByte,
        }
    }

    /// Accepted at `from`, its request whole at once; no head until its client gives up.
    pub(crate) fn awaiting(from: u64, ended: u64) -> Self {
        let at_once = Some(from);
        Self {
            accepted: at_once,
            request: at_once,
            closed: Some(ended),
            ..Self::queued(from, ended)
        }
    }

    /// Its head arrives at `from` as well, its body until `ended`.
    pub(crate) fn body(from: u64, ended: u64) -> Self {
        Self { head: Some(from), outcome: Outcome::TimeoutPartial, ..Self::awaiting(from, ended) }
    }
}

impl Scene {
    /// A run of workers that share one CPU.
    pub(crate) fn new(workers: u32) -> Self {
        let mut run = Run::new();
        run.arm().proxy.workers = workers;
        let unmoved = CounterSpan { before: 7, after: 7 };
        let counters = &mut run.records.manifest.kernel_counters;
        counters.insert("TcpExt.ListenOverflows".to_owned(), unmoved);
        Self {
            run,
            told: BTreeMap::new(),
            waits: Vec::new(),
            stolen: Vec::new(),
            used: Vec::new(),
            port: 50_000,
            number: 100,
        }
    }

    /// A download that `worker` holds.
    pub(crate) fn download(&mut self, slot: u32, worker: u32) -> Client {
        self.run.download(slot, worker, 1_000_000);
        let session = self.run.records.sessions.last().expect("just made");
        Client { worker, session: session.session, port: session.client_port }
    }

    /// The next `ms` of a worker: short steps, told every 5 ms.
    pub(crate) fn turns(&mut self, worker: u32, ms: u64, turns: Turns) {
        let mut left = ms;
        while left > 0 {
            let length = left.min(5) * 1_000;
            left -= left.min(5);
            let poll_us = length * turns.poll / 100;
            let busy = length - poll_us;
            let count = u32::try_from(busy / turns.turn_us).expect("few");
            let cpu_us = busy - busy * turns.off / 100;
            self.stretch(worker, length / 1_000, poll_us, cpu_us, count);
        }
    }

    /// The next `ms` of a worker: one poll.
    pub(crate) fn poll(&mut self, worker: u32, ms: u64) {
        self.stretch(worker, ms, ms * 1_000, 0, 0);
    }

    /// The next `ms` of a worker: a loop turn with one step, of which `off` percent without a CPU.
    /// Returns the hold's position.
    pub(crate) fn hold(&mut self, of: Client, ms: u64, off: u64) -> usize {
        let start_ns = at(self.now(of.worker));
        let cpu_us = ms * 10 * (100 - off);
        self.stretch(of.worker, ms, 0, cpu_us, 1);
        let end_ns = at(self.now(of.worker));
        let records = &mut self.run.records;
        records.holds.push(Hold {
            worker: of.worker,
            turn: 7,
            session: of.session,
            client_port: of.port,
            start_ns,
            end_ns,
            bytes: Bytes::mib(ms),
            reads: ms,
            ended_by: StepEnd::UpstreamEmpty,
        });
        records.turns.push(turn(of.worker, start_ns, end_ns));
        records.holds.len() - 1
    }

    /// The next `ms` of a worker are not told.
    pub(crate) fn lost(&mut self, worker: u32, ms: u64) {
        *self.told.entry(worker).or_default() += ms;
    }

    /// How far the life of `worker` is told.
    pub(crate) fn now(&self, worker: u32) -> u64 {
        self.told.get(&worker).copied().unwrap_or(0)
    }

    /// A loop turn of `worker` that is long enough to be told.
    pub(crate) fn long_turn(&mut self, worker: u32, from: u64, to: u64) {
        self.run.records.turns.push(turn(worker, at(from), at(to)));
    }

    fn stretch(&mut self, worker: u32, ms: u64, poll_us: u64, cpu_us: u64, turns: u32) {
        let start = self.now(worker);
        self.lost(worker, ms);
        self.run.records.stretches.push(Stretch {
            worker,
            start_ns: at(start),
            end_ns: at(start + ms),
            poll_us: Micros(poll_us),
            cpu_us: Micros(cpu_us),
            turns,
            steps: turns,
            accepts: 0,
        });
    }

    /// `worker` waited `ms` for a CPU, evenly between `from` and `to`.
    pub(crate) fn waits(&mut self, worker: u32, from: u64, to: u64, ms: u64) {
        self.waits.push((worker, Lost { from, to, ms }));
    }

    /// `worker` waited `ms` for a CPU, until `to`: the kernel adds a wait when it ends.
    pub(crate) fn waits_until(&mut self, worker: u32, to: u64, ms: u64) {
        self.waits(worker, to, to, ms);
    }

    /// The hypervisor took `ms` from `cpu`, evenly between `from` and `to`.
    pub(crate) fn steals(&mut self, cpu: u32, from: u64, to: u64, ms: u64) {
        self.stolen.push((cpu, Lost { from, to, ms }));
    }

    /// `cpu` ran for `ms`, whoever it ran, evenly between `from` and `to`.
    pub(crate) fn runs(&mut self, cpu: u32, from: u64, to: u64, ms: u64) {
        self.used.push((cpu, Lost { from, to, ms }));
    }

    /// A fetch that `worker` accepts, if anybody does. Returns its position.
    pub(crate) fn fetch(&mut self, worker: u32, times: Times) -> usize {
        let client = self.client(worker);
        let records = &mut self.run.records;
        let since = |ms: u64| Micros((ms - times.started) * 1_000);
        records.fetches.push(Fetch {
            fetch: records.fetches.len() as u64,
            phase: Phase::Measure,
            intended_ns: at(times.wanted),
            start_ns: at(times.started),
            client_port: Some(client.port),
            connect_us: times.connected.map(since),
            first_byte_us: None,
            total_us: since(times.ended),
            response_us: Micros((times.ended - times.wanted) * 1_000),
            bytes: Bytes(0),
            status: None,
            outcome: times.outcome,
        });
        if let Some(accepted) = times.accepted {
            let Client { worker, session, port: client_port } = client;
            let accepted = Accepted { worker, session, client_port, at_ns: at(accepted) };
            records.accepted.push(accepted);
            records.sessions.extend(times.closed.map(|closed| Session {
                request_ns: times.request.map(at),
                head_ns: times.head.map(at),
                ..session_of(client, accepted.at_ns, at(closed))
            }));
        }
        records.fetches.len() - 1
    }

    /// The session of the fetch that was made last.
    pub(crate) fn session(&mut self) -> &mut Session {
        self.run.records.sessions.last_mut().expect("a fetch that was served")
    }

    /// The origin had the request of the fetch that was made last at `asked`, and its answer's head
    /// at `head`, if ever.
    pub(crate) fn origin(&mut self, asked: u64, head: Option<u64>) {
        let session = self.session();
        // Ports of two hosts: they may be the same.
        let upstream_port = session.client_port;
        session.upstream_port = Some(upstream_port);
        let (request_ns, head_ns) = (at(asked), head.map(at));
        self.run.records.answered.push(Answered { upstream_port, request_ns, head_ns });
    }

    /// The client of the fetch that was made last.
    pub(crate) fn last_client(&self) -> Client {
        let accepted = self.run.records.accepted.last().expect("a fetch that was accepted");
        let Accepted { worker, session, client_port: port, .. } = *accepted;
        Client { worker, session, port }
    }

    /// A connection on a port of its own, of which nothing is told.
    pub(crate) fn client(&mut self, worker: u32) -> Client {
        self.port += 1;
        self.number += 1;
        Client { worker, session: self.number, port: self.port }
    }

    /// The kernel counted a dropped handshake.
    pub(crate) fn overflow(&mut self) {
        for span in self.run.records.manifest.kernel_counters.values_mut() {
            span.after += 1;
        }
    }

    /// Writes down what the harness has seen from outside. Once.
    pub(crate) fn look(&mut self) {
        let [first, last] = LOOKS;
        let workers = self.run.records.manifest.arm.proxy.workers;
        for ms in (first..=last).step_by(usize::try_from(LOOK_AT_THREADS).expect("small")) {
            self.run.records.sched.extend((0..workers).map(|worker| SchedSample {
                who: Watched::Worker(worker),
                at_ns: at(ms),
                run_ns: 0,
                run_wait_ns: lost_by(&self.waits, worker, ms),
            }));
        }
        for ms in (first..=last).step_by(usize::try_from(LOOK_AT_STEAL).expect("small")) {
            self.run.records.stolen.extend((0..2).map(|cpu| CpuSample {
                cpu,
                at_ns: at(ms),
                stolen_ms: lost_by(&self.stolen, cpu, ms) / 10_000_000 * 10,
                busy_ms: (!self.used.is_empty()).then(|| lost_by(&self.used, cpu, ms) / 1_000_000),
            }));
        }
    }

    /// Where the time of a fetch went.
    pub(crate) fn split(&self, fetch: usize) -> FetchSplit {
        all(&Context::of(&self.run.records)).swap_remove(fetch)
    }

    /// The causes of a fetch with their time in ms, rounded; those with less are left out.
    pub(crate) fn causes(&self, fetch: usize) -> Vec<(Cause, u128)> {
        let shares = self.split(fetch).shares;
        let ms = |cause| (shares.of(cause).as_micros() + 500) / 1_000;
        Cause::ALL.map(|cause| (cause, ms(cause))).into_iter().filter(|(_, ms)| *ms > 0).collect()
    }

    /// The explanation of all fetches; those that failed are late.
    pub(crate) fn explain(&self) -> Explained {
        let records = &self.run.records;
        let idle = fetch_summary(&records.fetches, Phase::Idle);
        let cap = records.manifest.arm.fetch.cap;
        let baseline = Baseline::of(&records.fetches, &idle, cap, &Thresholds::default());
        let context = Context::of(records);
        explain(&context, &all(&context), &idle, &baseline)
    }
}

/// A session of which only its bounds are known.
pub(crate) fn session_of(client: Client, accepted_ns: MonoNs, closed_ns: MonoNs) -> Session {
    let mut run = Run::new();
    let length = closed_ns.micros_since(accepted_ns);
    let end = SessionEnd::ClientClosed;
    run.session(client.worker, client.port, accepted_ns, length, 499, end, 0);
    let session = run.records.sessions.pop().expect("just made");
    Session { session: client.session, steps: 0, ..session }
}

fn turn(worker: u32, start_ns: MonoNs, end_ns: MonoNs) -> LoopTurn {
    LoopTurn { worker, turn: 7, start_ns, end_ns, events: 1, steps: 1, accepts: 0 }
}

/// What a counter of the kernel has come to by `ms`, ns.
fn lost_by(all: &[(u32, Lost)], who: u32, ms: u64) -> u64 {
    let of_who = all.iter().filter(|(other, _)| *other == who);
    of_who
        .map(|(_, lost)| {
            let all_ns = lost.ms * 1_000_000;
            match (ms.saturating_sub(lost.from), lost.to - lost.from) {
                _ if ms >= lost.to => all_ns,
                (past, length) => all_ns * past / length.max(1),
            }
        })
        .sum()
}
