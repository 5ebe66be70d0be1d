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
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Examples:
  turnstile explain                                          the last run under runs/
  turnstile explain runs/20260301T123005Z-reuseport --json
  turnstile explain --fetch 17                               one fetch from start to end
  turnstile explain --phase idle --fetch 3

Exit codes: 0 done; 1 no run, or one that cannot be read; 2 usage, or no such fetch.")]
pub struct ExplainOptions {
    #[command(flatten)]
    #[expect(missing_docs, reason = "clap would take it for the help of the whole group")]
    pub run: WhichRun,

    /// Tell this fetch from start to end, by its number
    #[arg(long, value_name = "N")]
    pub fetch: Option<u64>,

    /// The phase of that fetch
    #[arg(long, value_name = "PHASE", default_value = "measure", requires = "fetch", value_parser = fetch_phase())]
    pub phase: Phase,

    #[command(flatten)]
    #[expect(missing_docs, reason = "clap would take it for the help of the whole group")]
    pub output: OutputOptions,
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

/// Puts its packets into the story of a fetch, if they were kept: from when it was wanted until somebody
/// else has its port.
fn lay_packets(story: &mut FetchReport, records: &RunRecords, dir: &Path) -> anyhow::Result<()> {
    let RunRecords { manifest, fetches, .. } = records;
    let (Some(capture), Some(port)) = (&manifest.capture, story.client_port) else { return Ok(()) };
    let from = story.wanted_ns;
    let next = fetches.iter().filter(|fetch| fetch.client_port == Some(port));
    let next = next
        .map(|fetch| fetch.start_ns)
        .filter(|start| *start > from + story.response_us.as_duration())
        .min();
    let packets = capture.packets(dir, port, (from, next.unwrap_or(MonoNs(u64::MAX))));
    let (packets, end) =
        packets.with_context(|| format!("failed to read {PACKETS} of {}", dir.display()))?;
    story.lay_packets(&packets, next.unwrap_or(end));
    Ok(())
}
