//! `turnstile demo`: ninety seconds for a stage.

use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use ::demo::{ArmPlan, Timing};
use anyhow::Context;
use net::terminal::printable;
use trial::signals;

use super::campaign::planned;
use super::output::{self, Color};
use crate::demo::{DemoPlan, Ended};

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

    /// When to use colour
    #[arg(long, value_enum, default_value_t, value_name = "WHEN")]
    pub color: Color,

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
    /// Its option.
    const fn option(self) -> [&'static str; 2] {
        match self {
            Self::Rcvbuf => ["--rcvbuf", "40960"],
            Self::Fionread => ["--read-policy", "fionread"],
            Self::Quota => ["--read-policy", "bytes:64KiB"],
        }
    }

    /// What that does, for a room.
    const fn says(self) -> &'static str {
        match self {
            Self::Rcvbuf => "The buffer runs empty, so the worker comes back.",
            Self::Fionread => "It reads what was there, then comes back.",
            Self::Quota => "64 KiB a turn, then it comes back.",
        }
    }
}

/// What a draining worker does, for a room.
const DRAIN: &str = "A worker reads one until its socket is empty.";

/// Shows it, and says where the runs are.
pub(super) fn demo(options: &DemoOptions) -> anyhow::Result<ExitCode> {
    let plan = plan(options).unwrap_or_else(|error| super::usage_text(&error));
    anyhow::ensure!(has_screen(), "a show needs a terminal, and keys from it");
    let ended = crate::demo::run(&plan)?;
    output::print(printable(&farewell(&plan, &ended)).as_bytes())
        .context("failed to print where the runs are")?;
    if let Some(broken) = &ended.broken {
        output::say(&format!("turnstile: {broken}"));
    }
    if let Some(signal) = ended.signal {
        signals::die_by(signal);
    }
    Ok(if ended.broken.is_none() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn plan(options: &DemoOptions) -> Result<DemoPlan, String> {
    let mut timing = if options.fast { Timing::FAST } else { Timing::STAGE };
    let change = options.cure.option();
    let mut load_cpus = None;
    let mut arm = |name: &str, change: &[&str], says: &str| {
        let own: Vec<&str> = ["--reuseport"].iter().chain(change).copied().collect();
        let phases = ["--idle", &span(timing.idle), "--duration", &span(timing.measure)];
        let words = phases.iter().chain(&own).map(ToString::to_string);
        let words: Vec<String> = words.chain(options.trial.iter().cloned()).collect();
        let (spec, trial) = planned(name, words)?;
        // Who gives phases another length is shown that length.
        (timing.idle, timing.measure) = (trial.idle, trial.measure);
        load_cpus = trial.cpus.load.clone();
        Ok::<_, String>(ArmPlan {
            name: name.to_owned(),
            options: own.join(" "),
            words: spec.args,
            change: change.join(" "),
            says: says.to_owned(),
            arm: trial.arm,
        })
    };
    let arms = [arm("starved", &[], DRAIN)?, arm("cured", &change, options.cure.says())?];
    Ok(DemoPlan {
        arms,
        timing,
        runs_dir: options.runs_dir.clone(),
        style: options.color.style(),
        load_cpus,
    })
}

fn span(length: Duration) -> String {
    format!("{}ms", length.as_millis())
}

/// Whether a picture can be shown: that needs a terminal that takes orders, and keys from it.
pub(super) fn has_screen() -> bool {
    let term = std::env::var("TERM").unwrap_or_default();
    let able = !matches!(term.as_str(), "" | "dumb");
    able && io::stdout().is_terminal() && io::stdin().is_terminal()
}

/// What is left of the show.
fn farewell(plan: &DemoPlan, ended: &Ended) -> String {
    let mut text = String::new();
    for (arm, trial) in plan.arms.iter().zip(&ended.trials) {
        let name = &arm.name;
        let Some((dir, summary)) = trial else {
            text += &format!("{name:<8} was not run\n");
            continue;
        };
        let verdict = match summary {
            Some(summary) => {
                let why = summary.verdict_reasons.first().map_or("", String::as_str);
                format!("{}: {why}", summary.verdict)
            }
            None => "no summary".to_owned(),
        };
        text += &format!("{name:<8} {verdict}\n");
        if summary.is_some() {
            text += &format!("         turnstile report {} --open\n", dir.display());
        }
    }
    text
}
