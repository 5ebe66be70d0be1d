//! `turnstile zoo`: the same load over every proxy that is here, in one table.

use std::path::PathBuf;
use std::process::ExitCode;

use records::ProxyKind;
use trial::roles::{proxy_kind, server_names};

use super::campaign::{self, Build, CampaignOptions, Candidate, Ends, runnable};

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
    let arms = runnable(candidates(options), &options.campaign.trial);
    if arms.is_empty() {
        super::usage_text("none of these proxies can be run here");
    }
    campaign::run("zoo", arms, &options.campaign, Ends::Well)
}

/// The mirror, every server by name, and the builds that were given.
fn candidates(options: &ZooOptions) -> Vec<Candidate> {
    let wanted = |kind: &ProxyKind| options.only.is_empty() || options.only.contains(kind);
    let mut candidates: Vec<Candidate> = Vec::new();
    let words = |words: &[&str]| Ok(words.iter().map(|word| (*word).to_owned()).collect());
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
        let [option, path] = &build.args();
        let args = words(&["--proxy", kind.name(), option, path]);
        candidates.push((build.title.clone(), args));
        builds.push(build);
    }
    candidates
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
