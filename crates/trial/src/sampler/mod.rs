//! A trial as it is seen from outside: a thread of its own looks at threads, CPUs, queues and
//! sockets at a steady pace, and reports what it saw as events.
//!
//! - [`proc`]: threads, workers and CPUs
//! - [`sockets`]: what waits to be read of the downloads, and accept queues
//!
//! Not for: the roles' own records, or for judging.
//!
//! Invariants:
//! - Trouble is silence: what the kernel hides has no samples, and the trial goes on.
//! - A slow look delays other looks, never the trial.
//! - It takes no CPU but that of the load, and little of it: what a look costs depends on the host, whose
//!   kernel walks tables that grow with its memory, so it is measured while the trial runs, and a look
//!   comes as often as is useful and never takes more than a small share of a CPU.

mod proc;
mod sockets;

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use net::clock::thread_cpu;
use records::{Phase, Record, Role, Watched};

use self::proc::{Cpus, Threads, Workers};
use self::sockets::{Listeners, Upstreams};
use super::children::Event;

#[cfg(test)]
mod tests;

/// The thread that looks.
#[derive(Debug)]
pub(super) struct Sampler {
    /// Absent: it was told to stop.
    orders: Option<Sender<Watch>>,
    thread: JoinHandle<()>,
}

/// What there is to look at, as it becomes known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Watch {
    /// The process of a role, by its id; it takes the place of an earlier one of the same role.
    Process(Role, u32),
    /// The threads of the proxy's workers, by worker; a worker that is a process by its main one.
    Workers(Vec<i32>),
    /// Where the origin or the proxy accepts connections.
    Listening(Role, SocketAddr),
    /// A phase begins.
    Phase(Phase),
}

/// How long records wait to be handed over together: each time wakes the thread of the trial.
const GATHER: Duration = Duration::from_millis(200);

impl Sampler {
    /// Starts the thread. It reports to `trial`, and runs where the calling thread may.
    ///
    /// `net` is the network that its sockets are in, if not ours: those of other hosts of the run are
    /// not seen. `worker_cpus` are the CPUs that workers are pinned to; empty: they may run on any.
    ///
    /// # Errors
    /// This host has no room for a thread.
    pub(super) fn start(
        trial: Sender<Event>,
        worker_cpus: Vec<usize>,
        downloads: u32,
        net: Option<PathBuf>,
    ) -> io::Result<Self> {
        let (orders, inbox) = mpsc::channel();
        let thread = thread::Builder::new().name("sampler".into()).spawn(move || {
            // Where it cannot be entered, sockets and queues are silent.
            if let Some(net) = net {
                let _ = net::role::enter_net(&net);
            }
            Lookout::new(worker_cpus, downloads).run(&inbox, &trial);
        })?;
        Ok(Self { orders: Some(orders), thread })
    }

    /// Hands on what there is to look at.
    pub(super) fn watch(&self, watch: Watch) {
        if let Some(orders) = &self.orders {
            // A thread that is gone has nothing to look at.
            let _ = orders.send(watch);
        }
    }

    /// Asks for the end of it, and does not wait.
    pub(super) fn stop(&mut self) {
        self.orders = None;
    }

    /// Waits for the end of it: all it saw has been reported then.
    pub(super) fn finish(mut self) {
        self.stop();
        let _ = self.thread.join();
    }
}

/// The state of the thread: each thing to look at, with its pace.
#[derive(Debug)]
struct Lookout {
    threads: (Threads, Pace),
    workers: (Workers, Pace),
    cpus: (Cpus, Pace),
    listeners: (Listeners, Pace),
    upstreams: (Upstreams, Pace),
    seen: Vec<Record>,
}

/// Something to look at.
trait Look {
    /// Time between two looks, where they cost little.
    const INTERVAL: Duration;
    /// The same, where they cost much.
    const LONGEST: Duration = Duration::from_secs(10);

    /// Adds what there is to see now.
    fn look(&mut self, seen: &mut Vec<Record>);
}

impl Lookout {
    fn new(worker_cpus: Vec<usize>, downloads: u32) -> Self {
        Self {
            threads: paced(Threads::default()),
            workers: paced(Workers::default()),
            cpus: paced(Cpus(worker_cpus)),
            listeners: paced(Listeners::open()),
            upstreams: paced(Upstreams::open(downloads)),
            seen: Vec::new(),
        }
    }

    /// Looks until there is nobody left who wants it.
    fn run(mut self, inbox: &Receiver<Watch>, trial: &Sender<Event>) {
        let mut hand_over = Instant::now() + GATHER;
        loop {
            let due = self.look(Instant::now()).min(hand_over);
            let heard = inbox.recv_timeout(due.saturating_duration_since(Instant::now()));
            let is_last = heard == Err(RecvTimeoutError::Disconnected);
            if let Ok(watch) = heard {
                self.heed(watch);
            }
            if is_last || Instant::now() >= hand_over {
                hand_over = Instant::now() + GATHER;
                if !self.seen.is_empty() {
                    // Nobody there: nobody wants it.
                    let _ = trial.send(Event::Sampled(std::mem::take(&mut self.seen)));
                }
            }
            if is_last {
                return;
            }
        }
    }

    /// Looks at what is due, and says when the next is.
    fn look(&mut self, now: Instant) -> Instant {
        let seen = &mut self.seen;
        let next = [
            turn(&mut self.threads, now, seen),
            turn(&mut self.workers, now, seen),
            turn(&mut self.cpus, now, seen),
            turn(&mut self.listeners, now, seen),
            turn(&mut self.upstreams, now, seen),
        ];
        next.into_iter().min().unwrap_or(now)
    }

    fn heed(&mut self, watch: Watch) {
        match watch {
            Watch::Process(role, pid) => {
                self.threads.0.add(Watched::Role(role), pid.cast_signed());
            }
            Watch::Workers(tids) => {
                for (worker, &tid) in (0..).zip(&tids) {
                    self.threads.0.add(Watched::Worker(worker), tid);
                }
                if let Some(&tid) = tids.first() {
                    self.threads.0.add_quotas(tid);
                }
                self.workers.0 = Workers::new(&tids);
            }
            Watch::Listening(Role::Proxy, addr) => self.listeners.0.addr = Some(addr),
            Watch::Listening(_, addr) => self.upstreams.0.origin = Some(addr),
            Watch::Phase(phase) => {
                self.upstreams.0.phase = phase;
                // Figures of a phase need samples at its bounds.
                self.workers.0.look(&mut self.seen);
            }
        }
    }
}

fn paced<L: Look>(look: L) -> (L, Pace) {
    (look, Pace { due: Instant::now(), cost: Duration::ZERO })
}

/// Takes a look if it is due, and says when the next is.
fn turn<L: Look>((look, pace): &mut (L, Pace), now: Instant, seen: &mut Vec<Record>) -> Instant {
    if now >= pace.due {
        let (before, began) = (seen.len(), thread_cpu().as_duration());
        look.look(seen);
        let records = u32::try_from(seen.len() - before).unwrap_or(u32::MAX);
        let took = thread_cpu().as_duration().saturating_sub(began);
        let cost = took + FILING.saturating_mul(records);
        pace.looked(now, cost, L::INTERVAL, L::LONGEST);
    }
    pace.due
}

/// The pace of one thing to look at.
#[derive(Clone, Copy, Debug)]
struct Pace {
    /// When the next look is due.
    due: Instant,
    /// What a look costs, as a moving mean: interrupts are charged to whom they hit, and one look
    /// that cost much is no reason to look away.
    cost: Duration,
}

/// One in so many parts of a CPU is what each thing to look at may take: 1 %. In the default trial
/// all of it together, with the waking up, takes 0.6 % of one of the load's CPUs (two CPUs, Linux
/// 6.18, 2026-11-21, `turnstile --reuseport --idle 1s --duration 6s`).
const SHARE: u32 = 100;
/// What it costs the thread of the trial to take and to file one record, on the same host.
const FILING: Duration = Duration::from_micros(2);
/// Weight of the past in the mean of costs, against one.
const PAST: u32 = 7;

impl Pace {
    /// A look at `now` took `cost`. Looks that were missed are not made up for.
    fn looked(&mut self, now: Instant, cost: Duration, interval: Duration, longest: Duration) {
        self.cost = (self.cost * PAST + cost) / (PAST + 1);
        let affordable = self.cost.saturating_mul(SHARE).min(longest);
        self.due = (self.due + interval).max(now + affordable);
    }
}
