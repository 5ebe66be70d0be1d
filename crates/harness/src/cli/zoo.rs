//! `turnstile zoo`: the same load over every proxy that is here, in one table.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use records::{ArmSpec, ProxyKind};
use trial::roles::{proxy_kind, server_names};

use super::builds::Build;
use super::campaign::{self, CampaignOptions};
use super::campaign_report::CampaignReport;
use super::output::{self, Color};
use super::preflight::{self, Way, Written};

/// Which proxies, how often, and what to do with the table.
#[derive(Clone, Debug, clap::Args)]
pub struct ZooOptions {
    /// Only these, as nginx,haproxy [default: all that are installed]
    #[arg(long, value_name = "PROXIES", value_delimiter = ',', value_parser = proxy_kind)]
    pub only: Vec<ProxyKind>,

    /// Another build to be tried beside them, as nginx=target/nginx/1.17.4/nginx; may be repeated
    #[arg(long, value_name = "PROXY=PATH", value_parser = build)]
    pub build: Vec<OtherBuild>,

    #[command(flatten)]
    #[expect(missing_docs, reason = "clap would take it for the help of the whole group")]
    pub campaign: CampaignOptions,

    /// Write the table as Markdown there as well
    #[arg(long, value_name = "FILE")]
    pub markdown: Option<PathBuf>,

    /// Print the table as JSON instead of text
    #[arg(long)]
    pub json: bool,

    /// When to use colour
    #[arg(long, value_enum, default_value_t, value_name = "WHEN")]
    pub color: Color,

    /// Options of every trial, after --
    #[arg(last = true, value_name = "OPTIONS")]
    pub trial: Vec<String>,
}

/// A build of a proxy that is not in PATH.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtherBuild {
    kind: ProxyKind,
    path: PathBuf,
}

/// The examples of its help.
pub(super) const EXAMPLES: &str = "\
Examples:
  turnstile zoo
  turnstile zoo --rounds 5 --markdown zoo.md
  turnstile zoo --only mirror,nginx --build nginx=target/nginx/1.17.4/nginx -- --reuseport";

/// The policies of the mirror that stand for the eras of nginx.
const MIRRORS: [(&str, &str); 2] = [("mirror drain", "drain"), ("mirror fionread", "fionread")];

/// Runs the trials and prints the table.
pub(super) fn zoo(options: &ZooOptions) -> anyhow::Result<ExitCode> {
    preflight::look_at([("--markdown", &options.markdown, Way::InPlace)])
        .unwrap_or_else(|error| super::usage_text(&error));
    let (arms, missing) = arms(options);
    if arms.is_empty() {
        super::usage_text("none of these proxies can be run here");
    }
    missing.iter().for_each(|why| output::say(&format!("turnstile: left out: {why}")));
    let finished = campaign::run("zoo", arms, &options.campaign)?;
    let report = CampaignReport::of(finished.campaign())?;
    let mut written = Written::default();
    if let Some(path) = &options.markdown {
        written.file(path, &report::arms_markdown(report.rows()));
    }
    written.note(report.write_page().map(drop));
    let text = if options.json { report.json() } else { report.text(options.color.style()) };
    written.note(output::print(text.as_bytes()).context("failed to print the table"));
    written.say();
    finished.die_if_interrupted();
    Ok(ExitCode::from(written.exit_code(None)))
}

/// The arms that can be run, and why others cannot.
fn arms(options: &ZooOptions) -> (Vec<ArmSpec>, Vec<String>) {
    let wanted = |kind: &ProxyKind| options.only.is_empty() || options.only.contains(kind);
    let mut candidates: Vec<(String, Vec<String>)> = Vec::new();
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    if wanted(&ProxyKind::Mirror) {
        let mirror =
            |(name, policy): (&str, &str)| (name.to_owned(), words(&["--read-policy", policy]));
        candidates.extend(MIRRORS.map(mirror));
    }
    let named = server_names().map(|name| ProxyKind::Server(name.to_owned()));
    let is_other = |kind: &&ProxyKind| matches!(kind, ProxyKind::Exec(_) | ProxyKind::Url(_));
    let given = options.only.iter().filter(is_other).cloned();
    for kind in named.filter(wanted).chain(given) {
        candidates.push((kind.name().to_owned(), words(&["--proxy", &kind.to_string()])));
    }
    let mut builds = Vec::new();
    for OtherBuild { kind, path } in &options.build {
        let build = Build::given(kind, path, &builds);
        let args = [words(&["--proxy", kind.name()]), build.args().to_vec()].concat();
        candidates.push((build.title.clone(), args));
        builds.push(build);
    }
    let (mut arms, mut missing) = (Vec::new(), Vec::new());
    for (name, mut args) in candidates {
        args.extend(options.trial.iter().cloned());
        match campaign::checked(&name, args) {
            Ok(arm) => arms.push(arm),
            Err(why) => missing.push(why),
        }
    }
    (arms, missing)
}

fn build(text: &str) -> Result<OtherBuild, String> {
    let wrong = || format!("{text:?} is no build: write it as nginx=/opt/nginx/sbin/nginx");
    let (kind, path) = text.split_once('=').ok_or_else(wrong)?;
    let kind = proxy_kind(kind).map_err(|_| wrong())?;
    if !matches!(kind, ProxyKind::Server(_)) || path.is_empty() {
        return Err(wrong());
    }
    Ok(OtherBuild { kind, path: path.into() })
}
