//! `turnstile case`: a published situation, run and laid beside what was published.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use records::{ArmSpec, ProxyKind};
use trial::roles::{Given, build_title};

use super::campaign::{self, CASE, CampaignOptions, planned};
use super::common::OutputOptions;
use crate::cases::{self, Case, CaseArm};
use crate::output;

/// Which case, and how it is run.
#[derive(Debug, clap::Args)]
pub(super) struct CaseOptions {
    /// The name of a case, or list
    #[arg(value_name = "NAME")]
    pub(super) name: String,

    /// Put every role on a host of its own (network namespaces; needs root), as it was published
    #[arg(long)]
    pub(super) netns: bool,

    /// A build to be put in the place of the case's proxy; repeated: one after the other
    #[arg(long, value_name = "PATH")]
    pub(super) proxy_bin: Vec<PathBuf>,

    #[command(flatten)]
    pub(super) campaign: CampaignOptions,
}

/// The examples of its help.
pub(super) const EXAMPLES: &str = "\
Examples:
  turnstile case list
  turnstile case starvation-2023
  turnstile case starvation-2023 --netns
  turnstile case starvation-2023 --proxy-bin target/nginx/1.17.4/nginx
  turnstile case nginx-eras --proxy-bin target/nginx/1.17.4/nginx --proxy-bin /usr/sbin/nginx
  turnstile case nginx-gzip-file --rounds 3";

/// Lists the cases, or runs one and prints it.
pub(super) fn case(options: &CaseOptions) -> anyhow::Result<ExitCode> {
    if options.name == "list" {
        return list(&options.campaign.output);
    }
    let case = cases::find(&options.name).unwrap_or_else(|error| match error {
        cases::CaseError::Unknown(_) => super::usage_text(&error.to_string()),
        cases::CaseError::File { .. } => panic!("{error}: {:?}", std::error::Error::source(&error)),
    });
    let arms = arms(options, &case);
    if arms.is_empty() {
        anyhow::bail!("failed to run case {}: none of its arms can be run here", options.name);
    }
    let report = campaign::run(&format!("{CASE}{}", options.name), arms, &options.campaign)?;
    campaign::tell(&report, None, &options.campaign)
}

fn list(output: &OutputOptions) -> anyhow::Result<ExitCode> {
    let mut cases = Vec::new();
    for name in cases::names() {
        cases.push((name, cases::find(name)?.title));
    }
    let text =
        if output.json { report::json(&cases) } else { report::case_list(&cases, output.style()) };
    output.print(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// The arms of the case that can be run here, those of a foreign proxy once for each build that was given
/// by hand; says of the others why not.
fn arms(options: &CaseOptions, case: &Case) -> Vec<ArmSpec> {
    let builds = builds(options, case);
    let mut arms = Vec::new();
    let mut add = |name: &str, words: Result<Vec<String>, String>| {
        let words = words.map_err(|why| format!("{name}: {why}"));
        let arm = words.and_then(|words| {
            planned(name, words.into_iter().chain(options.campaign.trial.clone()).collect())
        });
        match arm {
            Ok((arm, _)) => arms.push(arm),
            Err(why) => output::say(&format!("turnstile: left out: {why}")),
        }
    };
    for arm in &case.arms {
        let words = words(options, arm);
        let is_foreign = words.as_ref().is_ok_and(|words| proxy(words).is_some());
        if !is_foreign || builds.is_empty() {
            add(&arm.name, words);
            continue;
        }
        for (title, path) in &builds {
            let given = ["--proxy-bin".to_owned(), path.display().to_string()];
            add(&arm.name_with(title), words.clone().map(|words| [&words[..], &given].concat()));
        }
    }
    arms
}

/// The builds given by hand, each by what it says of itself: `nginx 1.17.4`; of two that say the same the
/// second is `nginx 1.17.4 (2)`. One that is none ends the process as any wrong option does.
fn builds<'a>(options: &'a CaseOptions, case: &Case) -> Vec<(String, &'a Path)> {
    let mut builds: Vec<(String, &Path)> = Vec::new();
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
        let given = Given { proxy_bin: Some(path.clone()), ..Given::default() };
        let said = build_title(&proxy, &given)
            .unwrap_or_else(|refusal| super::usage_text(&refusal.to_string()));
        let mut title = said.clone();
        for number in 2.. {
            if builds.iter().all(|(taken, _)| *taken != title) {
                break;
            }
            title = format!("{said} ({number})");
        }
        builds.push((title, path));
    }
    builds
}

/// The proxy that these options name.
fn proxy(words: &[String]) -> Option<ProxyKind> {
    let at = words.iter().position(|word| word == "--proxy")?;
    words.get(at + 1)?.parse().ok().filter(|kind: &ProxyKind| !kind.is_not_started())
}

/// The options of an arm on this network.
fn words(options: &CaseOptions, arm: &CaseArm) -> Result<Vec<String>, String> {
    let line =
        if options.netns { arm.netns.as_ref().or(arm.args.as_ref()) } else { arm.args.as_ref() };
    let line = line.ok_or("it sets what only a host of its own has: add --netns, as root")?;
    let mut words = split(line)?;
    if options.netns {
        words.push("--netns".to_owned());
    }
    Ok(words)
}

fn split(line: &str) -> Result<Vec<String>, String> {
    shlex::split(line).ok_or_else(|| "its quotes do not close".to_owned())
}
