//! `turnstile run`: a trial, its summary, its report, its exit code.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use analysis::Analysis;
use anyhow::Context;
use net::role;
use rustix::process::Signal;
use trial::progress::Show;
use trial::run_dir;
use trial::{Finished, RunDirOptions, TrialOptions, signals};

use super::report::{load, print};
use super::show;
use crate::child;
use crate::output::{self, Color};
use crate::run_dir::{HISTOGRAM_LOG, PERCENTILES, SUMMARY};

/// One trial, and how it is told.
#[derive(Clone, Debug, clap::Args)]
pub struct RunOptions {
    #[command(flatten)]
    #[expect(missing_docs, reason = "clap would take it for the help of the whole group")]
    pub trial: TrialOptions,

    /// Where run directories are made
    #[arg(long, value_name = "DIR", default_value = "runs", help_heading = "Output")]
    pub runs_dir: PathBuf,

    #[command(flatten)]
    #[expect(missing_docs, reason = "clap would take it for the help of the whole group")]
    pub files: RunDirOptions,

    /// Print summary.json instead of text
    #[arg(long, help_heading = "Output")]
    pub json: bool,

    /// End when the process with this id, our parent, ends
    #[arg(long, value_name = "PID", hide = true)]
    pub parent_pid: Option<i32>,

    /// Show no progress
    #[arg(short, long, help_heading = "Output")]
    pub quiet: bool,

    /// When to use colour
    #[arg(long, value_enum, default_value_t, value_name = "WHEN", help_heading = "Output")]
    pub color: Color,
}

/// Runs one trial and reports on it.
pub(super) fn run(options: RunOptions) -> anyhow::Result<ExitCode> {
    let RunOptions { trial, runs_dir, files, json, parent_pid, quiet, color } = options;
    if let Some(parent) = parent_pid {
        role::end_with(parent, Signal::TERM).context("failed to begin the trial")?;
    }
    let plan = trial.plan(&runs_dir, files).unwrap_or_else(|error| super::usage(&error));
    let command = child::by_hand(std::env::args().collect());
    let Finished { dir, faults, interrupted } = trial::run(&plan, command, Show::fitting(quiet))?;
    let records = load(&dir)?;
    let analysis = Analysis::of(&records);
    file(&dir, &analysis)?;
    show::page(&dir, &analysis)?;
    print(&analysis, &dir, json, color)?;
    for fault in &faults {
        output::say(&format!("turnstile: {}", fault.message));
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
    Ok(put(PERCENTILES, percentiles.as_bytes())?)
}
