//! The show for a stage: two trials, one after the other, each a process of its own, shown live.
//!
//! - [`screen`]: the terminal
//! - [`crate::live`]: a trial and its records, as it writes them
//!
//! Not for: the acts, their words and their picture; those are the crate `demo`.
//!
//! Invariant: however the show ends, the terminal is as it was before, and no process of a trial is
//! left.

pub mod screen;

use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use ::demo::{ArmPlan, Leave, Order, Show, Side, Stage, Timing};
use anyhow::Context;
use jiff::Timestamp;
use net::clock;
use net::cpu::CpuList;
use net::stop::{self, Next};
use records::Summary;
use report::Style;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::live::{self, LiveTrial, OwnCpus};
use records::run_dir::{DOWNLOADS, FETCHES, SOCKETS, STEPS, WORKERS};
use screen::Screen;
use trial::run_dir;

/// A show to be: every option checked.
#[derive(Debug)]
pub struct DemoPlan {
    /// The starved arm and the cured one.
    pub arms: [ArmPlan; 2],
    /// How long the acts take.
    pub timing: Timing,
    /// Where the directory of the show is made.
    pub runs_dir: PathBuf,
    /// Whether the terminal shows colour.
    pub style: Style,
    /// Where the load of the trials runs, and the show with it: the workers' CPUs are theirs.
    pub load_cpus: Option<CpuList>,
}

/// How a show ended.
#[derive(Debug)]
pub struct Ended {
    /// The run directories and summaries of its trials, as far as they came.
    pub trials: [Option<(PathBuf, Option<Summary>)>; 2],
    /// Why a trial could not be run, if one could not.
    pub broken: Option<String>,
    /// The signal that ended it; Ctrl-C is SIGINT.
    pub signal: Option<i32>,
}

/// What is shown of a run. Downloads first: they tell whose a port is.
const SHOWN: [&str; 5] = [DOWNLOADS, STEPS, FETCHES, SOCKETS, WORKERS];
/// Time between two pictures: half of what passes between two writes of a trial.
const FRAME: Duration = Duration::from_millis(100);

/// Shows it. Call it on the main thread: trials end with the thread that started them.
///
/// # Errors
/// The directory, the terminal or a handler of signals could not be made. Nothing is left running
/// then, and the terminal is as it was.
pub fn run(plan: &DemoPlan) -> anyhow::Result<Ended> {
    let (sender, signals) = mpsc::channel();
    stop::on_signals(&[SIGINT, SIGTERM, SIGHUP], move |signal| match sender.send(signal) {
        Ok(()) => Next::Wait,
        Err(_) => Next::Unheard,
    })
    .context("failed to take note of signals")?;
    let cpus = OwnCpus::new(plan.load_cpus.clone()).context("failed to choose a CPU")?;
    let name = format!("{}-demo", Timestamp::now().strftime("%Y%m%dT%H%M%SZ"));
    std::fs::create_dir_all(&plan.runs_dir)
        .with_context(|| format!("failed to make {}", plan.runs_dir.display()))?;
    let screen = Screen::enter().context("failed to take the terminal")?;
    let dir = run_dir::make_new(&plan.runs_dir, &name)?;
    let [left, right] = plan.arms.clone();
    let show = Show::new(left, right, plan.timing, clock::now());
    let running = Running { plan, cpus, dir, show, trial: None, places: [None, None] };
    Ok(running.play(screen, &signals))
}

/// A show in progress.
struct Running<'a> {
    plan: &'a DemoPlan,
    cpus: OwnCpus,
    dir: PathBuf,
    show: Show,
    trial: Option<(Side, LiveTrial)>,
    /// Where each trial has its run directory.
    places: [Option<PathBuf>; 2],
}

/// What ended it.
enum Over {
    Left(Leave),
    Signal(i32),
    /// Nobody can see it any more.
    Unseen,
}

impl Running<'_> {
    fn play(mut self, mut screen: Screen, signals: &Receiver<i32>) -> Ended {
        let over = self.acts(&mut screen, signals);
        // First the terminal: whoever left should see it again at once.
        drop(screen);
        let left_early = !matches!(over, Over::Left(Leave::Done));
        if let Some((_, trial)) = self.trial.take() {
            trial.stop();
            // Each signal that comes meanwhile is handed on, and it takes it as haste.
            while !trial.ends_within(FRAME) {
                if signals.try_recv().is_ok() {
                    trial.stop();
                }
            }
        }
        let signal = match over {
            Over::Left(Leave::Done | Leave::Quit) => None,
            Over::Left(Leave::Interrupt) => Some(SIGINT),
            Over::Signal(signal) => Some(signal),
            // A terminal that is gone has hung up.
            Over::Unseen => Some(SIGHUP),
        };
        let broken = [Side::Left, Side::Right].into_iter().find_map(|side| {
            let arm = self.show.arm(side);
            match &arm.stage {
                Stage::Over(Err(why)) if !left_early => {
                    Some(format!("the {} arm: {why}", arm.plan.name))
                }
                _ => None,
            }
        });
        let trials = self.places.map(|place| {
            let dir = live::run_in(&place?)?;
            let summary = live::summary(&dir);
            Some((dir, summary))
        });
        // Where nothing was recorded no empty shell is left behind; another stays.
        let _ = std::fs::remove_dir(&self.dir);
        Ended { trials, broken, signal }
    }

    fn acts(&mut self, screen: &mut Screen, signals: &Receiver<i32>) -> Over {
        loop {
            self.listen();
            let now = clock::now();
            for order in self.show.tick(now) {
                match order {
                    Order::Start(side) => self.start(side),
                    Order::EndPhase(_) => {
                        if let Some((_, trial)) = &self.trial {
                            trial.end_phase();
                        }
                    }
                    Order::Leave(leave) => return Over::Left(leave),
                }
            }
            let shown = screen.show(&self.show, now, self.plan.style);
            let keys = shown.and_then(|()| screen.keys(FRAME));
            // A terminal that hangs up says so by a signal too, and that is what counts.
            if let Ok(signal) = signals.try_recv() {
                return Over::Signal(signal);
            }
            let Ok(keys) = keys else { return Over::Unseen };
            let now = clock::now();
            keys.into_iter().for_each(|key| self.show.key(key, now));
        }
    }

    /// Takes what the trial that runs has told, and its end.
    fn listen(&mut self) {
        let Some((side, trial)) = &mut self.trial else { return };
        let side = *side;
        let ended = trial.ends_within(Duration::ZERO);
        // After the question, so that nothing is left unread when it has ended.
        if let Some(manifest) = trial.manifest() {
            self.show.manifest(side, &manifest);
        }
        trial.records().iter().for_each(|record| self.show.take(side, record));
        if ended && let Some((_, trial)) = self.trial.take() {
            self.show.over(side, trial.end());
        }
    }

    fn start(&mut self, side: Side) {
        let arm = side.of(&self.plan.arms);
        let place = self.dir.join(format!("{}-{}", side.name(), arm.name));
        *side.of_mut(&mut self.places) = Some(place.clone());
        match LiveTrial::start(&arm.words, &place, SHOWN, &self.cpus) {
            Ok(trial) => self.trial = Some((side, trial)),
            Err(error) => self.show.over(side, Err(error.to_string())),
        }
    }
}
