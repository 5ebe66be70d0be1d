//! Scenes: the lives of workers put together piece by piece, and fetches laid beside them; by calls,
//! or as a script ([`Scene::of`]).
//!
//! Times are milliseconds after a moment in the measure phase. The kernel shows everything, and what
//! a scene does not say did not happen: nobody waits for a CPU, no handshake is dropped.

use std::collections::BTreeMap;

use records::{
    Accepted, Answered, Bytes, Cause, CounterSpan, CpuSample, Fetch, Hold, LoopTurn, Micros,
    MonoNs, Outcome, Phase, SchedSample, Session, SessionEnd, StepEnd, Stretch, Watched,
};

use crate::explain::split::all;
use crate::explain::{Context, Explained, FetchSplit, explain};
use crate::figures::fetch_summary;
use crate::idle::IdlePhase;
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
    downloads: BTreeMap<String, Client>,
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
#[derive(Clone, Copy, Debug)]
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
            downloads: BTreeMap::new(),
            port: 50_000,
            number: 100,
        }
    }

    /// What a script tells, a statement after the other, with `;` between them. Workers, CPUs and
    /// slots are numbers, spans `FROM..TO`; what stands in brackets may be left out.
    ///
    /// - `workers N`, `reuseport`, `unpinned`, `apart` (each worker on a CPU of its own), `counterless`
    ///   (the kernel shows no counters), `overflow` (it counted one)
    /// - the next of a worker's life: `turns WORKER MS [turn=US] [poll=PERCENT] [off=PERCENT]`,
    ///   `poll WORKER MS`, `lost WORKER MS`, `hold WORKER dSLOT MS [off=PERCENT]`; of the fetch made last
    ///   `hold own MS`
    /// - a long turn beside it: `turn WORKER SPAN`
    /// - `waits WORKER SPAN MS`, `steals CPU SPAN MS`, `runs CPU SPAN MS`
    /// - `fetch WORKER queued|awaiting|body SPAN [MILESTONE=MS|-]... [outcome=OUTCOME]`, and of it
    ///   `origin ASKED HEAD|-`, `dialled MS`, `steps MS`, `stalls UPSTREAM CLIENT`
    /// - `blind`: the harness does not look at threads
    pub(crate) fn of(script: &str) -> Self {
        let mut scene = Self::new(1);
        let statements = || script.split(';').map(str::trim).filter(|text| !text.is_empty());
        statements().filter(|text| *text != "blind").for_each(|text| scene.tell(text));
        if statements().all(|text| text != "blind") {
            scene.look();
        }
        scene
    }

    fn tell(&mut self, statement: &str) {
        let words: Vec<&str> = statement.split_whitespace().collect();
        let number = |text: &str| -> u64 {
            text.parse().unwrap_or_else(|_| panic!("{text} is no number in {statement:?}"))
        };
        let who = |text: &str| u32::try_from(number(text)).expect("few");
        let span = |text: &str| {
            let (from, to) = text.split_once("..").unwrap_or_else(|| panic!("{statement:?}"));
            (number(from), number(to))
        };
        let option =
            |name: &str| words.iter().find_map(|word| word.strip_prefix(name)?.strip_prefix('='));
        let or = |name: &str, usual: u64| option(name).map_or(usual, number);
        match words.as_slice() {
            ["workers", count] => self.run.arm().proxy.workers = who(count),
            ["reuseport"] => self.run.arm().proxy.reuseport = true,
            ["unpinned"] => self.run.records.manifest.host.worker_cpus.clear(),
            ["apart"] => self.run.records.manifest.host.worker_cpus = vec![0, 1],
            ["counterless"] => self.run.records.manifest.kernel_counters.clear(),
            ["overflow"] => self.overflow(),
            ["turns", worker, ms, ..] => {
                let turn_us = or("turn", BUSY.turn_us);
                let turns = Turns { turn_us, poll: or("poll", 0), off: or("off", 0) };
                self.turns(who(worker), number(ms), turns);
            }
            ["poll", worker, ms] => self.poll(who(worker), number(ms)),
            ["lost", worker, ms] => self.lost(who(worker), number(ms)),
            ["hold", "own", ms] => {
                self.hold(self.last_client(), number(ms), 0);
            }
            ["hold", worker, slot, ms, ..] => {
                let known = self.downloads.get(*slot).copied();
                let download = known.unwrap_or_else(|| {
                    self.download(who(slot.trim_start_matches('d')), who(worker))
                });
                self.downloads.insert((*slot).to_owned(), download);
                self.hold(download, number(ms), or("off", 0));
            }
            ["turn", worker, time] => self.long_turn(who(worker), span(time).0, span(time).1),
            ["waits", worker, time, ms] => {
                let (from, to) = span(time);
                self.waits(who(worker), from, to, number(ms));
            }
            ["steals", cpu, time, ms] => {
                let (from, to) = span(time);
                self.steals(who(cpu), from, to, number(ms));
            }
            ["runs", cpu, time, ms] => {
                let (from, to) = span(time);
                self.runs(who(cpu), from, to, number(ms));
            }
            ["fetch", worker, kind, time, ..] => {
                let (from, to) = span(time);
                let times = match *kind {
                    "queued" => Times::queued(from, to),
                    "awaiting" => Times::awaiting(from, to),
                    "body" => Times::body(from, to),
                    _ => panic!("{statement:?}"),
                };
                let at = |name: &str, usual: Option<u64>| match option(name) {
                    Some("-") => None,
                    Some(ms) => Some(number(ms)),
                    None => usual,
                };
                self.fetch(
                    who(worker),
                    Times {
                        started: or("started", times.started),
                        connected: at("connected", times.connected),
                        accepted: at("accepted", times.accepted),
                        request: at("request", times.request),
                        head: at("head", times.head),
                        closed: at("closed", times.closed),
                        outcome: option("outcome").map_or(times.outcome, outcome),
                        ..times
                    },
                );
            }
            ["origin", asked, "-"] => self.origin(number(asked), None),
            ["origin", asked, head] => self.origin(number(asked), Some(number(head))),
            ["dialled", ms] => self.session().connected_ns = Some(at(number(ms))),
            ["steps", ms] => self.session().steps_us = Micros(number(ms) * 1_000),
            ["stalls", upstream, client] => {
                let [upstream, client] = [upstream, client].map(|ms| Micros(number(ms) * 1_000));
                let session = self.session();
                (session.stalled_upstream_us, session.stalled_client_us) = (upstream, client);
            }
            _ => panic!("{statement:?} tells nothing"),
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

    pub(crate) fn stretch(&mut self, worker: u32, ms: u64, poll_us: u64, cpu_us: u64, turns: u32) {
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

    /// `worker` waited `ms` for a CPU, evenly between `from` and `to`; where these are one, the kernel
    /// tells all of it then: it adds a wait when it ends.
    pub(crate) fn waits(&mut self, worker: u32, from: u64, to: u64, ms: u64) {
        self.waits.push((worker, Lost { from, to, ms }));
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
        self.fetch_of(client, times)
    }

    /// The same of a connection that is known.
    pub(crate) fn fetch_of(&mut self, client: Client, times: Times) -> usize {
        let records = &mut self.run.records;
        let since = |ms: u64| Micros(ms.saturating_sub(times.started) * 1_000);
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

    /// The causes of a fetch with their time in ms, rounded, as `convoy 500, upstream 1500`; those with
    /// less are left out.
    pub(crate) fn causes(&self, fetch: usize) -> String {
        let shares = self.split(fetch).shares;
        let ms = |cause| (shares.of(cause).as_micros() + 500) / 1_000;
        let told = Cause::ALL.map(|cause| (cause, ms(cause))).into_iter().filter(|(_, ms)| *ms > 0);
        told.map(|(cause, ms)| format!("{cause} {ms}")).collect::<Vec<_>>().join(", ")
    }

    /// The same of all fetches, with `|` between them.
    pub(crate) fn all_causes(&self) -> String {
        let all = 0..self.run.records.fetches.len();
        all.map(|fetch| self.causes(fetch)).collect::<Vec<_>>().join(" | ")
    }

    /// The explanation of all fetches; those that failed are late.
    pub(crate) fn explain(&self) -> Explained {
        let records = &self.run.records;
        let idle = fetch_summary(&records.fetches, Phase::Idle);
        let cap = records.manifest.arm.fetch.cap;
        let baseline = IdlePhase::of(&records.fetches, &idle, cap, &Thresholds::default());
        let context = Context::of(records);
        explain(&context, &all(&context), &idle, &baseline)
    }
}

fn outcome(name: &str) -> Outcome {
    let named = Outcome::ALL.into_iter().find(|outcome| outcome.name() == name);
    named.unwrap_or_else(|| panic!("{name} is no outcome"))
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
