//! The show for a stage: two trials, one after the other, each a process of its own, shown live.
//!
//! - `child`: the process of a trial
//! - `follow`: its records, read from its run directory as they are written
//! - [`screen`]: the terminal
//! - `front`: what the room sees, on a terminal or in lines
//!
//! Not for: the acts, their words and their picture; those are the crate `demo`.
//!
//! Invariants:
//! - A trial does nothing for being shown: what moves is read from the files that it writes anyway.
//! - However the show ends, the terminal is as it was before, and no process of a trial is left.

mod child;
mod follow;
mod front;
pub mod screen;

use std::io;
use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver};

use ::demo::{ArmPlan, Ending, Leave, Look, Order, Plain, Show, Side, Stage, Timing};
use anyhow::Context;
use jiff::Timestamp;
use net::clock;
use net::cpu::{self, CpuList};
use net::stop::{self, Next};
use records::Summary;
use rustix::process::Signal;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::run_dir::write;
use child::Trial;
use front::Front;
use screen::Screen;

/// A show to be: every option checked.
#[derive(Debug)]
pub struct DemoPlan {
    /// The starved arm and the cured one.
    pub arms: [DemoArm; 2],
    /// How long the acts take.
    pub timing: Timing,
    /// Where the directory of the show is made.
    pub runs_dir: PathBuf,
    /// Where the room looks.
    pub stage: Place,
    /// What the terminal can show.
    pub look: Look,
    /// Where the load of the trials runs, and the show with it: the workers' CPUs are theirs.
    pub load_cpus: Option<CpuList>,
}

/// An arm, and the options that make it.
#[derive(Clone, Debug)]
pub struct DemoArm {
    /// How it is announced.
    pub plan: ArmPlan,
    /// The options of its trial.
    pub words: Vec<String>,
}

/// Where the room looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// At a terminal.
    Terminal,
    /// At lines.
    Lines,
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
    let cpus = OwnCpus::new(plan.load_cpus.as_ref()).context("failed to choose a CPU")?;
    let name = format!("{}-demo", Timestamp::now().strftime("%Y%m%dT%H%M%SZ"));
    std::fs::create_dir_all(&plan.runs_dir)
        .with_context(|| format!("failed to make {}", plan.runs_dir.display()))?;
    let front = match plan.stage {
        Place::Terminal => Front::Terminal(
            Box::new(Screen::enter().context("failed to take the terminal")?),
            plan.look,
        ),
        Place::Lines => Front::Lines(Plain::default()),
    };
    let dir = write::make_new(&plan.runs_dir, &name)?;
    let [left, right] = plan.arms.each_ref().map(|arm| arm.plan.clone());
    let show = Show::new(left, right, plan.timing, clock::now());
    let running = Running { plan, cpus, dir, show, trial: None, places: [None, None] };
    Ok(running.play(front, &signals))
}

/// A show in progress.
struct Running<'a> {
    plan: &'a DemoPlan,
    cpus: OwnCpus,
    dir: PathBuf,
    show: Show,
    trial: Option<Trial>,
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
    fn play(mut self, mut front: Front, signals: &Receiver<i32>) -> Ended {
        let over = self.acts(&mut front, signals);
        // First the terminal: whoever left should see it again at once.
        drop(front);
        let left_early = !matches!(over, Over::Left(Leave::Done));
        if let Some(trial) = self.trial.take() {
            trial.end(signals);
        }
        let signal = match over {
            Over::Left(Leave::Done | Leave::Quit) => None,
            Over::Left(Leave::Interrupt) => Some(SIGINT),
            Over::Signal(signal) => Some(signal),
            // A terminal that is gone has hung up. A reader of lines has had all it wanted.
            Over::Unseen if self.plan.stage == Place::Terminal => Some(SIGHUP),
            Over::Unseen => None,
        };
        let broken = [Side::Left, Side::Right].into_iter().find_map(|side| {
            let arm = self.show.arm(side);
            match arm.stage() {
                Stage::Over(Ending::Broken(why)) if !left_early => {
                    Some(format!("the {} arm: {why}", arm.plan().name))
                }
                _ => None,
            }
        });
        let trials = self.places.map(|place| {
            let dir = follow::run_in(&place?)?;
            let summary = follow::summary(&dir);
            Some((dir, summary))
        });
        // Where nothing was recorded no empty shell is left behind; another stays.
        let _ = std::fs::remove_dir(&self.dir);
        Ended { trials, broken, signal }
    }

    fn acts(&mut self, front: &mut Front, signals: &Receiver<i32>) -> Over {
        loop {
            self.listen();
            let now = clock::now();
            for order in self.show.tick(now) {
                match order {
                    Order::Start(side) => self.start(side),
                    Order::EndPhase(_) => {
                        if let Some(trial) = &self.trial {
                            trial.signal(Signal::USR1);
                        }
                    }
                    Order::Leave(leave) => return Over::Left(leave),
                }
            }
            if front.show(&self.show, now).is_err() {
                return Over::Unseen;
            }
            match front.wait(signals) {
                Ok(front::Heard::Keys(keys)) => {
                    let now = clock::now();
                    keys.into_iter().for_each(|key| self.show.key(key, now));
                }
                Ok(front::Heard::Signal(signal)) => return Over::Signal(signal),
                Err(_) => return Over::Unseen,
            }
        }
    }

    /// Takes what the trial that runs has told, and its end.
    fn listen(&mut self) {
        let Some(trial) = &mut self.trial else { return };
        let side = trial.side();
        if let Some(ending) = trial.follow(&mut self.show) {
            self.show.over(side, ending);
            self.trial = None;
        }
    }

    fn start(&mut self, side: Side) {
        let arm = side.of(&self.plan.arms);
        let place = self.dir.join(format!("{}-{}", side.name(), arm.plan.name));
        *side.of_mut(&mut self.places) = Some(place.clone());
        // What it may run on is for the trial to divide.
        let started = self.cpus.lifted(|| Trial::start(side, &arm.words, &place));
        match started {
            Ok(trial) => self.trial = Some(trial),
            Err(error) => self.show.over(side, Ending::Broken(error.to_string())),
        }
    }
}

/// The CPUs of the show itself: this thread keeps to those of the load.
struct OwnCpus {
    all: Vec<usize>,
    own: Option<Vec<usize>>,
}

impl OwnCpus {
    fn new(load: Option<&CpuList>) -> io::Result<Self> {
        let own = load.map(|cpus| cpus.as_slice().to_vec());
        let cpus = Self { all: cpu::allowed()?, own };
        cpus.keep()?;
        Ok(cpus)
    }

    fn keep(&self) -> io::Result<()> {
        self.own.as_ref().map_or(Ok(()), |own| cpu::pin_current_thread(own))
    }

    /// Does `work` as if nothing were kept: a process that it starts may run anywhere.
    fn lifted<T>(&self, work: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        if self.own.is_some() {
            cpu::pin_current_thread(&self.all)?;
        }
        let done = work();
        self.keep()?;
        done
    }
}
