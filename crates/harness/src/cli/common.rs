//! Options that several commands share, each stated once.

use std::path::PathBuf;

use crate::output::Color;

/// How a command prints.
#[derive(Clone, Copy, Debug, clap::Args)]
#[command(next_help_heading = "Output")]
pub struct OutputOptions {
    /// Print JSON instead of text
    #[arg(long)]
    pub json: bool,

    /// When to use colour
    #[arg(long, value_enum, default_value_t, value_name = "WHEN")]
    pub color: Color,
}

/// How much the report of a run says.
#[derive(Clone, Copy, Debug, clap::Args)]
#[command(next_help_heading = "Output")]
pub struct DetailOptions {
    /// Print the figures behind the report as well: outcomes, latencies, workers, every caveat
    #[arg(short, long, conflicts_with = "json")]
    pub verbose: bool,
}

/// Where trials are kept, and whether people see how they go.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Output")]
pub struct TrialsOptions {
    /// Where run directories, and those of campaigns, are made
    #[arg(long, value_name = "DIR", default_value = "runs")]
    pub runs_dir: PathBuf,

    /// Show no progress
    #[arg(short, long)]
    pub quiet: bool,
}
