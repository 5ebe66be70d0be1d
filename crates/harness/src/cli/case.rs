//! `turnstile case`: a published situation, run and laid beside what was published.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use records::{ArmSpec, ProxyKind};

use super::builds::Build;
use super::campaign::{self, CampaignOptions};
use super::campaign_report::{CASE, CampaignReport};
use super::output::{self, Color};
use super::preflight::Written;
use crate::cases::{self, Case, CaseArm};

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

    /// A build to be put in the place of the case's proxy; repeated: one after the other
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

/// The examples of its help.
pub(super) const EXAMPLES: &str = "\
Examples:
  turnstile case list
  turnstile case starvation-2023
  turnstile case starvation-2023 --netns --link-rate 5Gbit
  turnstile case starvation-2023 --proxy-bin target/nginx/1.17.4/nginx
  turnstile case nginx-eras --proxy-bin target/nginx/1.17.4/nginx --proxy-bin /usr/sbin/nginx
  turnstile case nginx-gzip-file --rounds 3";

/// Lists the cases, or runs one and prints it.
pub(super) fn case(options: &CaseOptions) -> anyhow::Result<ExitCode> {
    if options.name == "list" {
        return list(options.color);
    }
    let case = cases::find(&options.name).unwrap_or_else(|error| match error {
        cases::CaseError::Unknown(_) => super::usage_text(&error.to_string()),
        cases::CaseError::File { .. } => panic!("{error}: {:?}", std::error::Error::source(&error)),
    });
    let (arms, missing) = arms(options, &case);
    missing.iter().for_each(|why| output::say(&format!("turnstile: left out: {why}")));
    if arms.is_empty() {
        anyhow::bail!("failed to run case {}: none of its arms can be run here", options.name);
    }
    let finished = campaign::run(&format!("{CASE}{}", options.name), arms, &options.campaign)?;
    let report = CampaignReport::of(finished.campaign())?;
    let mut written = Written::default();
    written.note(report.write_page().map(drop));
    let text = report.text(options.color.style());
    written.note(output::print(text.as_bytes()).context("failed to print the case"));
    written.say();
    finished.die_if_interrupted();
    Ok(ExitCode::from(written.exit_code(None)))
}

fn list(color: Color) -> anyhow::Result<ExitCode> {
    let mut cases = Vec::new();
    for name in cases::names() {
        cases.push((name, cases::find(name)?.title));
    }
    output::print(report::case_list(&cases, color.style()).as_bytes())
        .context("failed to print the list")?;
    Ok(ExitCode::SUCCESS)
}

/// The arms that can be run here, and why others cannot.
fn arms(options: &CaseOptions, case: &Case) -> (Vec<ArmSpec>, Vec<String>) {
    let builds = builds(options, case);
    let mut candidates = Vec::new();
    for arm in &case.arms {
        let words = words(options, arm);
        let is_mirror = words.as_ref().is_ok_and(|words| proxy(words).is_none());
        if is_mirror || words.is_err() || builds.is_empty() {
            candidates.push((arm.name.clone(), words));
            continue;
        }
        for build in &builds {
            let words = words.clone().map(|words| [words, build.args().to_vec()].concat());
            candidates.push((arm.name_with(&build.title), words));
        }
    }
    let (mut arms, mut missing) = (Vec::new(), Vec::new());
    for (name, words) in candidates {
        let arm = words.and_then(|mut words| {
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

/// The builds given by hand; one that is none is refused.
fn builds(options: &CaseOptions, case: &Case) -> Vec<Build> {
    let mut builds = Vec::new();
    if options.proxy_bin.is_empty() {
        return builds;
    }
    let mut lines = case.arms.iter().flat_map(|arm| arm.args.iter().chain(&arm.netns));
    let Some(proxy) = lines.find_map(|line| proxy(&split(line).ok()?)) else {
        super::usage_text(&format!(
            "case {} has no proxy but the mirror: leave --proxy-bin out",
            options.name
        ));
    };
    for path in &options.proxy_bin {
        builds.push(Build::given(&proxy, path, &builds));
    }
    builds
}

/// The proxy that these options name.
fn proxy(words: &[String]) -> Option<ProxyKind> {
    let at = words.iter().position(|word| word == "--proxy")?;
    words.get(at + 1)?.parse().ok()
}

/// The options of an arm on this network.
fn words(options: &CaseOptions, arm: &CaseArm) -> Result<Vec<String>, String> {
    let line =
        if options.netns { arm.netns.as_ref().or(arm.args.as_ref()) } else { arm.args.as_ref() };
    let line = line.ok_or("it sets what only a host of its own has: add --netns, as root")?;
    split(line)
}

fn split(line: &str) -> Result<Vec<String>, String> {
    shlex::split(line).ok_or_else(|| "its quotes do not close".to_owned())
}
