//! What all commands of many trials share: how often, in which order, where; their end, and what they say,
//! which is the same later from the campaign's directory. And `turnstile compare`.
//!
//! Invariant: everything is made from the journal and the trials' own records; `comparison.json` is
//! written for others and never read.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use analysis::guard::rounds::Ran;
use analysis::guard::{Comparison, ERROR, Gate};
use anyhow::Context;
use jiff::Timestamp;
use records::{ArmSpec, count};
use report::Arm;
use trial::{RunDirOptions, TrialPlan, run_dir, signals};

use super::common::{OutputOptions, TrialsOptions, look_at};
use super::config::ConfigOptions;
use super::output;
use crate::campaign::{Campaign, Journal, arm};
use crate::cases;

/// Which arms, and what to do with the result.
#[derive(Debug, clap::Args)]
pub(super) struct CompareOptions {
    /// An arm: a name and the options of a trial, as 'cured: --reuseport --rcvbuf 40960'; the first is
    /// what the others are compared with
    #[arg(long = "arm", value_name = "NAME: OPTIONS", value_parser = arm::parse)]
    arms: Vec<ArmSpec>,

    #[command(flatten)]
    config: ConfigOptions,

    /// End with 10 when an arm regressed against the first, with 11 when it is not known: a gate for
    /// CI (docs/ci.md) [default: 0, whatever became of the arms]
    #[arg(long)]
    gate: bool,

    #[command(flatten)]
    pub(super) campaign: CampaignOptions,
}

/// How a campaign is run and told.
#[derive(Debug, clap::Args)]
pub(super) struct CampaignOptions {
    /// Further options of every trial, behind all others
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "OPTIONS")]
    pub(super) trial: Vec<String>,

    /// Rounds: trials of every arm, in an order drawn anew for each round
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000), help_heading = "Campaign")]
    rounds: u32,

    /// Draw the order from this number [default: a new one, printed]
    #[arg(long, value_name = "N", help_heading = "Campaign")]
    seed: Option<u64>,

    /// Print which trials would be run, and how long they take
    #[arg(long, help_heading = "Campaign")]
    dry_run: bool,

    /// Write the result as Markdown there as well
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    markdown: Option<PathBuf>,

    #[command(flatten)]
    trials: TrialsOptions,

    #[command(flatten)]
    pub(super) output: OutputOptions,
}

/// The examples of the help of `compare`.
pub(super) const EXAMPLES: &str = "\
Examples:
  turnstile compare --arm 'drain: --reuseport' --arm 'rcvbuf: --reuseport --rcvbuf 40960' --rounds 10
  turnstile compare --gate --arm 'main: ' --arm 'branch: --read-policy fionread' --rounds 10 --slow 8

The result says what became of each arm against the first: no change, improved, regressed or
inconclusive. docs/internals/statistics.md tells how.";

/// What a journal says that its campaign is for: a comparison, or a case by the name that follows.
const COMPARE: &str = "compare";
pub(super) const CASE: &str = "case ";

/// Runs arms in turn, and tells what became of each against the first.
pub(super) fn compare(options: &CompareOptions) -> anyhow::Result<ExitCode> {
    let arms = arms(options).unwrap_or_else(|error| super::usage_text(&error));
    let report = run(COMPARE, arms, &options.campaign)?;
    let gate = report.comparison.as_ref().filter(|_| options.gate).map(Comparison::gate);
    tell(&report, gate, &options.campaign)
}

/// The arms, with the options of all.
fn arms(options: &CompareOptions) -> Result<Vec<ArmSpec>, String> {
    let arms = &options.arms;
    if arms.len() < 2 {
        return Err(format!(
            "a comparison needs two arms or more, here {} given: add --arm 'name: options'",
            if arms.len() == 1 { "is one" } else { "are none" }
        ));
    }
    let mut names = BTreeSet::new();
    if let Some(twice) = arms.iter().find(|arm| !names.insert(&arm.name)) {
        return Err(format!("two arms are named {:?}: give each a name of its own", twice.name));
    }
    let with_all = |arm: &ArmSpec| {
        let words = arm.args.iter().chain(&options.campaign.trial).cloned().collect();
        planned(&arm.name, words).map(|(arm, _)| arm)
    };
    arms.iter().map(with_all).collect()
}

/// An arm whose options fit each other, this host and its proxy; and the trial that it is.
///
/// # Errors
/// What does not fit, beginning with the arm's name.
pub(super) fn planned(name: &str, words: Vec<String>) -> Result<(ArmSpec, TrialPlan), String> {
    let arm = arm::from_words(name, words)?;
    let options = arm::options(&arm)?;
    let plan = options.plan(Path::new("runs"), RunDirOptions::default());
    Ok((arm, plan.map_err(|error| format!("{name}: {error}"))?))
}

/// Runs `arms` in turn: what became of them. One that was cut short is told, and ends the process by the
/// signal; a plan that was asked for alone ends it too.
pub(super) fn run(
    purpose: &str,
    arms: Vec<ArmSpec>,
    options: &CampaignOptions,
) -> anyhow::Result<report::Campaign> {
    look_at(&[("--markdown", &options.markdown), ("--output", &options.output.file)])
        .unwrap_or_else(|error| super::usage_text(&error));
    // One of this moment is short enough to be typed again.
    let fresh = || u64::from(Timestamp::now().subsec_nanosecond().unsigned_abs() / 1_000);
    let journal = Journal::new(purpose, options.rounds, options.seed.unwrap_or_else(fresh), arms);
    let plan = plan(&journal);
    if options.dry_run {
        output::print(plan.as_bytes()).context("failed to print the plan")?;
        std::process::exit(0);
    }
    if !options.trials.quiet {
        output::say(plan.lines().next().unwrap_or_default());
    }
    let mut campaign = Campaign::create(&options.trials.runs_dir, journal)
        .context("failed to begin the campaign")?;
    let signal = campaign.run(options.trials.quiet).context("failed to run the campaign")?;
    let report = read(&campaign)?;
    if let Some(signal) = signal {
        tell(&report, None, options)?;
        let (done, all) = (campaign.journal.done.len(), campaign.journal.planned());
        output::say(&format!(
            "turnstile: cut short after {done} of {all} trials; turnstile report {} tells them again",
            campaign.dir.display()
        ));
        signals::die_by(signal);
    }
    Ok(report)
}

fn plan(journal: &Journal) -> String {
    let all = journal.planned();
    let mut text = format!(
        "{} in {}, seed {}, about {}\n",
        count(all as u64, "trial", "trials"),
        count(journal.rounds.into(), "round", "rounds"),
        journal.seed,
        journal.length(all)
    );
    journal.arms.iter().for_each(|arm| text += &format!("  {arm}\n"));
    for slot in journal.order() {
        text += &format!("round {:>3}  {}\n", slot.round + 1, journal.arm_name(slot));
    }
    text
}

/// Writes what is to be written and prints what became of the arms; what the process ends with. What
/// cannot be written keeps nothing else from being written, is told, and is never a success: the code of a
/// gate stands, if it found something worse.
pub(super) fn tell(
    report: &report::Campaign,
    gate: Option<Gate>,
    options: &CampaignOptions,
) -> anyhow::Result<ExitCode> {
    let mut done = vec![output::write_page(&report.dir, &report::campaign_html(report)).map(drop)];
    if let Some(comparison) = &report.comparison {
        let written = run_dir::write_json(&report.dir.join("comparison.json"), comparison);
        done.push(written.context("failed to file the comparison"));
    }
    if let Some(path) = &options.markdown {
        let written = fs::write(path, report.markdown());
        done.push(written.with_context(|| format!("failed to write {}", path.display())));
    }
    let style = options.output.style();
    let code = |done: &[anyhow::Result<()>]| match gate {
        Some(Gate::Breached) => Gate::Breached.exit_code(),
        _ if done.iter().any(Result::is_err) => ERROR,
        gate => gate.map_or(0, Gate::exit_code),
    };
    let text = if options.output.json {
        report.json()
    } else {
        let gate = gate.map(|_| report.gate_text(code(&done), style));
        report.text(style) + &gate.unwrap_or_default()
    };
    done.push(options.output.print(&text));
    for error in done.iter().filter_map(|step| step.as_ref().err()) {
        output::say(&format!("turnstile: {error:#}"));
    }
    Ok(ExitCode::from(code(&done)))
}

/// Reads the trials of a campaign that are done, as many as there are.
pub(super) fn read(campaign: &Campaign) -> anyhow::Result<report::Campaign> {
    let journal = &campaign.journal;
    let mut told: Vec<(String, Vec<Ran>)> =
        journal.arms.iter().map(|arm| (arm.name.clone(), Vec::new())).collect();
    for (ran, done) in campaign.ran()?.into_iter().zip(&journal.done) {
        if let Some((_, of_arm)) = told.get_mut(done.slot.arm) {
            of_arm.push(ran);
        }
    }
    told.iter_mut().for_each(|(_, of_arm)| of_arm.sort_by_key(|ran| ran.round));
    let case = journal.purpose.strip_prefix(CASE).and_then(|name| cases::find(name).ok());
    let case = case.map(|case| cases::told(&case, &campaign.dir, &told)).transpose();
    let comparison = (journal.purpose == COMPARE).then(|| Comparison::of(&told));
    let arms = journal.arms.iter().cloned().zip(told);
    let arms = arms.map(|(spec, (_, trials))| Arm { spec, trials });
    Ok(report::Campaign {
        dir: campaign.dir.clone(),
        purpose: journal.purpose.clone(),
        command: journal.command.clone(),
        rounds: journal.rounds,
        planned: journal.planned(),
        arms: arms.collect(),
        comparison,
        case: case.context("failed to read the trials")?,
    })
}

#[cfg(test)]
mod tests;
