//! `--config FILE`: options that stand in a file; and `turnstile init`, which writes one.
//!
//! What stands there is options as they are typed, so no option has a second name, help or default here.
//! They are read before those of the command line, which win, or are added where one may be repeated.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::Parser;
use serde::Deserialize;

use super::{Cli, Command};
use crate::output;

/// What `init` writes: the starvation and its cure, to be changed.
const TEMPLATE: &str = include_str!("turnstile.toml");

/// Where else options are read from.
#[derive(Debug, clap::Args)]
pub(super) struct ConfigOptions {
    /// Read options from this file too, as turnstile init writes one; those typed here win
    #[arg(long, hide_short_help = true, value_name = "FILE", help_heading = "Trial")]
    config: Option<PathBuf>,
}

/// Which file is written.
#[derive(Debug, clap::Args)]
pub(super) struct InitOptions {
    /// The file to write
    #[arg(default_value = "turnstile.toml")]
    file: PathBuf,
}

/// The examples of its help.
pub(super) const EXAMPLES: &str = "\
Examples:
  turnstile init && turnstile check --config turnstile.toml
  turnstile compare --config turnstile.toml --dry-run";

/// The file: words of a command line.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Config {
    /// Of every trial.
    trial: String,
    /// Of `check` beside them.
    check: String,
    /// Of `compare` beside them.
    compare: String,
    arm: Vec<ConfigArm>,
}

/// An arm of `compare`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ConfigArm {
    name: String,
    options: String,
}

/// What a command line says, and the file that its `--config` names.
///
/// # Errors
/// The file cannot be read, or is no such file; or what clap says of the words.
pub(super) fn parse(words: Vec<OsString>) -> Result<Cli, clap::Error> {
    let (words, trial) = with_config(words).map_err(|error| super::usage_error(&error))?;
    let mut cli = Cli::try_parse_from(words)?;
    // Behind all of the command's own options, before those of a trial that are typed.
    match &mut cli.command {
        Some(Command::Check(options)) => drop(options.trial.splice(0..0, trial)),
        Some(Command::Compare(options)) => drop(options.campaign.trial.splice(0..0, trial)),
        _ => {}
    }
    Ok(cli)
}

/// The words, behind their command those of the file that are its own options; and those of a trial that
/// stand behind all others.
fn with_config(mut words: Vec<OsString>) -> Result<(Vec<OsString>, Vec<String>), String> {
    let command = words.get(1).and_then(|word| word.to_str()).unwrap_or_default().to_owned();
    let at = match &*command {
        "run" | "check" | "compare" => 2,
        flag if flag.starts_with('-') => 1,
        _ => return Ok((words, Vec::new())),
    };
    let Some(file) = named(&words) else { return Ok((words, Vec::new())) };
    let failed = |what: &dyn std::fmt::Display| format!("--config {}: {what}", file.display());
    let text = fs::read_to_string(&file).map_err(|error| failed(&error))?;
    let config: Config = toml::from_str(&text).map_err(|error| failed(&error.message()))?;
    let split = |line: &str| {
        shlex::split(line).ok_or_else(|| failed(&format!("the quotes in {line:?} do not close")))
    };
    let trial = split(&config.trial)?;
    let (own, trial) = match &*command {
        "check" => (split(&config.check)?, trial),
        "compare" => {
            let arms = config.arm.iter();
            let arms = arms.map(|arm| format!("--arm={}: {}", arm.name, arm.options));
            (split(&config.compare)?.into_iter().chain(arms).collect(), trial)
        }
        _ => (trial, Vec::new()),
    };
    words.splice(at..at, own.into_iter().map(OsString::from));
    Ok((words, trial))
}

/// The file that `--config` names.
fn named(words: &[OsString]) -> Option<PathBuf> {
    let mut words = words.iter().take_while(|word| *word != "--");
    while let Some(word) = words.next() {
        if word == "--config" {
            return words.next().map(PathBuf::from);
        }
        if let Some(file) = word.to_str().and_then(|word| word.strip_prefix("--config=")) {
            return Some(PathBuf::from(file));
        }
    }
    None
}

/// Writes a file to begin with; one that is there stays.
pub(super) fn init(InitOptions { file }: &InitOptions) -> anyhow::Result<ExitCode> {
    let written = File::create_new(file).and_then(|mut new| new.write_all(TEMPLATE.as_bytes()));
    written.with_context(|| format!("failed to write {}", file.display()))?;
    let file = file.display();
    output::say(&format!(
        "turnstile: wrote {file}: change it, then turnstile --config {file}, or check, or compare"
    ));
    Ok(ExitCode::SUCCESS)
}
