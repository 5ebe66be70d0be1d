//! Runs the trials of a campaign, each in a process of its own: this program, with the arm's options.
//!
//! Invariants:
//! - A trial is asked to end when this process ends, however that happens (PR_SET_PDEATHSIG), and its
//!   own children end with it.
//! - SIGINT and SIGTERM reach the trial in progress; what it had by then is kept as a part of it.

use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use net::stop::{self, Next};
use records::Summary;
use rustix::process::Signal;

use super::{Campaign, Slot};
use crate::live;

/// How a campaign ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// Every trial is done.
    Whole,
    /// This signal cut it short; what is done is in the journal.
    Interrupted(i32),
}

/// What a trial in progress may bring.
enum Event {
    /// It has ended.
    Over,
    /// This process got a signal.
    Signal(i32),
}

/// Runs what is still to do. `before` hears of each trial that is about to start, with how many come
/// after it and, from the second on, how long all that will take; `after` of each that is done.
///
/// # Errors
/// A trial left no run behind, or the journal cannot be written.
pub fn run(
    campaign: &mut Campaign,
    mut before: impl FnMut(&Campaign, Slot, usize, Option<Duration>),
    mut after: impl FnMut(&Campaign, Slot, &Summary),
) -> anyhow::Result<Ended> {
    let (sender, events) = mpsc::channel();
    let signals = sender.clone();
    stop::on_signal(move |signal| match signals.send(Event::Signal(signal)) {
        Ok(()) => Next::Wait,
        // The last trial is over: there is nobody to be asked to end but this process.
        Err(_) => Next::Unheard,
    })
    .context("failed to take note of signals")?;
    let (began, to_do) = (Instant::now(), campaign.to_do());
    for (index, slot) in to_do.iter().copied().enumerate() {
        let each = u32::try_from(index).ok().and_then(|done| began.elapsed().checked_div(done));
        let left = to_do.len() - index;
        before(campaign, slot, left - 1, each.map(|each| each * u32::try_from(left).unwrap_or(0)));
        let (run, signal) = trial(campaign, slot, &sender, &events)?;
        if let Some((dir, summary)) = run {
            campaign.note(slot, &dir, summary.verdict)?;
            after(campaign, slot, &summary);
        }
        if let Some(signal) = signal {
            return Ok(Ended::Interrupted(signal));
        }
    }
    Ok(Ended::Whole)
}

/// Its run directory and its summary.
type Run = (PathBuf, Box<Summary>);

/// Runs one trial to its end: its run, if that is whole, and the signal that came meanwhile, if one did.
fn trial(
    campaign: &Campaign,
    slot: Slot,
    sender: &Sender<Event>,
    events: &Receiver<Event>,
) -> anyhow::Result<(Option<Run>, Option<i32>)> {
    let place = campaign.place_for(slot)?;
    let arm = campaign.journal.arms.get(slot.arm);
    let options = arm.map(|arm| arm.args.as_slice()).unwrap_or_default();
    let mut command = live::command(options, &place);
    command.args(["--label", "trial"]);
    let sender = sender.clone();
    // Nobody there: nobody wants it.
    let ended = move || drop(sender.send(Event::Over));
    let mut child = live::start(command, ended).context("failed to start a trial")?;

    let mut signalled = None;
    while let Ok(Event::Signal(signal)) = events.recv() {
        signalled = Some(signal);
        // It takes each further one as haste. It may have ended.
        Signal::from_named_raw(signal).into_iter().for_each(|signal| child.signal(signal));
    }
    let status = child.reap().context("failed to wait for a trial")?;
    let asked = |signal: &i32| [Signal::INT.as_raw(), Signal::TERM.as_raw()].contains(signal);
    let signal = signalled.or(status.signal().filter(asked));
    let run = live::run_in(&place).and_then(|dir| Some((live::summary(&dir)?, dir)));
    match run {
        // It was over when the signal came: what is done stays done.
        Some((summary, dir)) if summary.interrupted.is_none() => {
            Ok((Some((dir, Box::new(summary))), signal))
        }
        _ if signal.is_some() => Ok((None, signal)),
        _ => {
            let arm = campaign.journal.arm_name(slot);
            let said = match child.stderr_tail() {
                said if said.is_empty() => said,
                said => format!(": {said}"),
            };
            bail!("a trial of arm {arm} ended without a run ({status}){said}")
        }
    }
}
