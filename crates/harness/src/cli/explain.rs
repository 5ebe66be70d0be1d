//! `turnstile explain [DIR]`: what held the late fetches of a run, or one of its fetches.

use std::path::Path;
use std::process::ExitCode;

use analysis::Analysis;
use analysis::report::{Explanation, FetchReport};
use anyhow::Context;
use records::run_dir::PACKETS;
use records::{MonoNs, Phase, RunRecords, fetch_phase};

use super::common::{OutputOptions, WhichRun};
use super::report::load;

/// What to explain, and how to tell it.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  turnstile explain                                          the last run under runs/
  turnstile explain runs/20260301T123005Z-reuseport --json
  turnstile explain --fetch 17                               one fetch from start to end
  turnstile explain --phase idle --fetch 3

Exit codes: 0 done; 1 no run, or one that cannot be read; 2 usage, or no such fetch.")]
pub(super) struct ExplainOptions {
    #[command(flatten)]
    run: WhichRun,

    /// Tell this fetch from start to end, by its number
    #[arg(long, value_name = "N")]
    fetch: Option<u64>,

    /// The phase of that fetch
    #[arg(long, value_name = "PHASE", default_value = "measure", requires = "fetch", value_parser = fetch_phase())]
    phase: Phase,

    #[command(flatten)]
    output: OutputOptions,
}

/// Explains a run, or a fetch. The run directory stays as it is.
///
/// A fetch that is not there ends the process with exit code 2.
pub(super) fn explain(options: &ExplainOptions) -> anyhow::Result<ExitCode> {
    let dir = options.run.dir()?;
    let records = load(&dir)?;
    let analysis = Analysis::of(&records);
    let style = options.output.style();
    let text = match options.fetch {
        None => {
            let story = Explanation::of(&analysis);
            if options.output.json {
                report::json(&story)
            } else {
                report::story(&story, &dir, style)
            }
        }
        Some(number) => {
            let mut story = FetchReport::of(&analysis, options.phase, number)
                .unwrap_or_else(|error| super::usage_text(&format!("--fetch: {error}")));
            lay_packets(&mut story, &records, &dir)?;
            if options.output.json {
                report::json(&story)
            } else {
                report::timeline(&story, &dir, style)
            }
        }
    };
    options.output.print(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// Puts its packets into the story of a fetch, if they were kept: from when it was wanted until its port is
/// another's.
fn lay_packets(story: &mut FetchReport, records: &RunRecords, dir: &Path) -> anyhow::Result<()> {
    let Some((capture, port)) = records.manifest.capture.as_ref().zip(story.fetch.client_port)
    else {
        return Ok(());
    };
    let from = story.fetch.intended_ns;
    let ended = from + story.fetch.response_us.as_duration();
    let of_port = records.fetches.iter().filter(|fetch| fetch.client_port == Some(port));
    let next = of_port.map(|fetch| fetch.start_ns).filter(|start| *start > ended).min();
    let packets = capture.packets(dir, port, (from, next.unwrap_or(MonoNs(u64::MAX))));
    let (packets, end) =
        packets.with_context(|| format!("failed to read {PACKETS} of {}", dir.display()))?;
    story.lay_packets(&packets, next.unwrap_or(end));
    Ok(())
}
