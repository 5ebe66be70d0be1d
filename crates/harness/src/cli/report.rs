//! `turnstile report [DIR]`, and the report at the end of a run: the same text from the same records.
//! Of a campaign's directory, what the campaign said at its end.

use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use analysis::Analysis;
use anyhow::Context;
use records::RunRecords;

use super::campaign;
use super::common::{OutputOptions, WhichRun};
use crate::campaign::{CAMPAIGN, Campaign};

/// What to report on, and how.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  turnstile report                                           the last run under runs/
  turnstile report -v                                        with the figures behind it
  turnstile report --open
  turnstile report runs/20260301T123005Z-reuseport
  turnstile report runs/20260301T123005Z-reuseport --json
  turnstile report runs/20260301T123005Z-reuseport --open
  turnstile report runs/20260301T123005Z-reuseport --svg -o picture.svg
  turnstile report --csv -o fetches.csv
  turnstile report runs/20260301T140210Z-compare --html
  turnstile report runs/20260301T140210Z-compare --svg -o latency.svg")]
pub(super) struct ReportOptions {
    #[command(flatten)]
    run: WhichRun,

    /// Write the page, report.html, and print where it is
    #[arg(long, conflicts_with_all = ["json", "svg"])]
    html: bool,

    /// Write the page and open it in a browser
    #[arg(long, conflicts_with_all = ["json", "svg"])]
    open: bool,

    /// Print the picture of a run as SVG, or the latencies of a campaign's arms
    #[arg(long, conflicts_with = "json")]
    svg: bool,

    /// Print a line of CSV for each fetch: how it ended, whose step held it, its time by cause
    #[arg(long, conflicts_with_all = ["html", "open", "json", "svg", "verbose"])]
    csv: bool,

    #[command(flatten)]
    output: OutputOptions,

    /// Print more: outcomes, times, workers, every caveat
    #[arg(short, long, conflicts_with = "json", help_heading = "Output")]
    verbose: bool,
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
    verbose: bool,
) -> anyhow::Result<()> {
    let Analysis { records: RunRecords { manifest, .. }, summary, .. } = analysis;
    let style = output.style();
    let text = match (output.json, verbose) {
        (true, _) => report::json(summary),
        (false, true) => report::details(manifest, summary, dir, style),
        (false, false) => report::text(manifest, summary, dir, style),
    };
    output.print(&text)
}

/// Makes and prints the report of a run or a campaign. But for the page, its directory stays as it is.
pub(super) fn report(options: &ReportOptions) -> anyhow::Result<ExitCode> {
    let ReportOptions { svg, output, .. } = options;
    let page = options.html || options.open;
    let dir = options.run.dir()?;
    if dir.join(CAMPAIGN).is_file() {
        anyhow::ensure!(!options.csv, "failed to print fetches: name the run directory of a trial");
        let campaign = Campaign::open(&dir).context("failed to read the campaign")?;
        let report = campaign::read(&campaign)?;
        if *svg {
            output.print(&report::campaign_svg(&report).context("there was no fetch")?)?;
        } else if page {
            made(options, &crate::output::write_page(&dir, &report::campaign_html(&report))?)?;
        } else {
            output.print(&if output.json { report.json() } else { report.text(output.style()) })?;
        }
    } else {
        let records = load(&dir)?;
        let analysis = Analysis::of(&records);
        if *svg {
            let drawn = report::svg(&analysis);
            output.print(&drawn.context("no worker and no fetch of this run is known")?)?;
        } else if page {
            made(options, &crate::output::write_page(&dir, &report::html(&analysis))?)?;
        } else if options.csv {
            output.print(&report::csv(&analysis))?;
        } else {
            print(&analysis, &dir, output, options.verbose)?;
        }
    }
    Ok(ExitCode::SUCCESS)
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
