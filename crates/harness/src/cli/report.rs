//! `turnstile report DIR`, and the report at the end of a run: the same text from the same records.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use anyhow::Context;
use page::Figure;
use records::{Manifest, Summary};

use super::output::{self, Color};
use super::show;
use crate::render;
use crate::run_dir::RunRecords;
use crate::summarise::summarise;

/// What to report on, and how.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Examples:
  turnstile report runs/20260301T123005Z-reuseport
  turnstile report runs/20260301T123005Z-reuseport --json
  turnstile report runs/20260301T123005Z-reuseport --open
  turnstile report runs/20260301T123005Z-reuseport --svg picture > picture.svg")]
pub struct ReportOptions {
    /// A run directory
    pub dir: PathBuf,

    /// Print summary.json instead of text
    #[arg(long)]
    pub json: bool,

    /// Write the page of the run, report.html, and print where it is
    #[arg(long, conflicts_with_all = ["json", "svg"])]
    pub html: bool,

    /// Write the page and open it in a browser
    #[arg(long, conflicts_with_all = ["json", "svg"])]
    pub open: bool,

    /// Print one figure as SVG: picture, latency, survival, causes or throughput
    #[arg(long, value_name = "FIGURE", conflicts_with = "json")]
    pub svg: Option<Figure>,

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

/// Makes and prints the report of a run. But for the page, the run directory stays as it is.
pub(super) fn report(options: &ReportOptions) -> anyhow::Result<ExitCode> {
    let report = Report::of(&options.dir)?;
    if let Some(figure) = options.svg {
        let text = show::svg(&report.records, &report.summary, figure)?;
        output::print(text.as_bytes()).context("failed to print the figure")?;
    } else if options.html || options.open {
        let path = show::page(&options.dir, &report.records, &report.summary)?;
        output::print(format!("{}\n", path.display()).as_bytes()).context("failed to print")?;
        if options.open {
            open(&path)?;
        }
    } else {
        report.print(&options.dir, options.json, options.color)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Hands the page to whatever this desktop opens pages with (xdg-open, from xdg-utils).
fn open(path: &Path) -> anyhow::Result<()> {
    let opened = Command::new("xdg-open").arg(path).stdout(Stdio::null()).status();
    let opened =
        opened.context("failed to open the page: install xdg-utils, or open it by hand")?;
    anyhow::ensure!(opened.success(), "failed to open the page: xdg-open ended with {opened}");
    Ok(())
}
