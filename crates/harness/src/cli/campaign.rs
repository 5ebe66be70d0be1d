//! What all commands of many trials share: how often, in which order, where; their progress and end.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use jiff::Timestamp;
use records::{ArmSpec, Summary, count};
use trial::{RunDirOptions, TrialPlan, signals};

use super::campaign_report;
use super::common::{OutputOptions, TrialsOptions};
use super::output;
use super::preflight::{self, Way, Written};
use crate::campaign::{self, Campaign, Ended, Journal, Slot, arm};

/// How a campaign is run and told.
#[derive(Clone, Debug, clap::Args)]
pub struct CampaignOptions {
    /// Further options of every trial, after --
    #[arg(last = true, value_name = "OPTIONS")]
    pub trial: Vec<String>,

    /// Rounds: trials of every arm, in an order drawn anew for each round
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000), help_heading = "Campaign")]
    pub rounds: u32,

    /// Draw the order from this number [default: a new one, printed]
    #[arg(long, value_name = "N", help_heading = "Campaign")]
    pub seed: Option<u64>,

    /// Print which trials would be run, and how long they take
    #[arg(long, help_heading = "Campaign")]
    pub dry_run: bool,

    /// Write the result as Markdown there as well
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub markdown: Option<PathBuf>,

    #[command(flatten)]
    #[expect(missing_docs, reason = "clap would take it for the help of the whole group")]
    pub trials: TrialsOptions,

    #[command(flatten)]
    #[expect(missing_docs, reason = "clap would take it for the help of the whole group")]
    pub output: OutputOptions,
}

/// How a command ends when all its trials were run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ends {
    /// With 0, whatever became of the arms.
    Well,
    /// As the comparison's gate says.
    AsGated,
}

/// Runs `arms` in turn, writes what is to be written and prints what became of them. What cannot be
/// written keeps nothing else from being written, and is told at the end.
pub(super) fn run(
    purpose: &str,
    arms: Vec<ArmSpec>,
    options: &CampaignOptions,
    ends: Ends,
) -> anyhow::Result<ExitCode> {
    let files = [("--markdown", &options.markdown), ("--output", &options.output.file)];
    preflight::look_at(files.map(|(option, path)| (option, path, Way::InPlace)))
        .unwrap_or_else(|error| super::usage_text(&error));
    let (campaign, ended) = run_trials(purpose, arms, options)?;
    let report = campaign_report::read(&campaign)?;
    let gate = if ends == Ends::AsGated { report.gate() } else { None };
    let mut written = Written::default();
    written.note(campaign_report::write_comparison(&report));
    written.note(campaign_report::write_page(&report).map(drop));
    if let Some(path) = &options.markdown {
        written.file(path, &report.markdown());
    }
    let style = options.output.style();
    let text = if options.output.json {
        report.json()
    } else {
        let code = gate.map(|gate| written.exit_code(Some(gate)));
        report.text(style) + &code.map_or_else(String::new, |code| report.gate_text(code, style))
    };
    written.note(options.output.print(&text));
    written.say();
    if let Ended::Interrupted(signal) = ended {
        let (done, all) = (campaign.journal.done.len(), campaign.journal.planned());
        output::say(&format!(
            "turnstile: cut short after {done} of {all} trials; turnstile report {} tells them again",
            campaign.dir.display()
        ));
        signals::die_by(signal);
    }
    Ok(ExitCode::from(written.exit_code(gate)))
}

fn run_trials(
    purpose: &str,
    arms: Vec<ArmSpec>,
    options: &CampaignOptions,
) -> anyhow::Result<(Campaign, Ended)> {
    // One of this moment is short enough to be typed again.
    let fresh = || u64::from(Timestamp::now().subsec_nanosecond().unsigned_abs() / 1_000);
    let journal = Journal::new(purpose, options.rounds, options.seed.unwrap_or_else(fresh), arms);
    if options.dry_run {
        print_plan(&journal)?;
        std::process::exit(0);
    }
    let TrialsOptions { runs_dir, quiet } = &options.trials;
    let progress = |line: String| {
        if !quiet {
            output::say(&line);
        }
    };
    let mut campaign =
        Campaign::create(runs_dir, journal).context("failed to begin the campaign")?;
    let Journal { rounds, seed, arms, .. } = &campaign.journal;
    progress(format!(
        "turnstile: {}, {}, seed {seed}; about {}",
        count(arms.len() as u64, "arm", "arms"),
        count((*rounds).into(), "round", "rounds"),
        length(&campaign.journal, campaign.to_do().len()),
    ));
    let before = |campaign: &Campaign, slot: Slot, after: usize, left: Option<Duration>| {
        let arm = campaign.journal.arm_name(slot);
        let left = left.map_or_else(String::new, |left| format!("; {} left", short(left)));
        let (round, rounds) = (slot.round + 1, campaign.journal.rounds);
        progress(format!("round {round}/{rounds}  {arm}  ({after} to come{left})"));
    };
    let after = |_: &Campaign, _: Slot, summary: &Summary| progress(outcome(summary));
    let ended =
        campaign::run(&mut campaign, before, after).context("failed to run the campaign")?;
    Ok((campaign, ended))
}

/// What a trial proved, as progress tells it.
pub(super) fn outcome(summary: &Summary) -> String {
    let first = summary.verdict_reasons.first().map_or("", String::as_str);
    format!("            {}: {first}", summary.verdict)
}

fn print_plan(journal: &Journal) -> anyhow::Result<()> {
    let all = journal.planned();
    let mut text = format!(
        "{} in {}, seed {}, about {}\n",
        count(all as u64, "trial", "trials"),
        count(journal.rounds.into(), "round", "rounds"),
        journal.seed,
        length(journal, all)
    );
    for arm in &journal.arms {
        text += &format!("  {arm}\n");
    }
    for slot in journal.order() {
        text += &format!("round {:>3}  {}\n", slot.round + 1, journal.arm_name(slot));
    }
    output::print(text.as_bytes()).context("failed to print the plan")
}

/// About how long so many trials take: their phases, and what lies around them.
fn length(journal: &Journal, trials: usize) -> String {
    const AROUND: Duration = Duration::from_secs(2);
    let phases = journal.arms.iter().filter_map(|arm| {
        let options = arm::options(arm).ok()?;
        Some(options.idle.as_duration() + options.duration.as_duration() + AROUND)
    });
    let arms = u32::try_from(journal.arms.len()).unwrap_or(1).max(1);
    let mean = phases.sum::<Duration>() / arms;
    short(mean * u32::try_from(trials).unwrap_or(u32::MAX))
}

fn short(length: Duration) -> String {
    humantime::format_duration(Duration::from_secs(length.as_secs())).to_string()
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
