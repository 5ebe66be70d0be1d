//! `turnstile run`: a trial, its summary, its report, its exit code.

use std::process::ExitCode;

use analysis::Analysis;
use anyhow::Context;
use net::role;
use rustix::process::Signal;

use super::report::{load, print};
use super::show;
use crate::output;
use crate::run_dir::write;
use crate::trial::{self, Finished, TrialOptions, signals};

/// Runs one trial and reports on it.
pub(super) fn run(options: TrialOptions) -> anyhow::Result<ExitCode> {
    let (json, color) = (options.json, options.color);
    if let Some(parent) = options.parent_pid {
        role::end_with(parent, Signal::TERM).context("failed to begin the trial")?;
    }
    let command = trial::child::by_hand(std::env::args().collect());
    let plan = options.plan(command).unwrap_or_else(|error| super::usage(&error));
    let finished = trial::run(&plan)?;
    let Finished { dir, faults, interrupted } = &finished;
    let records = load(dir)?;
    let analysis = Analysis::of(&records);
    write::summary(dir, &report::json(&analysis.summary))?;
    write::histograms(dir, &records).context("failed to write the histograms")?;
    show::page(dir, &analysis)?;
    print(&analysis, dir, json, color)?;
    for fault in faults {
        output::say(&format!("turnstile: {}", fault.message));
    }
    if let Some(signal) = interrupted {
        signals::die_by(*signal);
    }
    Ok(if faults.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
