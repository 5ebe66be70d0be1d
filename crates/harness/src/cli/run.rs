//! `turnstile run`: a trial, its summary, its report, its exit code.

use std::path::Path;
use std::process::ExitCode;

use analysis::Analysis;
use anyhow::Context;
use net::role;
use rustix::process::Signal;
use trial::progress::Show;
use trial::run_dir;
use trial::{Finished, RunDirOptions, TrialOptions, signals};

use super::ConfigOptions;
use super::common::{DetailOptions, OutputOptions, TrialsOptions};
use super::preflight::{self, Way};
use super::report::{load, print, write_page};
use crate::live;
use crate::output::say;
use records::run_dir::{HISTOGRAM_LOG, PERCENTILES, SUMMARY};

/// One trial, and how it is told.
#[derive(Clone, Debug, clap::Args)]
pub struct RunOptions {
    #[command(flatten)]
    #[expect(missing_docs, reason = "clap would take it for the help of the whole group")]
    pub trial: TrialOptions,

    #[command(flatten)]
    #[expect(missing_docs, reason = "clap would take it for the help of the whole group")]
    pub files: RunDirOptions,

    #[command(flatten)]
    #[expect(missing_docs, reason = "clap would take it for the help of the whole group")]
    pub config: ConfigOptions,

    /// End when the process with this id, our parent, ends
    #[arg(long, value_name = "PID", hide = true)]
    pub parent_pid: Option<i32>,

    #[command(flatten)]
    #[expect(missing_docs, reason = "clap would take it for the help of the whole group")]
    pub trials: TrialsOptions,

    #[command(flatten)]
    #[expect(missing_docs, reason = "clap would take it for the help of the whole group")]
    pub output: OutputOptions,

    #[command(flatten)]
    #[expect(missing_docs, reason = "clap would take it for the help of the whole group")]
    pub detail: DetailOptions,
}

/// Runs one trial and reports on it.
pub(super) fn run(options: RunOptions) -> anyhow::Result<ExitCode> {
    let RunOptions { trial, files, parent_pid, trials, output, detail, .. } = options;
    if let Some(parent) = parent_pid {
        role::end_with(parent, Signal::TERM).context("failed to begin the trial")?;
    }
    preflight::look_at([("--output", &output.file, Way::InPlace)])
        .unwrap_or_else(|error| super::usage_text(&error));
    let plan = trial
        .plan(&trials.runs_dir, files)
        .unwrap_or_else(|error| super::usage_text(&error.to_string()));
    let command = live::by_hand(std::env::args().collect());
    let Finished { dir, faults, interrupted } =
        trial::run(&plan, command, Show::fitting(trials.quiet))?;
    let records = load(&dir)?;
    let analysis = Analysis::of(&records);
    file(&dir, &analysis)?;
    write_page(&dir, &analysis)?;
    print(&analysis, &dir, &output, detail)?;
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
    Ok(put(PERCENTILES, percentiles.as_bytes())?)
}
