//! The show for a stage: two trials, one after the other, each a process of its own, shown live.
//!
//! - `arm`: what is known of a trial, from its records
//! - `picture`: how that is drawn
//!
//! Invariants:
//! - However the show ends, the terminal is as it was before, and no process of a trial is left.
//! - While the picture is held nothing is read: the trial goes on, and its records wait in its files.

mod arm;
mod picture;

use std::path::PathBuf;
use std::sync::mpsc::Receiver;
use std::time::Duration;

use anyhow::Context;
use jiff::Timestamp;
use net::clock;
use net::cpu::CpuList;
use net::stop;
use records::run_dir::{DOWNLOADS, FETCHES, SOCKETS, STEPS, WORKERS};
use records::{MonoNs, Phase};
use report::{Style, headline};
use rustix::process::Signal;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use trial::run_dir;

pub use self::arm::{ArmView, Stage};
use crate::live::{self, LiveTrial, OwnCpus};
use crate::screen::{Key, Screen};

/// A show to be: every option checked.
#[derive(Debug)]
pub struct DemoPlan {
    /// The starved arm and the cured one.
    pub arms: [ArmView; 2],
    /// How long it takes.
    pub timing: Timing,
    /// Where the directory of the show is made.
    pub runs_dir: PathBuf,
    /// Whether the terminal shows colour.
    pub style: Style,
    /// Where the load of the trials runs, and the show with it: the workers' CPUs are theirs.
    pub load_cpus: Option<CpuList>,
}

/// How long the parts of the show take.
#[derive(Clone, Copy, Debug)]
pub struct Timing {
    /// The idle phase of each trial.
    pub idle: Duration,
    /// The measure phase of each trial.
    pub measure: Duration,
    /// By how much the acts without a trial are shorter than on a stage.
    hurry: u32,
}

impl Timing {
    /// About 90 s in all.
    pub const STAGE: Self =
        Self { idle: Duration::from_secs(4), measure: Duration::from_secs(17), hurry: 1 };
    /// About 30 s in all. The idle phase still has the 20 fetches that a baseline needs.
    pub const FAST: Self =
        Self { idle: Duration::from_millis(2_200), measure: Duration::from_secs(5), hurry: 4 };

    /// How long an act takes. Of a trial this is about: beside its two phases it starts processes and
    /// downloads, awaits the last fetches, and makes its report.
    fn of(&self, (act, _, secs): (Act, &str, u64)) -> Duration {
        match act {
            Act::Trial(_) => self.idle + self.measure + Duration::from_millis(secs * 1_000 + 500),
            _ => Duration::from_secs(secs) / self.hurry,
        }
    }
}

/// What the room is being shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Act {
    /// Who is there, before anything runs.
    Opening,
    /// The trial of an arm: fetches alone, then beside downloads.
    Trial(usize),
    /// What the first proved.
    Verdict,
    /// What will be different in the second.
    Change,
    /// Both beside each other.
    Closing,
}

/// Every act in order, with its title and how many seconds it takes on a stage; a trial beside its phases.
const ACTS: [(Act, &str, u64); 6] = [
    (Act::Opening, "who is there", 6),
    (Act::Trial(0), "before the cure", 1),
    (Act::Verdict, "what it proved", 9),
    (Act::Change, "one change", 7),
    (Act::Trial(1), "with the cure", 1),
    (Act::Closing, "side by side", 22),
];

/// What is shown of a run.
const SHOWN: [&str; 5] = [DOWNLOADS, STEPS, FETCHES, SOCKETS, WORKERS];
/// Time between two pictures: half of what passes between two writes of a trial.
const FRAME: Duration = Duration::from_millis(100);
/// A run proves nothing with fewer than 20 fetches, idle or under load. One that is counted here may
/// count for another phase there.
const ENOUGH: usize = 22;

/// Shows it: its trials, as far as they came, and the signal that ended it; Ctrl-C is SIGINT. Call it on the
/// main thread: trials end with the thread that started them.
///
/// # Errors
/// The directory, the terminal or a handler of signals could not be made. Nothing is left running
/// then, and the terminal is as it was.
pub fn run(plan: DemoPlan) -> anyhow::Result<([ArmView; 2], Option<i32>)> {
    let signals = stop::signals(&[SIGINT, SIGTERM, SIGHUP]);
    let signals = signals.context("failed to take note of signals")?;
    let cpus = OwnCpus::new(plan.load_cpus).context("failed to choose a CPU")?;
    let name = format!("{}-demo", Timestamp::now().strftime("%Y%m%dT%H%M%SZ"));
    let mut screen = Screen::enter().context("failed to take the terminal")?;
    let dir = run_dir::make_new(&plan.runs_dir, &name)?;
    let mut show = Show::new(plan.arms, plan.timing, cpus, dir);
    let signal = show.acts(&mut screen, plan.style, &signals);
    // First the terminal: whoever left should see it again at once.
    drop(screen);
    show.stop(&signals);
    // Where nothing was recorded no empty shell is left behind; another stays.
    let _ = std::fs::remove_dir(&show.dir);
    Ok((show.arms, signal))
}

/// A show in progress.
struct Show {
    arms: [ArmView; 2],
    timing: Timing,
    cpus: OwnCpus,
    dir: PathBuf,
    /// The trial that runs, and of which arm.
    trial: Option<(usize, LiveTrial)>,
    began: MonoNs,
    /// Its place among all acts.
    act: usize,
    act_began: MonoNs,
    /// Since when the picture is held.
    held: Option<MonoNs>,
    /// Whether somebody wants the phase in progress to end, once it has enough fetches.
    hastened: bool,
    /// The phase that was told to end.
    ended: Option<Phase>,
}

impl Show {
    fn new(arms: [ArmView; 2], timing: Timing, cpus: OwnCpus, dir: PathBuf) -> Self {
        let now = clock::now();
        Self {
            arms,
            timing,
            cpus,
            dir,
            trial: None,
            began: now,
            act: 0,
            act_began: now,
            held: None,
            hastened: false,
            ended: None,
        }
    }

    fn act(&self) -> Act {
        ACTS[self.act].0
    }

    /// Lets a held picture go on: the act has as much time left as it had.
    fn release(&mut self, now: MonoNs) {
        if let Some(since) = self.held.take() {
            self.act_began = self.act_began + now.since(since);
        }
    }

    /// Whether the act has come to its end.
    fn is_over(&self, now: MonoNs) -> bool {
        match self.act() {
            Act::Trial(arm) => matches!(self.arms[arm].stage, Stage::Over(_)),
            _ => now.since(self.act_began) >= self.timing.of(ACTS[self.act]),
        }
    }

    /// Shows act after act: the signal that ended it before its end, if one did.
    fn acts(&mut self, screen: &mut Screen, style: Style, signals: &Receiver<i32>) -> Option<i32> {
        loop {
            let now = clock::now();
            if self.held.is_none() {
                self.listen();
                if self.is_over(now) && !self.advance(now) {
                    return None;
                }
                self.hasten();
            }
            let shown = screen.paint(|buf| picture::draw(self, now, style, buf));
            let keys = shown.and_then(|()| screen.keys(FRAME));
            // A terminal that hangs up says so by a signal too, and that is what counts.
            if let Ok(signal) = signals.try_recv() {
                return Some(signal);
            }
            // A terminal that is gone has hung up.
            let Ok(keys) = keys else { return Some(SIGHUP) };
            for key in keys {
                let now = clock::now();
                match key {
                    Key::Hold if self.held.is_some() => self.release(now),
                    Key::Hold => self.held = Some(now),
                    Key::Next => {
                        self.release(now);
                        match self.act() {
                            Act::Trial(arm) => {
                                let phase = self.arms[arm].phase();
                                self.hastened = phase.is_none() || phase != self.ended;
                            }
                            _ if !self.advance(now) => return None,
                            _ => {}
                        }
                    }
                    Key::Quit => return None,
                    Key::Interrupt => return Some(SIGINT),
                    Key::Other => {}
                }
            }
        }
    }

    /// Takes what the trial that runs has told, and its end.
    fn listen(&mut self) {
        let Some((arm, trial)) = &mut self.trial else { return };
        let arm = &mut self.arms[*arm];
        let ended = trial.ends_within(Duration::ZERO);
        // After the question, so that nothing is left unread when it has ended.
        trial.read(&mut arm.records);
        if ended && let Some((_, trial)) = self.trial.take() {
            arm.stage = Stage::Over(trial.end());
        }
    }

    /// On to the next act, if there is one.
    fn advance(&mut self, now: MonoNs) -> bool {
        let Some((act, ..)) = ACTS.get(self.act + 1) else { return false };
        self.act += 1;
        self.act_began = now;
        (self.hastened, self.ended) = (false, None);
        if let Act::Trial(index) = *act {
            let arm = &mut self.arms[index];
            let side = ["left", "right"][index];
            let place = self.dir.join(format!("{side}-{}", arm.spec.name));
            let start = || LiveTrial::start(&arm.spec.args, &place, SHOWN);
            match self.cpus.lifted(start) {
                Ok(trial) => {
                    arm.stage = Stage::Running;
                    self.trial = Some((index, trial));
                }
                Err(error) => arm.stage = Stage::Over(Err(error.to_string())),
            }
            arm.place = Some(place);
        }
        true
    }

    /// Ends the phase in progress, if that is wanted and the trial can do without the rest.
    fn hasten(&mut self) {
        let Some((arm, trial)) = self.trial.as_ref().filter(|_| self.hastened) else { return };
        let arm = &self.arms[*arm];
        let Some(phase @ (Phase::Idle | Phase::Measure)) = arm.phase() else { return };
        if arm.fetches(phase == Phase::Idle).count() >= ENOUGH {
            (self.hastened, self.ended) = (false, Some(phase));
            trial.end_phase();
        }
    }

    /// Ends the trial that runs, if one does, in good order.
    fn stop(&mut self, signals: &Receiver<i32>) {
        let Some((arm, trial)) = self.trial.take() else { return };
        trial.stop(Signal::TERM);
        // Each signal that comes meanwhile is handed on, and it takes it as haste.
        while !trial.ends_within(FRAME) {
            if signals.try_recv().is_ok() {
                trial.stop(Signal::TERM);
            }
        }
        // Stopped early it may have made none, which is no fault of it.
        if let Ok(summary) = trial.end() {
            self.arms[arm].stage = Stage::Over(Ok(summary));
        }
    }
}

impl ArmView {
    /// What its trial proved, as its report says it.
    pub fn proved(&self) -> String {
        match &self.stage {
            Stage::Over(Ok(summary)) => headline(summary),
            Stage::Over(Err(why)) => format!("the trial could not be run: {why}"),
            Stage::Waiting | Stage::Running => "the trial has not ended".to_owned(),
        }
    }

    /// Its run directory, if it came to have one.
    pub fn run_dir(&self) -> Option<PathBuf> {
        live::run_in(self.place.as_deref()?)
    }
}

#[cfg(test)]
mod tests;
