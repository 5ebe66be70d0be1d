//! Starts fetches as they are due, prints each as it ends, and stops when told to.

use std::io;
use std::sync::Once;
use std::time::Duration;

use net::role::{self, Reach, RoleError};
use net::stop::{self, Next};
use net::{clock, cpu};
use records::{Arrivals, Effective, MonoNs, Ready, Record, Role};
use tokio::net::TcpStream;
use tokio::runtime::Builder;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::task::JoinSet;

use crate::FastOptions;
use crate::alarm::Alarm;
use crate::fetch::{Ended, Plan};
use crate::schedule::Schedule;
use crate::tally::Tally;

/// Time between two fetches from another host at least: 10 a second.
const REMOTE_GAP: Duration = Duration::from_millis(100);

/// Ready tasks between two looks at the sockets in an open loop. Each may read for long, and the next start
/// must not wait for many of them. A closed loop has no time to keep, but many sockets: tokio's own default
/// is for that.
const EVENT_INTERVAL: u32 = 1;

/// Fetches for `--duration`, then waits until the last one ends or hits its cap. SIGTERM or SIGINT
/// ends the arrivals early; a second one ends everything, as signals do by default.
///
/// # Errors
/// See [`RoleError`]. Trouble with single fetches is none: it is their outcome.
pub fn run(options: &FastOptions) -> Result<(), RoleError> {
    let max_open_files = options.role.enter().map_err(RoleError::process)?;
    let reach = options.target.reach()?;
    check_burst(options, reach)?;
    let effective = Effective {
        cpus: cpu::allowed().map_err(RoleError::process)?,
        max_open_files,
        ..Effective::default()
    };
    let ready = Ready::new(Role::Fast, std::process::id(), effective);
    let mut runtime = Builder::new_current_thread();
    if matches!(options.toggles.arrivals, Arrivals::PerSecond(_)) {
        runtime.event_interval(EVENT_INTERVAL);
    }
    let runtime = runtime.enable_all().build().map_err(RoleError::process)?;
    runtime.block_on(async {
        let client = Client::new(options).map_err(RoleError::process)?;
        let least_gap = match reach {
            Reach::Loopback => Duration::ZERO,
            Reach::Remote => {
                let target = options.target.target;
                say(&format!("{target} is not on this host: 10 fetches/s at most"));
                REMOTE_GAP
            }
        };
        role::tell(&Record::Ready(ready))?;
        let length = options.duration.as_duration();
        client.run(Schedule::new(options.toggles.arrivals, clock::now(), length, least_gap)).await
    })
}

/// A burst is for an open loop on this host.
fn check_burst(options: &FastOptions, reach: Reach) -> Result<(), RoleError> {
    let needs = match (options.burst, options.toggles.arrivals, reach) {
        (..=1, ..) | (_, Arrivals::PerSecond(_), Reach::Loopback) => return Ok(()),
        (_, Arrivals::Closed(_), _) => "--arrivals with a rate, as 1/s",
        (.., Reach::Remote) => "a target on this host: another one gets a fetch at a time",
    };
    Err(RoleError::Usage(format!("--burst {} needs {needs}", options.burst)))
}

/// What is needed while fetches run.
struct Client {
    plan: Plan,
    alarm: Alarm,
    signals: UnboundedReceiver<()>,
    fetches: JoinSet<Ended>,
    /// Connections that no fetch uses now.
    kept: Vec<TcpStream>,
    tally: Tally,
    /// Fetches of one arrival.
    burst: u32,
    started: u64,
}

impl Client {
    fn new(options: &FastOptions) -> io::Result<Self> {
        let (sender, signals) = unbounded_channel();
        stop::on_signal(move |_| {
            let _ = sender.send(());
            Next::Done
        })?;
        Ok(Self {
            plan: Plan::new(options.target.target, &options.toggles, options.phase)?,
            alarm: Alarm::new()?,
            signals,
            fetches: JoinSet::new(),
            kept: Vec::new(),
            tally: Tally::new(options.toggles.arrivals, clock::now()),
            burst: options.burst,
            started: 0,
        })
    }

    async fn run(mut self, mut schedule: Schedule) -> Result<(), RoleError> {
        loop {
            let now = clock::now();
            if self.fetches.is_empty() && schedule.is_over(now) {
                return self
                    .tally
                    .take_totals(now)
                    .try_for_each(|totals| role::tell(&Record::FetchTotals(totals)));
            }
            let due = schedule.due(now, self.fetches.len());
            tokio::select! {
                biased;
                Some(()) = self.signals.recv() => schedule.stop(),
                Some(ended) = self.fetches.join_next() => {
                    self.tell(ended.map_err(|e| RoleError::process(io::Error::other(e)))?)?;
                }
                rung = self.alarm.until(due.unwrap_or(now)), if due.is_some() => {
                    rung.map_err(RoleError::process)?;
                    self.start(schedule.started(clock::now())).await;
                }
            }
        }
    }

    /// Starts the fetches of one arrival, and lets them begin before anything else is done.
    async fn start(&mut self, intended: Option<MonoNs>) {
        for _ in 0..self.burst {
            let plan = self.plan.clone();
            self.fetches.spawn(plan.run(self.started, intended, self.kept.pop()));
            self.started += 1;
        }
        tokio::task::yield_now().await;
    }

    fn tell(&mut self, ended: Ended) -> Result<(), RoleError> {
        if let Some(warning) = ended.warning {
            // Once is enough: the records count it.
            static SAID: Once = Once::new();
            SAID.call_once(|| {
                say(&format!("this host could not try a fetch, nor perhaps others: {warning}"));
            });
        }
        self.kept.extend(ended.kept);
        self.tally.add(ended.record).try_for_each(|record| role::tell(&record))
    }
}

fn say(message: &str) {
    role::say("fast-client", message);
}
