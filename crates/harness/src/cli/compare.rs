//! `turnstile compare`: arms in turn over rounds, and what became of each against the first.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::ExitCode;

use analysis::guard::Gate;
use anyhow::Context;
use records::ArmSpec;
use serde::Deserialize;

use super::campaign::{self, CampaignOptions};
use super::campaign_report::{COMPARE, CampaignReport};
use super::output::{self, Color};
use super::preflight::{self, Way, Written};
use super::show::Extra;
use crate::campaign::arm;
use crate::run_dir::write;

/// Which arms, how often, and what to do with the result.
#[derive(Clone, Debug, clap::Args)]
pub struct CompareOptions {
    /// An arm: a name and the options of a trial, as 'cured: --reuseport --rcvbuf 40960'; the first is
    /// what the others are compared with
    #[arg(long = "arm", value_name = "NAME: OPTIONS", value_parser = arm::parse)]
    pub arms: Vec<ArmSpec>,

    /// Read arms from a TOML file: tables named arm, each with name and args
    #[arg(long = "arms", value_name = "FILE")]
    pub file: Option<PathBuf>,

    #[command(flatten)]
    #[expect(missing_docs, reason = "clap would take it for the help of the whole group")]
    pub campaign: CampaignOptions,

    /// End with 10 when an arm regressed against the first, with 11 when it is not known: a gate for
    /// CI (docs/ci.md) [default: 0, whatever became of the arms]
    #[arg(long)]
    pub gate: bool,

    /// Print the comparison as JSON instead of text
    #[arg(long)]
    pub json: bool,

    /// Write the comparison as Markdown there as well
    #[arg(long, value_name = "FILE")]
    pub markdown: Option<PathBuf>,

    /// When to use colour
    #[arg(long, value_enum, default_value_t, value_name = "WHEN")]
    pub color: Color,

    /// Further options of every arm, after --
    #[arg(last = true, value_name = "OPTIONS")]
    pub trial: Vec<String>,
}

/// The examples of its help.
pub(super) const EXAMPLES: &str = "\
Examples:
  turnstile compare --arm 'drain: --reuseport' --arm 'rcvbuf: --reuseport --rcvbuf 40960' --rounds 10
  turnstile compare --arms arms.toml --rounds 20 --dry-run
  turnstile compare --gate --arms builds.toml --rounds 10

The result says what became of each arm against the first: no change, improved, regressed or
inconclusive. docs/statistics.md tells how.";

/// The file of arms.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ArmsFile {
    arm: Vec<ArmInFile>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ArmInFile {
    name: String,
    args: String,
}

/// Names of what is written beside the journal.
const COMPARISON: &str = "comparison.json";

/// Runs the rounds, writes what can be written, and prints what became of each arm.
pub(super) fn compare(options: &CompareOptions) -> anyhow::Result<ExitCode> {
    let arms = arms(options).unwrap_or_else(|error| super::usage_text(&error));
    preflight::look_at([("--markdown", &options.markdown, Way::InPlace)])
        .unwrap_or_else(|error| super::usage_text(&error));
    let finished = campaign::run(COMPARE, arms, &options.campaign)?;
    let report = CampaignReport::of(finished.campaign())?;
    let mut written = Written::default();
    if let Extra::Comparison(comparison) = report.extra() {
        let path = finished.dir().join(COMPARISON);
        written.note(write::write_json(&path, comparison).context("failed to file the comparison"));
        if let Some(path) = &options.markdown {
            let text = report::comparison_markdown(comparison, report.rows());
            written.file(path, &text);
        }
    }
    written.note(report.write_page().map(drop));
    let style = options.color.style();
    let gate = gate(options, &report);
    let code = written.exit_code(gate);
    let mut text = if options.json { report.json() } else { report.text(style) };
    if let Extra::Comparison(comparison) = report.extra()
        && options.gate
        && !options.json
    {
        text += &report::comparison_gate(comparison, code, style);
    }
    written.note(output::print(text.as_bytes()).context("failed to print the comparison"));
    written.say();
    finished.die_if_interrupted();
    Ok(ExitCode::from(written.exit_code(gate)))
}

/// What the gate says, if one was asked for.
fn gate(options: &CompareOptions, report: &CampaignReport) -> Option<Gate> {
    match report.extra() {
        Extra::Comparison(comparison) if options.gate => Some(comparison.gate()),
        _ => None,
    }
}

/// The arms as typed and from the file.
fn arms(options: &CompareOptions) -> Result<Vec<ArmSpec>, String> {
    let mut arms = options.arms.clone();
    if let Some(path) = &options.file {
        let text = std::fs::read_to_string(path)
            .map_err(|error| format!("--arms {}: {error}", path.display()))?;
        let file: ArmsFile = toml::from_str(&text)
            .map_err(|error| format!("--arms {}: {}", path.display(), error.message()))?;
        for arm in file.arm {
            arms.push(arm::arm(&arm.name, &arm.args).map_err(|error| error.to_string())?);
        }
    }
    if arms.len() < 2 {
        return Err(format!(
            "a comparison needs two arms or more, here {} given: add --arm 'name: options'",
            if arms.len() == 1 { "is one" } else { "are none" }
        ));
    }
    let mut names = BTreeSet::new();
    if let Some(twice) = arms.iter().find(|arm| !names.insert(arm.name.clone())) {
        return Err(format!("two arms are named {:?}: give each a name of its own", twice.name));
    }
    let with_all = |arm: ArmSpec| {
        let words = arm.args.iter().chain(&options.trial).cloned().collect();
        campaign::checked(&arm.name, words)
    };
    arms.into_iter().map(with_all).collect()
}
