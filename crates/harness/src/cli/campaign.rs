//! What all commands of many trials share: how often, in which order, where; their progress and end.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use records::{ArmSpec, SCHEMA_VERSION, count};
use trial::{RunDirOptions, signals};

use super::output;
use crate::campaign::{self, Campaign, Ended, Journal, MAX_ROUNDS, Seed, Slot};

/// How a campaign is run.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Campaign")]
pub struct CampaignOptions {
    /// Rounds: trials of every arm, in an order drawn anew for each round
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_ROUNDS)))]
    pub rounds: u32,

    /// Draw the order from this number [default: a new one, printed]
    #[arg(long, value_name = "N")]
    pub seed: Option<Seed>,

    /// Print which trials would be run, and how long they take
    #[arg(long)]
    pub dry_run: bool,

    /// Where the directory of the campaign is made
    #[arg(long, value_name = "DIR", default_value = "runs")]
    pub runs_dir: PathBuf,

    /// Show no progress
    #[arg(short, long)]
    pub quiet: bool,
}

/// A campaign that was run, to its end or not.
pub(super) struct Finished {
    campaign: Campaign,
    ended: Ended,
}

impl Finished {
    pub(super) fn dir(&self) -> &Path {
        &self.campaign.dir
    }

    pub(super) fn campaign(&self) -> &Campaign {
        &self.campaign
    }

    /// Ends the process by the signal that cut the campaign short, if one did.
    pub(super) fn die_if_interrupted(&self) {
        if let Ended::Interrupted(signal) = self.ended {
            let dir = self.dir().display();
            let journal = &self.campaign.journal;
            let (done, all) = (journal.done.len(), journal.planned());
            output::say(&format!(
                "turnstile: cut short after {done} of {all} trials; turnstile report {dir} tells them \
                 again"
            ));
            signals::die_by(signal);
        }
    }
}

/// Runs `arms` in turn.
pub(super) fn run(
    purpose: &str,
    arms: Vec<ArmSpec>,
    options: &CampaignOptions,
) -> anyhow::Result<Finished> {
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
    let mut campaign =
        Campaign::create(&options.runs_dir, journal).context("failed to begin the campaign")?;
    let quiet = options.quiet;
    if !quiet {
        let Journal { rounds, seed, arms, .. } = &campaign.journal;
        output::say(&format!(
            "turnstile: {}, {}, seed {seed}; about {}",
            count(arms.len() as u64, "arm", "arms"),
            count((*rounds).into(), "round", "rounds"),
            length(&campaign.journal, campaign.to_do().len()),
        ));
    }
    let ended = campaign::run(
        &mut campaign,
        |campaign, slot, after, left| {
            if !quiet {
                let arm = campaign.journal.arms.get(slot.arm).map_or("", |arm| arm.name.as_str());
                let left = left.map_or_else(String::new, |left| format!("; {} left", short(left)));
                let (round, rounds) = (slot.round + 1, campaign.journal.rounds);
                output::say(&format!("round {round}/{rounds}  {arm}  ({after} to come{left})"));
            }
        },
        |_, _, summary| {
            if !quiet {
                let first = summary.verdict_reasons.first().map_or("", String::as_str);
                output::say(&format!("            {}: {first}", summary.verdict));
            }
        },
    )
    .context("failed to run the campaign")?;
    Ok(Finished { campaign, ended })
}

/// An arm whose options fit each other, this host and its proxy.
pub(super) fn checked(name: &str, args: Vec<String>) -> Result<ArmSpec, String> {
    let arm = campaign::arm::from_words(name, args).map_err(|error| error.to_string())?;
    let options = campaign::arm::options(&arm).map_err(|error| error.to_string())?;
    options
        .plan("runs".as_ref(), RunDirOptions::default())
        .map_err(|error| format!("{name}: {error}"))?;
    Ok(arm)
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
