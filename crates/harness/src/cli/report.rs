//! `turnstile report DIR`, and the report at the end of a run: the same text from the same records.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use records::{Manifest, Summary};

use super::output::{self, Color};
use crate::render;
use crate::run_dir::RunRecords;
use crate::summarise::summarise;

/// What to report on, and how.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Examples:
  turnstile report runs/20260301T123005Z-reuseport
  turnstile report runs/20260301T123005Z-reuseport --json")]
pub struct ReportOptions {
    /// A run directory
    pub dir: PathBuf,

    /// Print summary.json instead of text
    #[arg(long)]
    pub json: bool,

    /// When to use colour
    #[arg(long, value_enum, default_value_t, value_name = "WHEN")]
    pub color: Color,
}

/// A report to be printed.
pub(super) struct Report {
    pub(super) manifest: Manifest,
    pub(super) summary: Summary,
    pub(super) records: RunRecords,
}

impl Report {
    /// Reads the records of `dir` and makes everything else from them.
    pub(super) fn of(dir: &Path) -> anyhow::Result<Self> {
        let records = RunRecords::load(dir).context("failed to read the run")?;
        let summary = summarise(&records);
        Ok(Self { manifest: records.manifest.clone(), summary, records })
    }

    /// Prints it: text in the style of `color`, or the document.
    pub(super) fn print(&self, dir: &Path, json: bool, color: Color) -> anyhow::Result<()> {
        let text = if json {
            render::json(&self.summary)
        } else {
            render::text(&self.manifest, &self.summary, dir, color.style())
        };
        output::print(text.as_bytes()).context("failed to print the report")
    }
}

/// Makes and prints the report of a run. The run directory stays as it is.
pub(super) fn report(options: &ReportOptions) -> anyhow::Result<ExitCode> {
    Report::of(&options.dir)?.print(&options.dir, options.json, options.color)?;
    Ok(ExitCode::SUCCESS)
}
