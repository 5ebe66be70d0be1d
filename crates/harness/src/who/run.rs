//! The loop: looks, tells, and looks again, until it is over.

use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use anyhow::Context;
use net::stop;
use probe::{HoldState, ProbeError, READ_EVERY, Watch};
use records::count;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use super::WhoOptions;
use super::capture::Capture;
use super::front::{Event, Front};
use super::ledger::{Ledger, Told};
use super::metrics::Door;
use super::processes::{Change, ChangeKind, Processes};
use super::queues::Queues;
use crate::output;

/// How often it is looked who has ended and who is new.
const REFRESH: Duration = Duration::from_secs(1);
/// How often it is looked who has which listener, which takes a look at each descriptor of theirs.
const RELEARN: Duration = Duration::from_secs(10);
/// Where nobody was seen to poll within this time, that is told.
const SILENT: Duration = Duration::from_secs(5);

/// Watches until it is over, and says what it came to: on a terminal as a picture, where `has_screen` says
/// that there is one.
///
/// # Errors
/// Nobody can be watched, or not any more; the terminal is as it was before.
pub(crate) fn run(options: &WhoOptions, has_screen: bool) -> anyhow::Result<()> {
    let set_up = "failed to set up the watch";
    let stop = stop::signals(&[SIGINT, SIGTERM, SIGHUP]).context(set_up)?;
    let processes = Processes::find(options)?;
    let ids = processes.ids();
    let mut watch = Watch::holds(&[], options.threshold).map_err(|error| match error {
        error @ ProbeError::NoRights { .. } => anyhow::Error::new(error).context(
            "failed to watch (in a container that takes `docker run --pid=host --cap-add=BPF \
             --cap-add=PERFMON --cap-add=SYS_PTRACE`)",
        ),
        other => other.into(),
    })?;
    if let Some(error) = watch.no_stacks() {
        output::say(&format!("turnstile who: where a holder runs is not told: {error}"));
    }
    for &pid in &ids {
        add(&mut watch, pid)?;
    }
    let mut queues = Queues::open();
    queues.learn(&ids);
    let door = options.metrics.map(Door::open).transpose()?;
    if let Some(door) = &door {
        output::say(&format!("turnstile who: metrics at http://{}/metrics", door.addr));
    }
    let who: Vec<String> =
        ids.iter().map(|pid| format!("{pid} ({})", processes.name(*pid).unwrap_or("?"))).collect();
    output::say(&format!(
        "turnstile who: watches {}: {}",
        count(who.len() as u64, "process", "processes"),
        who.join(", ")
    ));
    let front = Front::open(options, has_screen).context(set_up)?;
    let ledger = Ledger::new(options.threshold, options.addresses());
    let capture =
        options.capture_hold.map(|at_least| Capture::new(at_least, options.runs_dir.clone()));
    Running { processes, watch, queues, ledger, capture, door, front }.watch(options, &stop)
}

/// Watches another process; `false`: it has ended, and the next look at the processes says so.
fn add(watch: &mut Watch, pid: u32) -> Result<bool, ProbeError> {
    match watch.add(pid) {
        Ok(()) => Ok(true),
        Err(ProbeError::Gone { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}

struct Running {
    processes: Processes,
    watch: Watch,
    queues: Queues,
    ledger: Ledger,
    capture: Option<Capture>,
    door: Option<Door>,
    front: Front,
}

impl Running {
    fn watch(mut self, options: &WhoOptions, stop: &Receiver<i32>) -> anyhow::Result<()> {
        let began = Instant::now();
        let end = options.length.map(|length| began + length.as_duration());
        let (mut refreshed, mut learnt, mut silent) = (began, began, Some(began + SILENT));
        loop {
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
            if let Some(door) = &self.door {
                door.show(&self.ledger);
            }
            // Nobody can see it any more: the same end as by the signal that a terminal sends then.
            if self.front.tell(&self.ledger, &events).is_err() {
                return self.finish();
            }
            let left = end.map(|end| end.saturating_duration_since(Instant::now()));
            if self.processes.ids().is_empty() || left == Some(Duration::ZERO) {
                return self.finish();
            }
            match self.front.wait(stop, left.unwrap_or(READ_EVERY).min(READ_EVERY)) {
                Ok(false) => {}
                Ok(true) | Err(_) => return self.finish(),
            }
        }
    }

    fn look(&mut self) -> Result<Vec<Event<'static>>, ProbeError> {
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

    fn keep(&mut self, told: &Told, state: HoldState) -> Option<Event<'static>> {
        let capture = self.capture.as_mut().filter(|_| told.hold.state == state)?;
        capture.keep(told).map(Event::Captured)
    }

    fn refresh(&mut self) -> anyhow::Result<Vec<Change>> {
        let mut changes = Vec::new();
        for change in self.processes.refresh()? {
            // One that became another program may have ended all of its threads but one.
            let is_new = matches!(change.change, ChangeKind::Found | ChangeKind::Renamed(_));
            if !is_new || add(&mut self.watch, change.pid)? {
                changes.push(change);
            }
        }
        Ok(changes)
    }

    /// Where nobody polls, a word for each process.
    fn silent(&self) -> Vec<Event<'static>> {
        if !self.ledger.workers.is_empty() {
            return Vec::new();
        }
        let told = self.processes.ids().into_iter().map(|pid| {
            let comm = self.processes.name(pid).unwrap_or_default().to_owned();
            Event::Process(Change { pid, comm, change: ChangeKind::Silent })
        });
        told.collect()
    }

    fn finish(mut self) -> anyhow::Result<()> {
        let mut events = self.look()?;
        // Who ends the watch in a hold wants to know of that one most.
        for told in self.ledger.open.clone() {
            events.extend(self.keep(&told, HoldState::Open));
        }
        self.ledger.finish();
        // Nobody may be there to read it: then it is over all the same.
        let _ = self.front.close(&self.ledger, events);
        if self.processes.ids().is_empty() {
            output::say("turnstile who: the last of the watched processes has ended");
        }
        Ok(())
    }
}
