//! Scenes: the lives of workers put together piece by piece, and fetches laid beside them, as a script.
//!
//! Times are milliseconds after a moment in the measure phase. The kernel shows everything, and what
//! a scene does not say did not happen: nobody waits for a CPU, no handshake is dropped.

use std::collections::BTreeMap;

use records::{
    Accepted, Answered, Blocked, Bytes, Cause, CounterSpan, CpuSample, Fetch, Hold, LateSummary,
    LoopTurn, Micros, MonoNs, Outcome, Phase, SchedSample, Served, Session, SessionEnd, Sleep,
    StepEnd, Stretch, Threads, ThrottleSample, Watched,
};

use crate::explain::split::all;
use crate::explain::{Context, FetchSplit, explain};
use crate::figures::fetch_summary;
use crate::thresholds::IdlePhase;
use testkit::fixture::{Run, at_ms};

/// The harness looks at threads so often, ms.
const LOOK_AT_THREADS: usize = 25;
/// It looks at what the hypervisor took so often, ms.
const LOOK_AT_STEAL: usize = 100;
/// It looks until then, ms.
const LOOKS: u64 = 4_000;

/// `ms` into the scene.
pub(crate) fn at(ms: u64) -> MonoNs {
    at_ms(6_000 + ms)
}

/// A run in the making.
pub(crate) struct Scene {
    pub(crate) run: Run,
    /// How far the life of each worker is told, ms.
    told: BTreeMap<u32, u64>,
    /// Waits for a CPU by worker, and what the hypervisor took and what ran by CPU.
    spans: BTreeMap<(&'static str, u32), Vec<Span>>,
    /// Who has a session, by name.
    clients: BTreeMap<String, Client>,
}

/// Time that somebody had no CPU, or had one.
#[derive(Clone, Copy)]
struct Span {
    from: u64,
    to: u64,
    ms: u64,
}

/// One connection at its worker.
#[derive(Clone, Copy)]
struct Client {
    worker: u32,
    session: u64,
    port: u16,
}

impl Scene {
    /// What a script tells, a statement after the other, with `;` between them. Workers, CPUs and
    /// slots are numbers, spans `FROM..TO`; what stands in brackets may be left out.
    ///
    /// - `workers N` (they share one CPU), `reuseport`, `shared` (one queue for all), `unpinned`, `apart` (each worker on a CPU of its
    ///   own), `counterless` (the kernel shows no counters), `overflow` (it counted one)
    /// - the next of a worker's life: `turns WORKER MS [turn=US] [poll=PERCENT] [off=PERCENT]`, told every
    ///   5 ms, `stretch WORKER MS TURNS [poll=PERCENT] [cpu=PERCENT]`, told as one, `poll WORKER MS`,
    ///   `lost WORKER MS`, `hold WORKER WHOSE MS [off=PERCENT] [port=N]`, of download `dSLOT`, the fetch `fN`,
    ///   the fetch made last (`own`) or `nobody`
    /// - of a worker that is many threads: `threads WORKER MS [run=PERCENT] [wait=PERCENT] [blocked=PERCENT]
    ///   [for=WHOSE]`, told every 10 ms, and `asleep WORKER WHOSE SPAN [deep=1]` of one of them
    /// - a long turn beside it: `turn WORKER SPAN`
    /// - `waits WORKER SPAN MS`, evenly (where the span is empty the kernel tells all of it then: it adds a
    ///   wait when it ends), `steals CPU SPAN MS`, `runs CPU SPAN MS` (whoever it ran), `quota 0 SPAN MS`
    ///   (withheld from all workers' group)
    /// - `fetch WORKER queued|awaiting|body SPAN [MILESTONE=MS|-]... [outcome=OUTCOME] [port=N]`: in a queue
    ///   from its first moment; accepted then, with its request; with its head as well. Of it, where it has a
    ///   session: `origin ASKED HEAD|- [port=N] [taken=MS]`, `portless`, `dialled MS`, `steps MS`, `stalls UPSTREAM CLIENT`
    /// - `blind`: the harness does not look at threads
    pub(crate) fn of(script: &str) -> Self {
        let mut run = Run::new();
        run.arm().proxy.workers = 1;
        let unmoved = CounterSpan { before: 7, after: 7 };
        let counters = &mut run.records.manifest.kernel_counters;
        counters.insert("TcpExt.ListenOverflows".to_owned(), unmoved);
        let (told, spans, clients) = Default::default();
        let mut scene = Self { run, told, spans, clients };
        let statements: Vec<&str> = script.split(';').map(str::trim).collect();
        statements.iter().for_each(|statement| scene.tell(statement));
        if !statements.contains(&"blind") {
            scene.look();
        }
        scene
    }

    /// One more statement.
    pub(crate) fn tell(&mut self, statement: &str) {
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
        let port = || option("port").map(|port| port.parse::<u16>().expect("a port"));
        let manifest = &mut self.run.records.manifest;
        match words.as_slice() {
            [] | ["blind"] => {}
            ["workers", count] => self.run.arm().proxy.workers = who(count),
            ["reuseport"] => self.run.arm().proxy.reuseport = true,
            ["shared"] => self.run.arm().proxy.reuseport = false,
            ["unpinned"] => manifest.host.worker_cpus.clear(),
            ["apart"] => manifest.host.worker_cpus = vec![0, 1],
            ["counterless"] => manifest.kernel_counters.clear(),
            ["overflow"] => manifest.kernel_counters.values_mut().for_each(|span| span.after += 1),
            ["turns", worker, ms, ..] => {
                let (turn_us, poll, on) = (or("turn", 1_000), or("poll", 0), 100 - or("off", 0));
                let (whole, rest) = (number(ms) / 5, number(ms) % 5);
                let parts = (0..whole).map(|_| 5).chain((rest > 0).then_some(rest));
                for ms in parts {
                    let busy = ms * 10 * (100 - poll);
                    self.stretch(who(worker), ms, busy, busy * on / 100, busy / turn_us);
                }
            }
            ["stretch", worker, ms, turns, ..] => {
                let busy = number(ms) * 10 * (100 - or("poll", 0));
                let cpu = busy * or("cpu", 100) / 100;
                self.stretch(who(worker), number(ms), busy, cpu, number(turns));
            }
            ["poll", worker, ms] => self.stretch(who(worker), number(ms), 0, 0, 0),
            ["threads", worker, ms, ..] => {
                let port = option("for").map(|whose| self.client(who(worker), whose).port);
                let us = |name| Micros(100 * or(name, 0));
                let (run_us, wait_us, blocked_us) = (us("run"), us("wait"), us("blocked"));
                let served = port.map(|client_port| Served { client_port, run_us });
                for _ in 0..number(ms) / 10 {
                    let told = self.told.entry(who(worker)).or_default();
                    let start_ns = at(*told);
                    *told += 10;
                    self.run.records.threads.push(Threads {
                        worker: who(worker),
                        start_ns,
                        end_ns: at(*told),
                        ran: u32::from(run_us > Micros(0)),
                        run_us,
                        wait_us,
                        blocked_us,
                        served: served.into_iter().collect(),
                    });
                }
            }
            ["asleep", worker, whose, time, ..] => {
                let (from, to) = span(time);
                let client_port =
                    (*whose != "nobody").then(|| self.client(who(worker), whose).port);
                let sleep = match option("deep") {
                    Some(_) => Sleep::Uninterruptible,
                    None => Sleep::Interruptible,
                };
                self.run.records.blocked.push(Blocked {
                    worker: who(worker),
                    start_ns: at(from),
                    end_ns: at(to),
                    call: "futex".to_owned(),
                    client_port,
                    sleep,
                });
            }
            ["lost", worker, ms] => *self.told.entry(who(worker)).or_default() += number(ms),
            ["hold", worker, whose, ms, ..] => {
                let client = self.client(who(worker), whose);
                let port = port().unwrap_or(client.port);
                self.hold(Client { port, ..client }, number(ms), or("off", 0));
            }
            ["turn", worker, time] => {
                let (from, to) = span(time);
                self.run.records.turns.push(turn(who(worker), at(from), at(to)));
            }
            [what @ ("waits" | "steals" | "runs" | "quota"), of, time, ms] => {
                let what =
                    ["waits", "steals", "runs", "quota"].into_iter().find(|name| name == what);
                let ((from, to), ms) = (span(time), number(ms));
                let key = (what.expect("one of them"), who(of));
                self.spans.entry(key).or_default().push(Span { from, to, ms });
            }
            ["fetch", worker, kind, time, ..] => {
                let (from, to) = span(time);
                let (reached, usual) = match *kind {
                    "queued" => (0, Outcome::TimeoutNoByte),
                    "awaiting" => (1, Outcome::TimeoutNoByte),
                    "body" => (2, Outcome::TimeoutPartial),
                    _ => panic!("{statement:?}"),
                };
                let at_or = |name: &str, usual: Option<u64>| match option(name) {
                    Some("-") => None,
                    Some(ms) => Some(number(ms)),
                    None => usual,
                };
                let milestone = |name, of| at_or(name, (reached >= of).then_some(from));
                let started = or("started", from);
                let since = |ms: u64| Micros(ms.saturating_sub(started) * 1_000);
                let fetch = self.run.records.fetches.len() as u64;
                let client = self.new_client(who(worker), port(), &format!("f{fetch}"));
                self.run.records.fetches.push(Fetch {
                    fetch,
                    phase: Phase::Measure,
                    intended_ns: at(from),
                    start_ns: at(started),
                    client_port: Some(client.port),
                    connect_us: at_or("connected", Some(from)).map(since),
                    total_us: since(to),
                    response_us: Micros((to - from) * 1_000),
                    outcome: option("outcome").map_or(usual, |of| of.parse().expect("one")),
                    ..Fetch::default()
                });
                let Some(accepted) = milestone("accepted", 1).map(at) else { return };
                let Client { worker, session, port: client_port } = client;
                let records = &mut self.run.records;
                records.accepted.push(Accepted { worker, session, client_port, at_ns: accepted });
                let closed = at_or("closed", (reached >= 1).then_some(to));
                records.sessions.extend(closed.map(|closed| Session {
                    request_ns: milestone("request", 1).map(at),
                    head_ns: milestone("head", 2).map(at),
                    ..session_of(client, accepted, at(closed))
                }));
            }
            ["origin", asked, head, ..] => {
                let session = self.session();
                // Ports of two hosts: they may be the same.
                let upstream_port = port().unwrap_or(session.client_port);
                session.upstream_port = Some(upstream_port);
                let head_ns = (*head != "-").then(|| at(number(head)));
                let answered = Answered {
                    upstream_port,
                    request_ns: at(number(asked)),
                    queued_until_ns: option("taken").map(|ms| at(number(ms))),
                    head_ns,
                };
                self.run.records.answered.push(answered);
            }
            ["portless"] => self.session().end = SessionEnd::NoPort,
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

    /// Whoever it is: `dSLOT`, `fN`, `own` or `nobody`.
    fn client(&mut self, worker: u32, whose: &str) -> Client {
        let last = format!("f{}", self.run.records.fetches.len().saturating_sub(1));
        let name = if whose == "own" { &last } else { whose };
        match (self.clients.get(name), name.strip_prefix('d')) {
            (Some(known), _) if known.worker == worker => *known,
            (_, Some(slot)) => {
                self.run.download(slot.parse().expect("a slot"), worker, 1_000_000);
                let of = self.run.records.sessions.last().expect("just made");
                let client = Client { worker, session: of.session, port: of.client_port };
                self.clients.insert(whose.to_owned(), client);
                client
            }
            (_, None) => Client { worker, session: 1, port: 40_000 },
        }
    }

    /// A session with a number of its own, and a port if it is given none.
    fn new_client(&mut self, worker: u32, port: Option<u16>, name: &str) -> Client {
        let number = self.run.records.fetches.len();
        let own = 50_001 + u16::try_from(number).expect("few");
        let session = 1_000 + number as u64;
        let client = Client { worker, session, port: port.unwrap_or(own) };
        self.clients.insert(name.to_owned(), client);
        client
    }

    /// The next `ms` of a worker, of which so many us out of polls and on a CPU.
    fn stretch(&mut self, worker: u32, ms: u64, busy_us: u64, cpu_us: u64, turns: u64) {
        let turns = u32::try_from(turns).expect("few");
        let told = self.told.entry(worker).or_default();
        let start_ns = at(*told);
        *told += ms;
        self.run.records.stretches.push(Stretch {
            worker,
            start_ns,
            end_ns: at(*told),
            poll_us: Micros(ms * 1_000 - busy_us),
            cpu_us: Micros(cpu_us),
            turns,
            steps: turns,
            accepts: 0,
        });
    }

    /// The next `ms` of a worker: a loop turn with one step, of which `off` percent without a CPU.
    fn hold(&mut self, of: Client, ms: u64, off: u64) {
        self.stretch(of.worker, ms, ms * 1_000, ms * 10 * 100_u64.saturating_sub(off), 1);
        let records = &mut self.run.records;
        let Stretch { start_ns, end_ns, .. } = *records.stretches.last().expect("just told");
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
    }

    /// The session of the fetch that was made last.
    pub(crate) fn session(&mut self) -> &mut Session {
        self.run.records.sessions.last_mut().expect("a fetch that was served")
    }

    /// Writes down what the harness has seen from outside. Once.
    pub(crate) fn look(&mut self) {
        let counted = |spans: &BTreeMap<_, Vec<Span>>, what, who, ms| -> u64 {
            spans.get(&(what, who)).into_iter().flatten().map(|span| span.counted_ns(ms)).sum()
        };
        let workers = self.run.records.manifest.arm.proxy.workers;
        for ms in (0..=LOOKS).step_by(LOOK_AT_THREADS) {
            self.run.records.sched.extend((0..workers).map(|worker| SchedSample {
                who: Watched::Worker(worker),
                at_ns: at(ms),
                run_ns: 0,
                run_wait_ns: counted(&self.spans, "waits", worker, ms),
            }));
            let throttled_us = Micros(counted(&self.spans, "quota", 0, ms) / 1_000);
            let sample = ThrottleSample { at_ns: at(ms), periods: 0, throttled_us };
            self.run.records.throttled.push(sample);
        }
        let is_told = self.spans.keys().any(|(what, _)| *what == "runs");
        for ms in (0..=LOOKS).step_by(LOOK_AT_STEAL) {
            self.run.records.stolen.extend((0..2).map(|cpu| CpuSample {
                cpu,
                at_ns: at(ms),
                stolen_ms: counted(&self.spans, "steals", cpu, ms) / 10_000_000 * 10,
                busy_ms: is_told.then(|| counted(&self.spans, "runs", cpu, ms) / 1_000_000),
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
    pub(crate) fn late(&self) -> LateSummary {
        let records = &self.run.records;
        let idle = fetch_summary(&records.fetches, &records.fetch_totals, Phase::Idle);
        let cap = records.manifest.arm.fetch.cap;
        let baseline = IdlePhase::of(records, &idle, cap);
        let context = Context::of(records);
        explain(&context, &all(&context), &idle, &baseline).0
    }
}

impl Span {
    /// What a counter of the kernel has come to by `ms`.
    fn counted_ns(self, ms: u64) -> u64 {
        let all = self.ms * 1_000_000;
        match ms.saturating_sub(self.from) {
            _ if ms >= self.to => all,
            past => all * past / (self.to - self.from).max(1),
        }
    }
}

/// A session of which only its bounds are known.
fn session_of(client: Client, accepted_ns: MonoNs, closed_ns: MonoNs) -> Session {
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
