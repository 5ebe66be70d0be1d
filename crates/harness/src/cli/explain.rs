//! `turnstile explain [DIR]`: what held the late fetches of a run, or one of its fetches.

use std::process::ExitCode;

use analysis::Analysis;
use analysis::report::{Explanation, FetchReport, NoSuchFetch};
use clap::CommandFactory;
use clap::error::ErrorKind;
use records::Phase;

use super::Cli;
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
    #[arg(long, value_enum, default_value_t, value_name = "PHASE", requires = "fetch")]
    pub phase: FetchPhase,

    #[command(flatten)]
    #[expect(missing_docs, reason = "clap would take it for the help of the whole group")]
    pub output: OutputOptions,
}

/// Phases that have fetches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum FetchPhase {
    /// Fetches alone.
    Idle,
    /// Fetches beside downloads.
    #[default]
    Measure,
}

impl From<FetchPhase> for Phase {
    fn from(phase: FetchPhase) -> Self {
        match phase {
            FetchPhase::Idle => Self::Idle,
            FetchPhase::Measure => Self::Measure,
        }
    }
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
            let story = FetchReport::of(&analysis, options.phase.into(), number)
                .unwrap_or_else(|error| usage(&error));
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

/// Ends the process with clap's message and exit code 2.
fn usage(error: &NoSuchFetch) -> ! {
    let mut cli = Cli::command();
    // So that the usage shown is that of this command.
    cli.build();
    let command = cli.find_subcommand_mut("explain").map(std::mem::take);
    command.unwrap_or(cli).error(ErrorKind::ValueValidation, format!("--fetch: {error}")).exit()
}
