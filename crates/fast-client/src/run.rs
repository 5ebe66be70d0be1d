//! Starts fetches as they are due, prints each as it ends, and stops when told to.

use std::io;
use std::time::Duration;

use net::role::Failure;
use net::target::{Reach, RemoteTargetError};
use net::{clock, cpu, role};
use records::{Arrivals, Effective, MonoNs, Ready, Record, Role};
use tokio::runtime::Builder;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::task::JoinSet;

use crate::alarm::Alarm;
use crate::fetch::{Ended, Plan};
use crate::options::FastOptions;
use crate::schedule::Schedule;

/// Time between two fetches from another host at least: 10 a second.
const REMOTE_GAP: Duration = Duration::from_millis(100);

/// Ready tasks between two looks at the sockets. Each may read for long, and the next start must
/// not wait for many of them (tokio's own default is 61).
const EVENT_INTERVAL: u32 = 1;

/// Why the fast client could not start or go on.
#[derive(Debug, thiserror::Error)]
pub enum FastError {
    /// The target needs consent: a matter of usage.
    #[error(transparent)]
    Target(#[from] RemoteTargetError),
    /// A burst without arrivals to make it at: a matter of usage.
    #[error(
        "--burst {0} needs --arrivals with a rate, as 1/s: a closed loop has one fetch at a time"
    )]
    BurstInLoop(u32),
    /// A burst at another host: a matter of usage.
    #[error("--burst {0} needs a target on this host: another one gets a fetch at a time")]
    BurstElsewhere(u32),
    /// It could not take its place on this host: CPUs, parent, runtime, timer, signals.
    #[error("failed to set up the process: {0}")]
    Process(#[source] io::Error),
    /// Its records could not be written.
    #[error("failed to write records: {0}")]
    Records(#[source] io::Error),
    /// A second signal came while fetches were under way.
    #[error("stopped at once: {0} fetches under way have no record")]
    Interrupted(usize),
}

impl FastError {
    /// Who can mend it.
    pub fn failure(&self) -> Failure {
        match self {
            Self::Target(_) | Self::BurstInLoop(_) | Self::BurstElsewhere(_) => Failure::Usage,
            Self::Process(_) | Self::Records(_) | Self::Interrupted(_) => Failure::Trouble,
        }
    }
}

/// Fetches for `--duration`, then waits until the last one ends or hits its cap. SIGTERM or SIGINT
/// ends the arrivals early; a second one ends everything.
///
/// # Errors
/// See [`FastError`]. Trouble with single fetches is none: it is their outcome.
pub fn run(options: &FastOptions) -> Result<(), FastError> {
    let max_open_files = options.role.enter().map_err(FastError::Process)?;
    let reach = options.target.reach()?;
    check_burst(options, reach)?;
    let effective = Effective {
        cpus: cpu::allowed().map_err(FastError::Process)?,
        max_open_files,
        ..Effective::default()
    };
    let ready = Ready::new(Role::Fast, std::process::id(), effective);
    let runtime = Builder::new_current_thread()
        .enable_all()
        .event_interval(EVENT_INTERVAL)
        .build()
        .map_err(FastError::Process)?;
    runtime.block_on(async {
        let client = Client::new(options).map_err(FastError::Process)?;
        let least_gap = match reach {
            Reach::Loopback => Duration::ZERO,
            Reach::Remote => {
                say(&format!(
                    "{} is not on this host: 10 fetches/s at most",
                    options.target.target
                ));
                REMOTE_GAP
            }
        };
        print(&Record::Ready(ready))?;
        let length = options.duration.as_duration();
        client.run(Schedule::new(options.toggles.arrivals, clock::now(), length, least_gap)).await
    })
}

/// A burst is for an open loop on this host.
fn check_burst(options: &FastOptions, reach: Reach) -> Result<(), FastError> {
    match (options.burst, options.toggles.arrivals, reach) {
        (..=1, ..) | (_, Arrivals::PerSecond(_), Reach::Loopback) => Ok(()),
        (burst, Arrivals::Closed, _) => Err(FastError::BurstInLoop(burst)),
        (burst, _, Reach::Remote) => Err(FastError::BurstElsewhere(burst)),
    }
}

/// What is needed while fetches run.
struct Client {
    plan: Plan,
    alarm: Alarm,
    signals: Signals,
    fetches: JoinSet<Ended>,
    /// Fetches of one arrival.
    burst: u32,
    started: u64,
    stop: Stop,
    complaint: Complaint,
}

/// Whether a signal has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stop {
    Untold,
    Told,
}

/// Whether trouble of this host was spoken of: once is enough, the records count it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Complaint {
    Unsaid,
    Said,
}

impl Client {
    fn new(options: &FastOptions) -> io::Result<Self> {
        let toggles = &options.toggles;
        let target = options.target.target;
        Ok(Self {
            plan: Plan::new(target, toggles, options.phase).map_err(io::Error::other)?,
            alarm: Alarm::new()?,
            signals: Signals::new()?,
            fetches: JoinSet::new(),
            burst: options.burst,
            started: 0,
            stop: Stop::Untold,
            complaint: Complaint::Unsaid,
        })
    }

    async fn run(mut self, mut schedule: Schedule) -> Result<(), FastError> {
        loop {
            let now = clock::now();
            if self.fetches.is_empty() && schedule.is_over(now) {
                return Ok(());
            }
            let due = schedule.due(now, self.fetches.len());
            tokio::select! {
                biased;
                () = self.signals.next() => {
                    if self.stop == Stop::Told {
                        return Err(FastError::Interrupted(self.fetches.len()));
                    }
                    self.stop = Stop::Told;
                    schedule.stop();
                }
                Some(ended) = self.fetches.join_next() => {
                    self.tell(ended.map_err(|e| FastError::Process(io::Error::other(e)))?)?;
                }
                rung = self.alarm.until(due.unwrap_or(now)), if due.is_some() => {
                    rung.map_err(FastError::Process)?;
                    self.start(schedule.started(clock::now())).await;
                }
            }
        }
    }

    /// Starts the fetches of one arrival, and lets them begin before anything else is done.
    async fn start(&mut self, intended: Option<MonoNs>) {
        for _ in 0..self.burst {
            self.fetches.spawn(self.plan.clone().run(self.started, intended));
            self.started += 1;
        }
        tokio::task::yield_now().await;
    }

    fn tell(&mut self, ended: Ended) -> Result<(), FastError> {
        if let (Some(complaint), Complaint::Unsaid) = (ended.complaint, self.complaint) {
            self.complaint = Complaint::Said;
            say(&format!("this host could not try a fetch, nor perhaps others: {complaint}"));
        }
        print(&Record::Fetch(ended.record))
    }
}

/// SIGTERM and SIGINT.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    fn new() -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

fn print(record: &Record) -> Result<(), FastError> {
    role::print(record).map_err(FastError::Records)
}

#[expect(clippy::print_stderr, reason = "a program's own message")]
fn say(message: &str) {
    eprintln!("fast-client: {message}");
}
