//! The processes of one arm at work: servers, downloads on their way and spread over the workers,
//! then fetches.

use std::net::SocketAddr;
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use anyhow::{bail, ensure};
use fast_client::FastOptions;
use net::clock;
use net::role::RoleOptions;
use records::{
    Dialed, DownloadEnd, DownloadInterval, FetchToggles, ListenerMode, Micros, Phase, Record, Role,
    SlowOrder, SlowToggles,
};
use slow_client::SlowOptions;

use super::arm::{Arm, Load, PER_WORKER, WORKERS};
use super::report::{ArmReport, LoadReport};
use super::spread::Spread;
use super::standing::{STANDS_STILL, Standing};
use super::tally::{InOrder, Tally};
use crate::child::{Child, Event, Told};
use crate::cpu_plan::CpuPlan;
use crate::load::{ENDLESS, INTERVAL, STALLED_AFTER, reason};
use crate::roles::RoleCommand;
use crate::servers::Servers;

/// How long downloads may be dialled again until every worker holds its share. It takes some tens
/// of milliseconds a dial.
const SPREADING: Duration = Duration::from_secs(5);

/// How long every download may take to its first byte. With a draining worker one may wait for
/// seconds behind another.
const MOTION: Duration = Duration::from_secs(20);

/// How long the proxy may take, once rid of its load, to tell of the sessions of all fetches. Its
/// writer looks every 20 ms.
const LAST_SESSIONS: Duration = Duration::from_secs(5);

/// How long fetches are started at most; criterion is long done by then.
const FETCHING: Micros = Micros(3_600_000_000);

/// An arm at work. Its processes end when it is dropped, clients first.
#[derive(Debug)]
pub(super) struct Stand {
    told: Receiver<Told>,
    clients: Clients,
    _servers: Servers,
    downloads: Option<Downloads>,
    in_order: InOrder,
    tally: Tally,
}

/// They are asked for nothing any more when both are gone.
#[derive(Debug, Default)]
struct Clients {
    fast: Option<Child>,
    slow: Option<Child>,
}

/// The standing load.
#[derive(Debug)]
struct Downloads {
    spread: Spread,
    standing: Standing,
}

impl Stand {
    /// Starts everything; when it returns, the load stands and the fetches have begun.
    ///
    /// # Errors
    /// A role is not up, or a download does not move.
    pub(super) fn start(arm: &Arm) -> anyhow::Result<Self> {
        let plan = CpuPlan::of_this_host()?;
        let (sender, told) = mpsc::channel();
        let servers = Servers::start(Some(arm.toggles()), &plan, &sender)?;
        let (target, role) = (servers.target(), RoleOptions::of_child(plan.load()));
        let mut stand = Self {
            told,
            clients: Clients::default(),
            _servers: servers,
            downloads: None,
            in_order: InOrder::default(),
            tally: Tally::default(),
        };
        if arm.load() == Load::Downloads {
            let listeners = arm.toggles().listener_mode();
            let slow = slow(target, listeners, role.clone());
            stand.clients.slow = Some(Child::start(&slow, plan.load(), &sender)?);
            let spread = stand.spread(listeners)?;
            stand.await_motion(spread)?;
        }
        let fast = Child::start(&fast(target, arm, role), plan.load(), &sender)?;
        stand.clients.fast = Some(fast);
        if let Some(Downloads { spread, standing }) = &mut stand.downloads {
            *standing = Standing::new(clock::now(), spread.holders());
        }
        Ok(stand)
    }

    /// The time of the next `count` fetches together.
    ///
    /// # Errors
    /// The load does not stand, a role has ended, or a fetch says nothing about waiting.
    pub(super) fn fetch(&mut self, count: u64) -> anyhow::Result<Duration> {
        let mut sum = Duration::ZERO;
        for _ in 0..count {
            let deadline = Instant::now() + STALLED_AFTER;
            let fetch = loop {
                if let Some(fetch) = self.in_order.take() {
                    break fetch;
                }
                let Some(record) = self.next(deadline)? else {
                    bail!("no fetch ended within {STALLED_AFTER:?}")
                };
                self.file(record)?;
            };
            if let Some(downloads) = &mut self.downloads {
                downloads.standing.heard(fetch.start_ns + fetch.total_us.as_duration())?;
            }
            sum += fetch.total_us.as_duration();
            self.tally.fetch(fetch)?;
        }
        Ok(sum)
    }

    /// Ends the arm and tells what was counted, as soon as the proxy has told of every fetch.
    ///
    /// # Errors
    /// The load has not stood until now, or a role has ended before it was told to.
    pub(super) fn finish(mut self, arm: &Arm) -> anyhow::Result<ArmReport> {
        let load = self.downloads.as_ref().map(|downloads| LoadReport {
            downloads_by_worker: downloads.spread.by_worker(),
            bytes_per_sec: downloads.standing.rate(),
            longest_standstill_us: downloads.standing.longest_standstill().into(),
        });
        self.still_stands()?;
        // Without its load a worker comes to the connections that have waited to be accepted.
        self.clients = Clients::default();
        let deadline = Instant::now() + LAST_SESSIONS;
        while let Some(Told { role, event }) = self.receive(Instant::now()) {
            self.file_session(role, event)?;
        }
        while self.tally.untold() > 0 {
            let Some(Told { role, event }) = self.receive(deadline) else { break };
            self.file_session(role, event)?;
        }
        Ok(ArmReport::new(arm, &self.tally, FetchToggles::default().cap, load))
    }

    /// Dials downloads again until every worker holds its share, or the time for it is over.
    fn spread(&mut self, listeners: ListenerMode) -> anyhow::Result<Spread> {
        let mut spread = Spread::new(WORKERS, PER_WORKER);
        let deadline = Instant::now() + SPREADING;
        while !spread.is_even() {
            let Some(record) = self.next(deadline)? else { break };
            if let Some(order) = self.place(&mut spread, record)? {
                self.order(order)?;
            }
        }
        // A redial may be under way.
        spread.give_up();
        while !spread.is_settled() {
            let Some(record) = self.next(deadline + SPREADING)? else { break };
            self.place(&mut spread, record)?;
        }
        if listeners == ListenerMode::Reuseport {
            self.order(SlowOrder::Go)?;
        }
        Ok(spread)
    }

    /// Takes note of a connection, and tells what should be done about it.
    fn place(&mut self, spread: &mut Spread, record: Record) -> anyhow::Result<Option<SlowOrder>> {
        match record {
            Record::Dialed(dialed) => Ok(spread.dialed(&dialed)),
            Record::Accepted(accepted) => Ok(spread.accepted(&accepted)),
            other => self.file(other).map(|()| None),
        }
    }

    /// Sees that every worker still has something to relay: what was measured last had a load too.
    fn still_stands(&mut self) -> anyhow::Result<()> {
        if let Some(downloads) = &mut self.downloads {
            downloads.standing = Standing::new(clock::now(), downloads.spread.holders());
        }
        let deadline = Instant::now() + STANDS_STILL;
        while self.downloads.as_ref().is_some_and(|load| !load.standing.all_workers_move()) {
            let Some(record) = self.next(deadline)? else {
                bail!("a worker had nothing to relay for {STANDS_STILL:?}: the load does not stand")
            };
            self.file(record)?;
        }
        Ok(())
    }

    /// Waits until every download has received something over the connection that it has now.
    fn await_motion(&mut self, spread: Spread) -> anyhow::Result<()> {
        let standing = Standing::new(clock::now(), spread.holders());
        self.downloads = Some(Downloads { spread, standing });
        let deadline = Instant::now() + MOTION;
        while self.downloads.as_ref().is_some_and(|downloads| !downloads.standing.all_move()) {
            let Some(record) = self.next(deadline)? else {
                bail!("a download has received nothing for {MOTION:?}: there is no standing load")
            };
            self.file(record)?;
        }
        Ok(())
    }

    /// The next record, or `None` at `deadline`.
    ///
    /// # Errors
    /// A role has ended.
    fn next(&mut self, deadline: Instant) -> anyhow::Result<Option<Record>> {
        match self.receive(deadline) {
            None => Ok(None),
            Some(Told { event: Event::Record(record), .. }) => Ok(Some(*record)),
            Some(Told { role, event: Event::Ended }) => {
                bail!("the {role} process ended: see above for what it said")
            }
        }
    }

    fn receive(&self, deadline: Instant) -> Option<Told> {
        self.told.recv_timeout(deadline.saturating_duration_since(Instant::now())).ok()
    }

    /// Keeps what is needed of a record.
    fn file(&mut self, record: Record) -> anyhow::Result<()> {
        match record {
            Record::Fetch(fetch) => self.in_order.put(fetch),
            Record::Session(session) => self.tally.session(&session),
            Record::DownloadInterval(interval) => self.watch(&interval)?,
            Record::Dialed(Dialed { slot, .. }) => ensure!(
                self.downloads.is_none(),
                "download {slot} was dialled again: the load does not stand"
            ),
            Record::Download(download) => ensure!(
                download.end == DownloadEnd::Replaced || self.downloads.is_none(),
                "download {} ended ({}): the load does not stand",
                download.slot,
                reason(download.end)
            ),
            _ => {}
        }
        Ok(())
    }

    /// After the end of the clients: what they said last is not counted, nor is their end.
    fn file_session(&mut self, role: Role, event: Event) -> anyhow::Result<()> {
        match (role, event) {
            (Role::Proxy, Event::Record(record)) => self.file(*record),
            (Role::Proxy | Role::Origin, Event::Ended) => {
                bail!("the {role} process ended: see above for what it said")
            }
            _ => Ok(()),
        }
    }

    fn watch(&mut self, interval: &DownloadInterval) -> anyhow::Result<()> {
        if let Some(downloads) = &mut self.downloads {
            downloads.standing.take(interval)?;
        }
        Ok(())
    }

    fn order(&mut self, order: SlowOrder) -> anyhow::Result<()> {
        self.clients.slow.as_mut().map_or(Ok(()), |slow| slow.order(order))
    }
}

/// With a listener for each worker requests wait until all connections are where they should be:
/// a worker that is busy would accept none.
///
/// With a shared listener they must not wait: an idle worker would accept them all, while one that
/// relays leaves the next connection to the other.
fn slow(target: SocketAddr, listeners: ListenerMode, role: RoleOptions) -> RoleCommand {
    let slow = WORKERS * PER_WORKER;
    RoleCommand::Slow(Box::new(SlowOptions {
        toggles: SlowToggles { slow, slow_size: ENDLESS, ..SlowToggles::default() },
        interval: INTERVAL,
        orders: true,
        hold: listeners == ListenerMode::Reuseport,
        role,
        ..SlowOptions::to(target)
    }))
}

fn fast(target: SocketAddr, arm: &Arm, role: RoleOptions) -> RoleCommand {
    let phase = match arm.load() {
        Load::Idle => Phase::Idle,
        Load::Downloads => Phase::Measure,
    };
    RoleCommand::Fast(Box::new(FastOptions {
        duration: FETCHING,
        phase,
        role,
        ..FastOptions::to(target)
    }))
}
