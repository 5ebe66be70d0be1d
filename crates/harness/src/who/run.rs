//! The loop: looks, tells, and looks again, until it is over.

use std::sync::mpsc::{self, Receiver, Sender};
use std::time::{Duration, Instant};

use net::stop::{self, Next};
use probe::{HoldOptions, HoldState, ProbeError, READ_EVERY, Watch};
use records::count;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use super::capture::Capture;
use super::front::{Event, Front};
use super::ledger::{Ledger, Told};
use super::metrics::metrics;
use super::processes::{Change, ChangeKind, Processes};
use super::queues::Queues;
use super::{WhoError, WhoPlan, scrape};
use crate::output;

/// How often it is looked who has ended and who is new.
const REFRESH: Duration = Duration::from_secs(1);
/// How often it is looked who has which listener, which takes a look at each descriptor of theirs.
const RELEARN: Duration = Duration::from_secs(10);
/// Where nobody was seen to poll within this time, that is told.
const SILENT: Duration = Duration::from_secs(5);

/// What the loop waits for.
pub(super) enum News {
    /// It is to end.
    Stop,
    /// A scraper wants the metrics.
    Scrape(Sender<String>),
}

/// Watches until it is over, and says what it came to.
///
/// # Errors
/// See [`WhoError`]; the terminal is as it was before.
pub fn run(plan: &WhoPlan) -> Result<(), WhoError> {
    let (sender, news) = mpsc::channel();
    let stopper = sender.clone();
    stop::on_signals(&[SIGINT, SIGTERM, SIGHUP], move |_| match stopper.send(News::Stop) {
        Ok(()) => Next::Wait,
        Err(_) => Next::Unheard,
    })
    .map_err(WhoError::SetUp)?;
    let processes = Processes::find(&plan.chosen)?;
    let ids = processes.ids();
    let options = HoldOptions { threshold: plan.threshold };
    let mut watch = Watch::holds(&[], options).map_err(|error| match error {
        ProbeError::NoRights { .. } => WhoError::NoRights(error),
        other => other.into(),
    })?;
    if let Some(error) = watch.no_stacks() {
        output::say(&format!("turnstile who: where a holder runs is not told: {error}"));
    }
    for &pid in &ids {
        match watch.add(pid) {
            // One that has ended since it was found: the next look at the processes says so.
            Ok(()) | Err(ProbeError::NoProcess { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    let mut queues = Queues::open();
    queues.learn(&ids);
    if let Some(addr) = plan.metrics {
        let addr = scrape::serve(addr, move || {
            let (reply, answer) = mpsc::channel();
            sender.send(News::Scrape(reply)).ok()?;
            answer.recv().ok()
        })
        .map_err(|source| WhoError::Metrics { addr, source })?;
        output::say(&format!("turnstile who: metrics at http://{addr}/metrics"));
    }
    let who: Vec<String> =
        ids.iter().map(|pid| format!("{pid} ({})", processes.name(*pid).unwrap_or("?"))).collect();
    output::say(&format!(
        "turnstile who: watches {}: {}",
        count(who.len() as u64, "process", "processes"),
        who.join(", ")
    ));
    let front =
        Front::open(plan.place, plan.style, plan.chosen.to_string()).map_err(WhoError::SetUp)?;
    let ledger = Ledger::new(plan.threshold, plan.addresses);
    let capture = plan.capture.clone().map(|(at_least, runs_dir)| Capture::new(at_least, runs_dir));
    Running { processes, watch, queues, ledger, capture, front }.watch(plan, &news)
}

struct Running {
    processes: Processes,
    watch: Watch,
    queues: Queues,
    ledger: Ledger,
    capture: Option<Capture>,
    front: Front,
}

/// What ended it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Over {
    /// It was told to, or its time is over.
    Told,
    /// With the last process.
    Ended,
    /// Nobody can see it any more.
    Unseen,
}

impl Running {
    fn watch(mut self, plan: &WhoPlan, news: &Receiver<News>) -> Result<(), WhoError> {
        let began = Instant::now();
        let end = plan.length.map(|length| began + length.as_duration());
        let (mut refreshed, mut learnt, mut silent) = (began, began, Some(began + SILENT));
        let over = loop {
            let mut events = self.look()?;
            if refreshed.elapsed() >= REFRESH {
                refreshed = Instant::now();
                let changes = self.refresh()?;
                let is_new = changes.iter().any(|change| change.change == ChangeKind::Found);
                if is_new || learnt.elapsed() >= RELEARN {
                    learnt = Instant::now();
                    self.queues.learn(&self.processes.ids());
                }
                events.extend(changes.into_iter().map(Event::Process));
            }
            if silent.is_some_and(|silent| silent <= Instant::now()) {
                silent = None;
                events.extend(self.silent());
            }
            if self.front.tell(&self.ledger, &events).is_err() {
                break Over::Unseen;
            }
            if self.processes.ids().is_empty() {
                break Over::Ended;
            }
            let left = end.map(|end| end.saturating_duration_since(Instant::now()));
            if left == Some(Duration::ZERO) {
                break Over::Told;
            }
            match self.front.wait(news, left.unwrap_or(READ_EVERY).min(READ_EVERY)) {
                Ok(None) => {}
                // Nobody waits any more: that is the scraper's business.
                Ok(Some(News::Scrape(reply))) => drop(reply.send(metrics(&self.ledger))),
                Ok(Some(News::Stop)) => break Over::Told,
                Err(_) => break Over::Unseen,
            }
        };
        self.finish(over)
    }

    fn look(&mut self) -> Result<Vec<Event>, WhoError> {
        let seen = self.watch.read()?;
        let look = self.queues.look();
        if let Some(capture) = &mut self.capture {
            capture.look(seen.at, &look);
        }
        let mut events = Vec::new();
        for told in self.ledger.take(seen, &look) {
            let kept = self.keep(&told, HoldState::Closed);
            events.push(Event::Hold(Box::new(told)));
            events.extend(kept);
        }
        if let Some(capture) = self.capture.as_mut().filter(|_| self.ledger.open.is_empty()) {
            capture.forget();
        }
        Ok(events)
    }

    fn keep(&mut self, told: &Told, state: HoldState) -> Option<Event> {
        let capture = self.capture.as_mut().filter(|_| told.hold.state == state)?;
        capture.keep(told).map(Event::Captured)
    }

    fn refresh(&mut self) -> Result<Vec<Change>, WhoError> {
        let mut changes = self.processes.refresh()?;
        let mut failed = Ok(());
        changes.retain(|change| {
            // One that became another program may have ended all of its threads but one.
            if !matches!(change.change, ChangeKind::Found | ChangeKind::Renamed(_)) {
                return true;
            }
            match self.watch.add(change.pid) {
                Ok(()) => true,
                // It has ended since; the next look says so.
                Err(ProbeError::NoProcess { .. }) => false,
                Err(error) => {
                    failed = Err(error);
                    false
                }
            }
        });
        failed?;
        Ok(changes)
    }

    /// Where nobody polls, a word for each process.
    fn silent(&self) -> Vec<Event> {
        if !self.ledger.workers.is_empty() {
            return Vec::new();
        }
        let told = self.processes.ids().into_iter().map(|pid| {
            let comm = self.processes.name(pid).unwrap_or_default().to_owned();
            Event::Process(Change { pid, comm, change: ChangeKind::Silent })
        });
        told.collect()
    }

    fn finish(mut self, over: Over) -> Result<(), WhoError> {
        if over == Over::Unseen {
            return Ok(());
        }
        let mut events = self.look()?;
        // Who ends the watch in a hold wants to know of that one most.
        for told in self.ledger.open.clone() {
            events.extend(self.keep(&told, HoldState::Open));
        }
        events.push(Event::Summary(self.ledger.finish()));
        // Nobody may be there to read it: then it is over all the same.
        let _ = self.front.close(&self.ledger, &events);
        if over == Over::Ended {
            output::say("turnstile who: the last of the watched processes has ended");
        }
        Ok(())
    }
}
