//! `turnstile report [DIR]`, and the report at the end of a run: the same text from the same records.
//! Of a campaign's directory, what the campaign said at its end.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use analysis::Analysis;
use anyhow::Context;
use records::RunRecords;
use report::Figure;

use super::campaign_report;
use super::common::{DetailOptions, OutputOptions, WhichRun};
use crate::campaign::{CAMPAIGN, Campaign};
use records::run_dir::REPORT;

/// What to report on, and how.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Examples:
  turnstile report                                           the last run under runs/
  turnstile report -v                                        with the figures behind it
  turnstile report --open
  turnstile report runs/20260301T123005Z-reuseport
  turnstile report runs/20260301T123005Z-reuseport --json
  turnstile report runs/20260301T123005Z-reuseport --open
  turnstile report runs/20260301T123005Z-reuseport --svg picture -o picture.svg
  turnstile report --csv -o fetches.csv
  turnstile report runs/20260301T140210Z-compare --html
  turnstile report runs/20260301T140210Z-compare --svg latency -o latency.svg")]
pub struct ReportOptions {
    #[command(flatten)]
    #[expect(missing_docs, reason = "clap would take it for the help of the whole group")]
    pub run: WhichRun,

    /// Write the page, report.html, and print where it is
    #[arg(long, conflicts_with_all = ["json", "svg"])]
    pub html: bool,

    /// Write the page and open it in a browser
    #[arg(long, conflicts_with_all = ["json", "svg"])]
    pub open: bool,

    /// Print one figure as SVG: picture, latency, causes or accept-queue; of a campaign latency
    #[arg(
        long,
        value_enum,
        value_name = "FIGURE",
        hide_possible_values = true,
        conflicts_with = "json"
    )]
    pub svg: Option<Figure>,

    /// Print a line of CSV for each fetch: how it ended, whose step held it, its time by cause
    #[arg(long, conflicts_with_all = ["html", "open", "json", "svg", "verbose"])]
    pub csv: bool,

    #[command(flatten)]
    #[expect(missing_docs, reason = "clap would take it for the help of the whole group")]
    pub output: OutputOptions,

    #[command(flatten)]
    #[expect(missing_docs, reason = "clap would take it for the help of the whole group")]
    pub detail: DetailOptions,
}

/// What `dir` has recorded.
pub(super) fn load(dir: &Path) -> anyhow::Result<RunRecords> {
    RunRecords::load(dir).context("failed to read the run")
}

/// Prints the report of the run in `dir`: text, or JSON.
pub(super) fn print(
    analysis: &Analysis<'_>,
    dir: &Path,
    output: &OutputOptions,
    detail: DetailOptions,
) -> anyhow::Result<()> {
    let Analysis { records: RunRecords { manifest, .. }, summary, .. } = analysis;
    let style = output.style();
    let text = match detail {
        _ if output.json => report::json(summary),
        DetailOptions { verbose: true } => report::details(manifest, summary, dir, style),
        DetailOptions { verbose: false } => report::text(manifest, summary, dir, style),
    };
    output.print(&text)
}

/// Writes the page into the run directory; returns its path.
pub(super) fn write_page(dir: &Path, analysis: &Analysis<'_>) -> anyhow::Result<PathBuf> {
    let path = dir.join(REPORT);
    fs::write(&path, report::html(analysis))
        .with_context(|| format!("failed to write {}", path.display()))?;
    Ok(path)
}

/// Makes and prints the report of a run or a campaign. But for the page, its directory stays as it is.
pub(super) fn report(options: &ReportOptions) -> anyhow::Result<ExitCode> {
    let dir = options.run.dir()?;
    if dir.join(CAMPAIGN).is_file() {
        of_campaign(&dir, options)?;
    } else {
        of_run(&dir, options)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn of_run(dir: &Path, options: &ReportOptions) -> anyhow::Result<()> {
    let records = load(dir)?;
    let analysis = Analysis::of(&records);
    match options.svg {
        Some(figure) => options.output.print(&report::svg(&analysis, figure)?),
        None if options.html || options.open => made(options, &write_page(dir, &analysis)?),
        None if options.csv => options.output.print(&report::csv(&analysis)),
        None => print(&analysis, dir, &options.output, options.detail),
    }
}

fn of_campaign(dir: &Path, options: &ReportOptions) -> anyhow::Result<()> {
    anyhow::ensure!(!options.csv, "failed to print fetches: name the run directory of one trial");
    let campaign = Campaign::open(dir).context("failed to read the campaign")?;
    let report = campaign_report::read(&campaign)?;
    match options.svg {
        Some(figure) => options.output.print(&report::campaign_svg(&report, figure)?),
        None if options.html || options.open => {
            made(options, &campaign_report::write_page(&report)?)
        }
        None => {
            let output = &options.output;
            let text = if output.json { report.json() } else { report.text(output.style()) };
            output.print(&text)
        }
    }
}

/// Says where the page is, and opens it if that is wanted.
fn made(options: &ReportOptions, page: &Path) -> anyhow::Result<()> {
    options.output.print(&format!("{}\n", page.display()))?;
    if options.open { open(page) } else { Ok(()) }
}

/// Hands the page to whatever this desktop opens pages with (xdg-open, from xdg-utils).
fn open(path: &Path) -> anyhow::Result<()> {
    let opened = Command::new("xdg-open").arg(path).stdout(Stdio::null()).status();
    let opened =
        opened.context("failed to open the page: install xdg-utils, or open it by hand")?;
    anyhow::ensure!(opened.success(), "failed to open the page: xdg-open ended with {opened}");
    Ok(())
}
