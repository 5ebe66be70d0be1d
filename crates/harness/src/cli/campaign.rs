//! What all commands of many trials share: how often, in which order, where; their progress and end.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use records::{ArmSpec, SCHEMA_VERSION, Summary, count};
use trial::signals;

use super::campaign_report;
use super::common::{OutputOptions, TrialsOptions};
use super::output;
use super::preflight::{self, Way, Written};
use crate::campaign::{self, Campaign, Ended, Journal, MAX_ROUNDS, Seed, Slot};

/// How a campaign is run and told.
#[derive(Clone, Debug, clap::Args)]
pub struct CampaignOptions {
    /// Further options of every trial, after --
    #[arg(last = true, value_name = "OPTIONS")]
    pub trial: Vec<String>,

    /// Rounds: trials of every arm, in an order drawn anew for each round
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_ROUNDS)), help_heading = "Campaign")]
    pub rounds: u32,

    /// Draw the order from this number [default: a new one, printed]
    #[arg(long, value_name = "N", help_heading = "Campaign")]
    pub seed: Option<Seed>,

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
    preflight::look_at([("--markdown", &options.markdown, Way::InPlace)])
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
    let style = options.output.color.style();
    let text = if options.output.json {
        report.json()
    } else {
        let code = gate.map(|gate| written.exit_code(Some(gate)));
        report.text(style) + &code.map_or_else(String::new, |code| report.gate_text(code, style))
    };
    written.note(output::print(text.as_bytes()).context("failed to print the result"));
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
    let journal = Journal {
        schema_version: SCHEMA_VERSION,
        purpose: purpose.to_owned(),
        command: std::env::args().collect(),
        rounds: options.rounds,
        seed: options.seed.unwrap_or_else(Seed::fresh),
        arms,
        done: Vec::new(),
    };
    if options.dry_run {
        print_plan(&journal, &campaign::order(journal.arms.len(), journal.rounds, journal.seed))?;
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
        let arm = campaign.journal.arms.get(slot.arm).map_or("", |arm| arm.name.as_str());
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

fn print_plan(journal: &Journal, trials: &[Slot]) -> anyhow::Result<()> {
    let all = trials.len();
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
    for slot in trials {
        let arm = journal.arms.get(slot.arm).map_or("", |arm| arm.name.as_str());
        text += &format!("round {:>3}  {arm}\n", slot.round + 1);
    }
    output::print(text.as_bytes()).context("failed to print the plan")
}

/// About how long so many trials take: their phases, and what lies around them.
fn length(journal: &Journal, trials: usize) -> String {
    const AROUND: Duration = Duration::from_secs(2);
    let phases = journal.arms.iter().filter_map(|arm| {
        let options = campaign::arm::options(arm).ok()?;
        Some(options.idle.as_duration() + options.duration.as_duration() + AROUND)
    });
    let arms = u32::try_from(journal.arms.len()).unwrap_or(1).max(1);
    let mean = phases.sum::<Duration>() / arms;
    short(mean * u32::try_from(trials).unwrap_or(u32::MAX))
}

fn short(length: Duration) -> String {
    humantime::format_duration(Duration::from_secs(length.as_secs())).to_string()
}
