//! `turnstile demo`: ninety seconds for a stage.

use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use net::terminal::printable;
use report::Style;
use trial::{TrialOptions, signals};

use super::campaign::planned;
use super::output;
use crate::demo::{ArmView, DemoPlan, Stage, Timing};

/// What is shown, and how.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct DemoOptions {
    /// What cures the starvation: rcvbuf (a receive buffer of 40 KiB, as published), fionread (what
    /// nginx does from 1.17.5 on) or quota (64 KiB a turn)
    #[arg(long, value_enum, default_value_t, value_name = "CURE")]
    pub cure: Cure,

    /// Take about 30 s instead of 90 s
    #[arg(long)]
    pub fast: bool,

    /// Where the directory of the show is made
    #[arg(long, value_name = "DIR", default_value = "runs")]
    pub runs_dir: PathBuf,

    /// Further options of both trials, after --
    #[arg(last = true, value_name = "OPTIONS")]
    pub trial: Vec<String>,
}

/// The examples of its help.
pub(super) const EXAMPLES: &str = "\
Examples:
  turnstile demo
  turnstile demo --fast --cure fionread
  turnstile demo -- --slow 8               a stronger load, for a slow machine
  asciinema rec -c 'turnstile demo' talk.cast        a recording: asciinema play talk.cast

Keys: space holds the picture, n goes on to the next act, q leaves. Both runs are kept, with their
reports. Exit codes: 0 shown, or left by q; 1 error, or a trial that could not be run; 2 usage.";

/// What the arm on the right does otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Cure {
    /// `--rcvbuf 40960`.
    #[default]
    Rcvbuf,
    /// `--read-policy fionread`.
    Fionread,
    /// `--read-policy bytes:64KiB`.
    Quota,
}

impl Cure {
    /// Its option, and what that does, for a room.
    const fn option(self) -> (&'static str, &'static str) {
        match self {
            Self::Rcvbuf => ("--rcvbuf 40960", "The buffer runs empty, so the worker comes back."),
            Self::Fionread => {
                ("--read-policy fionread", "It reads what was there, then comes back.")
            }
            Self::Quota => ("--read-policy bytes:64KiB", "64 KiB a turn, then it comes back."),
        }
    }
}

/// What a draining worker does, for a room.
const DRAIN: &str = "A worker reads one until its socket is empty.";

/// Shows it, and says where the runs are.
pub(super) fn demo(options: &DemoOptions) -> anyhow::Result<ExitCode> {
    let plan = plan(options).unwrap_or_else(|error| super::usage_text(&error));
    anyhow::ensure!(has_screen(), "a show needs a terminal, and keys from it");
    let (arms, signal) = crate::demo::run(plan)?;
    let told = output::print(printable(&farewell(&arms)).as_bytes());
    // Also where nobody can be told any more: the terminal has hung up.
    if let Some(signal) = signal {
        signals::die_by(signal);
    }
    told.context("failed to print where the runs are")?;
    let broken = arms.iter().any(|arm| matches!(arm.stage, Stage::Over(Err(_))));
    Ok(if broken { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn plan(options: &DemoOptions) -> Result<DemoPlan, String> {
    let mut timing = if options.fast { Timing::FAST } else { Timing::STAGE };
    let (cure, cure_says) = options.cure.option();
    let mut load_cpus = None;
    let mut arm = |name: &str, own: &str, says| {
        let [idle, measure] = [timing.idle, timing.measure].map(|span| span.as_millis());
        let words = format!("--idle {idle}ms --duration {measure}ms --reuseport {own}");
        let words = words.split_whitespace().map(str::to_owned);
        let (spec, plan) = planned(name, words.chain(options.trial.iter().cloned()).collect())?;
        let TrialOptions { arm, idle, duration, .. } = plan.trial;
        // Who gives phases another length is shown that length.
        (timing.idle, timing.measure) = (idle.as_duration(), duration.as_duration());
        load_cpus = plan.cpus.load.clone();
        let options = if own.is_empty() { "--reuseport" } else { own }.to_owned();
        Ok::<_, String>(ArmView::new(spec, options, says, arm))
    };
    let arms = [arm("starved", "", DRAIN)?, arm("cured", cure, cure_says)?];
    let style = Style::for_stream(&io::stdout());
    Ok(DemoPlan { arms, timing, runs_dir: options.runs_dir.clone(), style, load_cpus })
}

/// Whether a picture can be shown: that needs a terminal that takes orders, and keys from it.
pub(super) fn has_screen() -> bool {
    let term = std::env::var("TERM").unwrap_or_default();
    let able = !matches!(term.as_str(), "" | "dumb");
    able && io::stdout().is_terminal() && io::stdin().is_terminal()
}

/// What is left of the show: of each arm what it proved, in the words of its report, and where that is.
fn farewell(arms: &[ArmView]) -> String {
    let mut text = String::new();
    for arm in arms {
        text += &format!("{:<8} {}\n", arm.spec.name, arm.proved());
        if let Some(dir) = arm.run_dir().filter(|_| arm.summary().is_some()) {
            text += &format!("         turnstile report {} --open\n", dir.display());
        }
    }
    text
}
