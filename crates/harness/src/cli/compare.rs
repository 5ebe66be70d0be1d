//! `turnstile compare`: arms in turn over rounds, and what became of each against the first.

use std::collections::BTreeSet;
use std::process::ExitCode;

use records::ArmSpec;

use super::ConfigOptions;
use super::campaign::{self, CampaignOptions, Ends, planned};
use super::campaign_report::COMPARE;
use crate::campaign::arm;

/// Which arms, how often, and what to do with the result.
#[derive(Clone, Debug, clap::Args)]
pub struct CompareOptions {
    /// An arm: a name and the options of a trial, as 'cured: --reuseport --rcvbuf 40960'; the first is
    /// what the others are compared with
    #[arg(long = "arm", value_name = "NAME: OPTIONS", value_parser = arm::parse)]
    pub arms: Vec<ArmSpec>,

    #[command(flatten)]
    #[expect(missing_docs, reason = "clap would take it for the help of the whole group")]
    pub config: ConfigOptions,

    /// End with 10 when an arm regressed against the first, with 11 when it is not known: a gate for
    /// CI (docs/ci.md) [default: 0, whatever became of the arms]
    #[arg(long)]
    pub gate: bool,

    #[command(flatten)]
    #[expect(missing_docs, reason = "clap would take it for the help of the whole group")]
    pub campaign: CampaignOptions,
}

/// The examples of its help.
pub(super) const EXAMPLES: &str = "\
Examples:
  turnstile compare --arm 'drain: --reuseport' --arm 'rcvbuf: --reuseport --rcvbuf 40960' --rounds 10
  turnstile compare --gate --config turnstile.toml --rounds 10

The result says what became of each arm against the first: no change, improved, regressed or
inconclusive. docs/internals/statistics.md tells how.";

/// Runs the rounds, and tells what became of each arm.
pub(super) fn compare(options: &CompareOptions) -> anyhow::Result<ExitCode> {
    let arms = arms(options).unwrap_or_else(|error| super::usage_text(&error));
    let ends = if options.gate { Ends::AsGated } else { Ends::Well };
    campaign::run(COMPARE, arms, &options.campaign, ends)
}

/// The arms, with the options of all.
fn arms(options: &CompareOptions) -> Result<Vec<ArmSpec>, String> {
    let arms = options.arms.clone();
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
        let words = arm.args.iter().chain(&options.campaign.trial).cloned().collect();
        planned(&arm.name, words).map(|(arm, _)| arm)
    };
    arms.into_iter().map(with_all).collect()
}
