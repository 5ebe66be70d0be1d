//! `turnstile case`: a published situation, run and laid beside what was published.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use records::Summary;

use super::campaign::{self, CampaignOptions};
use super::campaign_report::CampaignReport;
use super::output::{self, Color};
use crate::campaign::{ArmSpec, Campaign, Done};
use crate::cases::{self, Case, CaseArm, Figure};
use crate::render::{self, Shown};
use crate::run_dir::RunRecords;

/// Which case, and how it is run.
#[derive(Clone, Debug, clap::Args)]
pub struct CaseOptions {
    /// The name of a case, or list
    #[arg(value_name = "NAME")]
    pub name: String,

    /// Put every role on a host of its own (network namespaces; needs root), as it was published
    #[arg(long)]
    pub netns: bool,

    /// What each link of those hosts carries at most, as 5Gbit
    #[arg(long, value_name = "RATE", requires = "netns")]
    pub link_rate: Option<netlab::LinkRate>,

    /// A build of the case's proxy to be tried as an arm of its own; may be repeated
    #[arg(long, value_name = "PATH")]
    pub proxy_bin: Vec<PathBuf>,

    #[command(flatten)]
    #[expect(missing_docs, reason = "clap would take it for the help of the whole group")]
    pub campaign: CampaignOptions,

    /// When to use colour
    #[arg(long, value_enum, default_value_t, value_name = "WHEN")]
    pub color: Color,

    /// Further options of every trial, after --
    #[arg(last = true, value_name = "OPTIONS")]
    pub trial: Vec<String>,
}

impl CaseOptions {
    /// Whether it goes on with what stands in the journal, and nothing was said of it again.
    fn goes_on(&self) -> bool {
        let silent = self.proxy_bin.is_empty() && self.trial.is_empty() && !self.netns;
        self.campaign.resume.is_some() && silent
    }
}

/// The examples of its help.
pub(super) const EXAMPLES: &str = "\
Examples:
  turnstile case list
  turnstile case starvation-2023
  turnstile case starvation-2023 --netns --link-rate 5Gbit
  turnstile case nginx-eras --proxy-bin /opt/nginx-1.17.4/sbin/nginx --proxy-bin /usr/sbin/nginx
  turnstile case nginx-gzip-file --rounds 3";

/// What the journal says that a campaign of a case is for, before the case's name.
pub(super) const PURPOSE: &str = "case ";

/// Lists the cases, or runs one and prints it.
pub(super) fn case(options: &CaseOptions) -> anyhow::Result<ExitCode> {
    if options.name == "list" {
        return list(options.color);
    }
    let case = cases::find(&options.name).unwrap_or_else(|error| match error {
        cases::CaseError::Unknown(_) => super::usage_text(&error.to_string()),
        cases::CaseError::File { .. } => panic!("{error}: {:?}", std::error::Error::source(&error)),
    });
    let (arms, missing) = if options.goes_on() { Default::default() } else { arms(options, &case) };
    missing.iter().for_each(|why| output::say(&format!("turnstile: left out: {why}")));
    if arms.is_empty() && !options.goes_on() {
        anyhow::bail!("failed to run case {}: none of its arms can be run here", options.name);
    }
    let finished = campaign::run(&format!("{PURPOSE}{}", options.name), arms, &options.campaign)?;
    let report = CampaignReport::of(finished.campaign())?;
    report.write_page()?;
    output::print(report.text(options.color.style()).as_bytes())
        .context("failed to print the case")?;
    Ok(finished.exit())
}

fn list(color: Color) -> anyhow::Result<ExitCode> {
    let mut cases = Vec::new();
    for name in cases::names() {
        cases.push((name, cases::find(name)?.title));
    }
    output::print(render::case_list(&cases, color.style()).as_bytes())
        .context("failed to print the list")?;
    Ok(ExitCode::SUCCESS)
}

/// The arms that can be run here, and why others cannot.
fn arms(options: &CaseOptions, case: &Case) -> (Vec<ArmSpec>, Vec<String>) {
    let (mut arms, mut missing) = (Vec::new(), Vec::new());
    let mut lines: Vec<(String, Result<String, String>)> =
        case.arms.iter().map(|arm| (arm.name.clone(), line(options, arm))).collect();
    if let Some(builds) = &case.builds {
        let build = |name: String, bin: String| {
            (name, Ok(format!("--proxy {} {bin} {}", builds.proxy, builds.args)))
        };
        if options.proxy_bin.is_empty() {
            lines.push(build(builds.proxy.clone(), String::new()));
        }
        for (at, path) in (1..).zip(&options.proxy_bin) {
            let path = path.display().to_string();
            let bin = shlex::try_quote(&path).map_or_else(|_| path.clone(), |word| word.into());
            lines.push(build(format!("{} build {at}", builds.proxy), format!("--proxy-bin {bin}")));
        }
    } else if let Some(path) = options.proxy_bin.first() {
        // The arms name their proxy; all that is not the mirror gets this build.
        for (_, line) in &mut lines {
            if let Ok(line) = line
                && line.contains("--proxy ")
            {
                *line += &format!(" --proxy-bin {}", path.display());
            }
        }
    }
    for (name, line) in lines {
        let arm = line.and_then(|line| {
            let mut words = shlex::split(&line).ok_or("its quotes do not close")?;
            if options.netns {
                words.push("--netns".to_owned());
                words.extend(options.link_rate.map(|rate| format!("--link-rate={rate}")));
            }
            words.extend(options.trial.iter().cloned());
            campaign::checked(&name, words)
        });
        match arm {
            Ok(arm) => arms.push(arm),
            Err(why) if why.starts_with(&name) => missing.push(why),
            Err(why) => missing.push(format!("{name}: {why}")),
        }
    }
    (arms, missing)
}

/// The options of an arm on this network.
fn line(options: &CaseOptions, arm: &CaseArm) -> Result<String, String> {
    let line =
        if options.netns { arm.netns.as_ref().or(arm.args.as_ref()) } else { arm.args.as_ref() };
    let line = line.ok_or("it sets what only a host of its own has: add --netns, as root")?;
    Ok(line.replace("{tmp}", &std::env::temp_dir().display().to_string()))
}

/// Every arm's figures, of its typical trial, beside what was published.
pub(super) fn shown(case: &Case, campaign: &Campaign) -> anyhow::Result<Vec<Shown>> {
    let mut all = Vec::new();
    for (at, arm) in campaign.journal.arms.iter().enumerate() {
        let done: Vec<&Done> = campaign.journal.done.iter().filter(|d| d.slot.arm == at).collect();
        let mut trials: Vec<(Summary, &Done)> = Vec::new();
        for done in done {
            trials.push((campaign.summary(done)?, done));
        }
        trials.sort_by_key(|(summary, _)| {
            (summary.measure.outcomes.failed(), summary.measure.latency_us.p50)
        });
        let published = case.arms.iter().find(|of_case| of_case.name == arm.name);
        let published = published.map(|arm| arm.published.clone()).unwrap_or_default();
        let Some((summary, done)) = trials.get(trials.len() / 2) else { continue };
        let records = RunRecords::load(&campaign.dir.join(&done.dir))?;
        let here = |figure: &Figure| {
            (*figure, figure.of(&records, summary), published.get(figure).cloned())
        };
        all.push(Shown {
            arm: arm.name.clone(),
            verdict: summary.verdict,
            dir: done.dir.clone(),
            figures: case.figures.iter().map(here).collect(),
        });
    }
    Ok(all)
}
