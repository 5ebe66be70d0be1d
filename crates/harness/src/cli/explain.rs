//! `turnstile explain [DIR]`: what held the late fetches of a run, or one of its fetches.

use std::process::ExitCode;

use analysis::Analysis;
use analysis::report::{Explanation, FetchReport};
use records::{Phase, fetch_phase};

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
            let story = FetchReport::of(&analysis, options.phase, number)
                .unwrap_or_else(|error| super::usage_text(&format!("--fetch: {error}")));
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
