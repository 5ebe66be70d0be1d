//! What the records show of each cause, over the phase of the late fetches.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use records::{
    BlockedSummary, Bytes, Cause, Holder, HoldingStep, ListenerSample, LoopTurn, Micros,
    SessionEnd, SocketEnd, ThrottleSample,
};
use serde::Serialize;

use crate::explain::context::OVERFLOWS;
use crate::explain::cpu::Cumulative;
use crate::explain::late::longest_hold;
use crate::explain::{Context, FetchSplit};
use crate::figures::workers;
use crate::window::{Window, grouped};

/// What was recorded that shows a cause, or how it could be overlooked.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Evidence {
    /// Steps of other sessions in which late fetches waited.
    Steps {
        /// How many.
        steps: u64,
        /// The one in which a fetch waited longest.
        #[serde(skip_serializing_if = "Option::is_none")]
        longest: Option<HoldingStep>,
        /// What waited in the upstream's receive buffer meanwhile; absent: nobody looked.
        #[serde(skip_serializing_if = "Option::is_none")]
        reserve: Option<Reserve>,
    },
    /// Loop turns as long as a hold in which no single step was.
    Turns {
        /// How many.
        long_turns: u64,
        /// The longest.
        #[serde(skip_serializing_if = "Option::is_none")]
        longest: Option<LoopTurn>,
    },
    /// Accept queues of the proxy's listeners, as sampled.
    Queues {
        /// How many samples there are.
        samples: u64,
        /// The one with the longest queue.
        #[serde(skip_serializing_if = "Option::is_none")]
        deepest: Option<ListenerSample>,
    },
    /// Counters of the kernel for dropped handshakes: by how much they moved.
    Counters {
        /// By name, as `TcpExt.ListenOverflows`.
        moved: BTreeMap<&'static str, u64>,
    },
    /// Where the time of workers went outside of their polls, all of them together.
    Cpu {
        /// All of it.
        busy_us: Micros,
        /// On a CPU.
        cpu_us: Micros,
        /// Ready, without a CPU, as the scheduler counted it.
        run_wait_us: Micros,
        /// CPU time that the hypervisor withheld from the workers' CPUs.
        stolen_us: Micros,
        /// By how much the last look at the quota of their control group exceeds the first; absent: it
        /// withheld nothing.
        #[serde(skip_serializing_if = "Option::is_none")]
        throttled: Option<ThrottleSample>,
        /// Sleeps of 5 ms or more by system call; empty: none, or not traced.
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        slept: BTreeMap<String, BlockedSummary>,
    },
    /// What threads that hand work to each other did while late fetches waited for them.
    Threads {
        /// For whom they ran most, the most first, at most three.
        served: Vec<Ran>,
        /// Sleeps of 5 ms or more by system call.
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        slept: BTreeMap<String, BlockedSummary>,
    },
    /// Requests for which the proxy found no port.
    Ports {
        /// How many, over the whole run.
        refused: u64,
        /// Different ports that it dialled the origin from.
        used: u64,
    },
    /// What is not there.
    Silence {
        /// Late fetches that no worker accepted.
        never_accepted: u64,
        /// Late fetches whose session has no record.
        without_session: u64,
        /// Records that did not fit into a worker's ring, over the whole run.
        records_lost: u64,
    },
}

/// Receive queues of the upstream connections of sessions, looked at inside their holds: a
/// step that drains goes on for as long as these do not run empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Reserve {
    /// How many looks there were.
    pub samples: u64,
    /// How many of them found the queue empty.
    pub empty: u64,
    /// The median depth.
    pub median: Bytes,
    /// The largest depth.
    pub most: Bytes,
}

/// CPU time that threads spent on somebody.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Ran {
    /// On whom; absent: somebody who is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub holder: Option<Holder>,
    /// How long, all threads together.
    pub run_us: Micros,
}

/// What shows `cause` in the late fetches `splits`, which are those of `window`; `None`: the time of each
/// fetch says all.
pub(crate) fn of(
    context: &Context<'_>,
    splits: &[&FetchSplit],
    cause: Cause,
    window: Window,
) -> Option<Evidence> {
    Some(match cause {
        Cause::HeldByStep => steps(context, splits),
        Cause::Convoy => turns(context, window),
        Cause::AcceptQueue => queues(context, window),
        Cause::BacklogOverflow => counters(context),
        Cause::OffCpuRunnable | Cause::CpuWithheld | Cause::OffCpuBlocked => cpu(context, window),
        Cause::ThreadsBusy | Cause::BehindLock | Cause::PoolUsedUp => {
            threads(context, splits, window)
        }
        Cause::NoPorts => ports(context),
        Cause::Unexplained => silence(context, splits),
        Cause::Upstream | Cause::UpstreamWorkers | Cause::OwnTransfer | Cause::Client => {
            return None;
        }
    })
}

fn steps(context: &Context<'_>, splits: &[&FetchSplit]) -> Evidence {
    let holds: BTreeSet<usize> =
        splits.iter().flat_map(|split| split.held.keys()).copied().collect();
    Evidence::Steps {
        steps: holds.len() as u64,
        longest: longest_hold(context, splits),
        reserve: reserve(context, holds),
    }
}

/// The reserves of these holds, by position among the records'; `None` when nobody looked.
pub(crate) fn reserve(
    context: &Context<'_>,
    holds: impl IntoIterator<Item = usize>,
) -> Option<Reserve> {
    let sessions = context.records.sessions.iter();
    let upstream_ports: BTreeMap<(u32, u64), u16> =
        sessions.filter_map(|of| Some(((of.worker, of.session), of.upstream_port?))).collect();
    let looks = context.records.sockets.iter().filter(|look| look.end == SocketEnd::Upstream);
    let looks = grouped(looks.map(|look| (look.port, look)));
    let mut depths: Vec<Bytes> = Vec::new();
    for hold in holds.into_iter().filter_map(|at| context.records.holds.get(at)) {
        let port = upstream_ports.get(&(hold.worker, hold.session));
        let looks = port.and_then(|port| looks.get(port)).into_iter().flatten();
        let inside = looks.filter(|look| (hold.start_ns..hold.end_ns).contains(&look.at_ns));
        depths.extend(inside.map(|look| look.receive_queue));
    }
    depths.sort_unstable();
    Some(Reserve {
        samples: depths.len() as u64,
        empty: depths.partition_point(|depth| *depth == Bytes(0)) as u64,
        median: *depths.get(depths.len() / 2)?,
        most: *depths.last()?,
    })
}

fn turns(context: &Context<'_>, window: Window) -> Evidence {
    let with_hold: BTreeSet<(u32, u64)> =
        context.records.holds.iter().map(|hold| (hold.worker, hold.turn)).collect();
    let inside = |turn: &&LoopTurn| window.overlaps(Window::new(turn.start_ns, turn.end_ns));
    let long = context.records.turns.iter().filter(inside);
    let long: Vec<&LoopTurn> =
        long.filter(|turn| !with_hold.contains(&(turn.worker, turn.turn))).collect();
    Evidence::Turns {
        long_turns: long.len() as u64,
        longest: long.into_iter().max_by_key(|turn| turn.length_us()).copied(),
    }
}

fn queues(context: &Context<'_>, window: Window) -> Evidence {
    let inside = |sample: &&ListenerSample| window.contains(sample.at_ns);
    let samples = || context.records.listeners.iter().filter(inside);
    Evidence::Queues {
        samples: samples().count() as u64,
        deepest: samples().max_by_key(|sample| sample.queue).copied(),
    }
}

fn counters(context: &Context<'_>) -> Evidence {
    let counters = &context.records.manifest.kernel_counters;
    let known = OVERFLOWS.into_iter().filter_map(|name| Some((name, counters.get(name)?.moved())));
    Evidence::Counters { moved: known.filter(|(_, moved)| *moved > 0).collect() }
}

fn cpu(context: &Context<'_>, window: Window) -> Evidence {
    let (mut busy_us, mut cpu_us) = (0_u64, 0_u64);
    for stretch in &context.records.stretches {
        if window.overlaps(Window::new(stretch.start_ns, stretch.end_ns)) {
            let busy = stretch.length_us().0.saturating_sub(stretch.poll_us.0);
            busy_us = busy_us.saturating_add(busy);
            cpu_us = cpu_us.saturating_add(stretch.cpu_us.0);
        }
    }
    Evidence::Cpu {
        busy_us: Micros(busy_us),
        cpu_us: Micros(cpu_us),
        run_wait_us: run_wait(context, window),
        stolen_us: stolen(context, window),
        throttled: throttled(context, window),
        slept: workers::blocked(context.records, window),
    }
}

fn throttled(context: &Context<'_>, window: Window) -> Option<ThrottleSample> {
    let samples = context.records.throttled.iter();
    let mut inside = samples.filter(|sample| window.contains(sample.at_ns));
    let first = inside.next()?;
    let last = inside.next_back()?;
    let periods = last.periods.saturating_sub(first.periods);
    let throttled_us = Micros(last.throttled_us.0.saturating_sub(first.throttled_us.0));
    (periods > 0).then_some(ThrottleSample { periods, throttled_us, ..*last })
}

/// Time ready without a CPU, of all workers in `window`.
fn run_wait(context: &Context<'_>, window: Window) -> Micros {
    let threads = &context.records.threads;
    if threads.is_empty() {
        return grown(context.counters.run_wait.values(), window);
    }
    let inside = threads.iter().filter(|threads| window.contains(threads.start_ns));
    inside.map(|threads| threads.wait_us.as_duration()).sum::<Duration>().into()
}

/// CPU time withheld from the workers' CPUs in `window`; of all CPUs where workers are not pinned.
fn stolen(context: &Context<'_>, window: Window) -> Micros {
    let cpus = &context.records.manifest.host.worker_cpus;
    let of_workers = |cpu: u32| cpus.is_empty() || cpus.contains(&(cpu as usize));
    let stolen = context.counters.stolen.iter().filter(|(cpu, _)| of_workers(**cpu));
    grown(stolen.map(|(_, withheld)| withheld), window)
}

fn grown<'a>(counters: impl Iterator<Item = &'a Cumulative>, window: Window) -> Micros {
    let grown = counters.map(|counter| counter.between(window.start, window.end));
    Duration::from_nanos(grown.fold(0, u64::saturating_add)).into()
}

fn threads(context: &Context<'_>, splits: &[&FetchSplit], window: Window) -> Evidence {
    let whole = |split: &&FetchSplit| {
        let (first, last) = (split.pieces.first()?, split.pieces.last()?);
        Some(Window::new(first.window.start, last.window.end))
    };
    let late: Vec<Window> = splits.iter().filter_map(whole).collect();
    let mut ran: BTreeMap<Option<Holder>, Duration> = BTreeMap::new();
    for threads in &context.records.threads {
        let slice = Window::new(threads.start_ns, threads.end_ns);
        if !late.iter().any(|late| late.overlaps(slice)) {
            continue;
        }
        for served in &threads.served {
            let holder = context.user(threads.worker, served.client_port, threads.end_ns);
            *ran.entry(holder).or_default() += served.run_us.as_duration();
        }
    }
    let mut served: Vec<Ran> =
        ran.into_iter().map(|(holder, ran)| Ran { holder, run_us: ran.into() }).collect();
    served.sort_by_key(|ran| (std::cmp::Reverse(ran.run_us), ran.holder));
    served.truncate(3);
    Evidence::Threads { served, slept: workers::blocked(context.records, window) }
}

fn ports(context: &Context<'_>) -> Evidence {
    let sessions = &context.records.sessions;
    let refused = sessions.iter().filter(|session| session.end == SessionEnd::NoPort);
    let used: BTreeSet<u16> = sessions.iter().filter_map(|session| session.upstream_port).collect();
    Evidence::Ports { refused: refused.count() as u64, used: used.len() as u64 }
}

fn silence(context: &Context<'_>, splits: &[&FetchSplit]) -> Evidence {
    let count = |missing: fn(&Context<'_>, &FetchSplit) -> bool| {
        splits.iter().filter(|split| missing(context, split)).count() as u64
    };
    Evidence::Silence {
        never_accepted: count(|_, split| split.worker.is_none()),
        without_session: count(|context, split| {
            context.join.fetch(split.index).is_some_and(|connection| connection.session.is_none())
        }),
        records_lost: workers::records_lost(context.records),
    }
}
