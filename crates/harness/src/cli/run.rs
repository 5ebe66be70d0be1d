//! `turnstile run`: a trial, its summary, its report, its exit code.

use std::path::Path;
use std::process::ExitCode;

use analysis::Analysis;
use anyhow::Context;
use net::role;
use rustix::process::Signal;
use trial::run_dir;
use trial::{Finished, RunDirOptions, Show, TrialOptions, signals};

use super::common::{OutputOptions, TrialsOptions, look_at};
use super::config::ConfigOptions;
use super::report::{load, print};
use crate::live;
use crate::output::{say, write_page};
use records::run_dir::{HISTOGRAM_LOG, PERCENTILES, SUMMARY};

/// One trial, and how it is told.
#[derive(Debug, clap::Args)]
pub(super) struct RunOptions {
    #[command(flatten)]
    pub(super) trial: TrialOptions,

    #[command(flatten)]
    pub(super) files: RunDirOptions,

    #[command(flatten)]
    config: ConfigOptions,

    /// End when the process with this id, our parent, ends
    #[arg(long, value_name = "PID", hide = true)]
    parent_pid: Option<i32>,

    #[command(flatten)]
    pub(super) trials: TrialsOptions,

    #[command(flatten)]
    output: OutputOptions,

    /// Print more: outcomes, times, workers, every caveat
    #[arg(short, long, conflicts_with = "json", help_heading = "Output")]
    verbose: bool,
}

/// Runs one trial and reports on it.
pub(super) fn run(options: RunOptions) -> anyhow::Result<ExitCode> {
    let RunOptions { trial, files, parent_pid, trials, output, verbose, .. } = options;
    if let Some(parent) = parent_pid {
        role::end_with(parent, Signal::TERM).context("failed to begin the trial")?;
    }
    look_at(&[("--output", &output.file)]).unwrap_or_else(|error| super::usage_text(&error));
    let plan = trial
        .plan(&trials.runs_dir, files)
        .unwrap_or_else(|error| super::usage_text(&error.to_string()));
    let command = live::by_hand(std::env::args().collect());
    let show = if trials.quiet { Show::Nothing } else { Show::Phases };
    let Finished { dir, faults, interrupted } = trial::run(&plan, command, show)?;
    let records = load(&dir)?;
    let analysis = Analysis::of(&records);
    file(&dir, &analysis)?;
    write_page(&dir, &report::html(&analysis))?;
    print(&analysis, &dir, &output, verbose)?;
    for fault in &faults {
        say(&format!("turnstile: {}", fault.message));
    }
    if let Some(signal) = interrupted {
        signals::die_by(signal);
    }
    Ok(if faults.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Writes or replaces what a run directory has that is made from its records: the summary, and the
/// latencies in both forms that HdrHistogram's tools read.
fn file(dir: &Path, analysis: &Analysis<'_>) -> anyhow::Result<()> {
    let intervals = analysis::interval_log(analysis.records);
    let percentiles = analysis::percentiles(analysis.records);
    let put = |name: &str, bytes: &[u8]| run_dir::write(&dir.join(name), bytes);
    put(SUMMARY, report::json(&analysis.summary).as_bytes())?;
    put(HISTOGRAM_LOG, &intervals.context("failed to make the histograms")?)?;
    put(PERCENTILES, percentiles.as_bytes())
}
