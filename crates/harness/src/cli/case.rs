//! `turnstile case`: a published situation, run and laid beside what was published.

use std::path::PathBuf;
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
    netns: bool,

    /// A build to be put in the place of the case's proxy; repeated: one after the other
    #[arg(long, value_name = "PATH")]
    proxy_bin: Vec<PathBuf>,

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
    let case = cases::find(&options.name).unwrap_or_else(|error| super::usage_text(&error));
    let arms = arms(options, &case);
    if arms.is_empty() {
        anyhow::bail!("failed to run case {}: none of its arms can be run here", options.name);
    }
    let report = campaign::run(&format!("{CASE}{}", options.name), arms, &options.campaign)?;
    campaign::tell(&report, None, &options.campaign)
}

fn list(output: &OutputOptions) -> anyhow::Result<ExitCode> {
    let title = |name| cases::find(name).map(|case| (name, case.words.title)).ok();
    let cases: Vec<(&str, String)> = cases::names().filter_map(title).collect();
    let text =
        if output.json { report::json(&cases) } else { report::case_list(&cases, output.style()) };
    output.print(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// The arms of the case that can be run here, those of a foreign proxy once for each build that was given
/// by hand, named with its version; says of the others why not. A build that is none of that proxy ends the
/// process as any wrong option does, and so does one where there is no proxy but the mirror.
fn arms(options: &CaseOptions, case: &Case) -> Vec<ArmSpec> {
    let mut arms: Vec<ArmSpec> = Vec::new();
    let mut add = |name: String, words: Result<Vec<String>, String>| {
        let words = words.map_err(|why| format!("{name}: {why}"));
        let all = |words: Vec<String>| [words, options.campaign.trial.clone()].concat();
        let twice = if arms.iter().any(|arm| arm.name == name) { " (2)" } else { "" };
        match words.and_then(|words| planned(&(name.clone() + twice), all(words))) {
            Ok((arm, _)) => arms.push(arm),
            Err(why) => output::say(&format!("turnstile: left out: {why}")),
        }
    };
    let mut has_foreign = false;
    for arm in &case.arms {
        let words = words(options, arm);
        let kind = words.as_ref().ok().and_then(|words| proxy(words));
        let Some(kind) = kind.filter(|_| !options.proxy_bin.is_empty()) else {
            add(arm.name.clone(), words);
            continue;
        };
        has_foreign = true;
        for path in &options.proxy_bin {
            let given = Given { proxy_bin: Some(path.clone()), ..Given::default() };
            let title = build_title(&kind, &given)
                .unwrap_or_else(|refusal| super::usage_text(&refusal.to_string()));
            let version = title.split_whitespace().last().unwrap_or_default();
            let build = vec!["--proxy-bin".to_owned(), path.display().to_string()];
            add(
                format!("{} {version}", arm.name),
                words.clone().map(|words| [words, build].concat()),
            );
        }
    }
    if !has_foreign && !options.proxy_bin.is_empty() {
        super::usage_text(&format!(
            "case {} has no proxy but the mirror: leave --proxy-bin out",
            options.name
        ));
    }
    arms
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
    let mut words = shlex::split(line).ok_or("its quotes do not close")?;
    if options.netns {
        words.push("--netns".to_owned());
    }
    Ok(words)
}
