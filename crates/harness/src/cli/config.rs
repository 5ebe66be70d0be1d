//! `--config FILE`: options that stand in a file; and `turnstile init`, which writes one.
//!
//! What stands there is options as they are typed, so no option has a second name, help or default here.
//! They are read before those of the command line, which win.

use std::ffi::OsString;
use std::fs;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use serde::Deserialize;

use crate::output;

/// What `init` writes: the starvation and its cure, to be changed.
const TEMPLATE: &str = include_str!("turnstile.toml");

/// Where else options are read from.
#[derive(Clone, Debug, clap::Args)]
pub struct ConfigOptions {
    /// Read options from this file too, as turnstile init writes one; those typed here win
    #[arg(long, hide_short_help = true, value_name = "FILE", help_heading = "Trial")]
    pub config: Option<PathBuf>,
}

/// Which file is written.
#[derive(Clone, Debug, clap::Args)]
pub struct InitOptions {
    /// The file to write
    #[arg(default_value = "turnstile.toml")]
    pub file: PathBuf,
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

/// The words of a command line, behind its command those of the file that `--config` names.
///
/// # Errors
/// The file cannot be read, or is no such file.
pub(super) fn with_config(mut words: Vec<OsString>) -> Result<Vec<OsString>, String> {
    let command = words.get(1).and_then(|word| word.to_str()).unwrap_or_default();
    let command = match command {
        "run" | "check" | "compare" => command.to_owned(),
        flag if flag.starts_with('-') => String::new(),
        _ => return Ok(words),
    };
    let Some(file) = named(&words) else { return Ok(words) };
    let failed = |what: &dyn std::fmt::Display| format!("--config {}: {what}", file.display());
    let text = fs::read_to_string(&file).map_err(|error| failed(&error))?;
    let config: Config = toml::from_str(&text).map_err(|error| failed(&error.message()))?;
    let split = |line: &str| {
        shlex::split(line).ok_or_else(|| failed(&format!("the quotes in {line:?} do not close")))
    };
    let mut from_file = match &*command {
        "check" => split(&config.check)?,
        "compare" => split(&config.compare)?,
        _ => Vec::new(),
    };
    if command == "compare" {
        let arms = config.arm.iter();
        from_file.extend(arms.map(|arm| format!("--arm={}: {}", arm.name, arm.options)));
    }
    from_file.extend(split(&config.trial)?);
    let at = if command.is_empty() { 1 } else { 2 };
    words.splice(at..at, from_file.into_iter().map(OsString::from));
    Ok(words)
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
    write(file).with_context(|| format!("failed to write {}", file.display()))?;
    let file = file.display();
    output::say(&format!(
        "turnstile: wrote {file}: change it, then turnstile --config {file}, or check, or compare"
    ));
    Ok(ExitCode::SUCCESS)
}

fn write(file: &Path) -> std::io::Result<()> {
    OpenOptions::new().write(true).create_new(true).open(file)?.write_all(TEMPLATE.as_bytes())
}
