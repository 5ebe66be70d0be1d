//! Arms on the way into a campaign: which can be run here, and with which builds.
//!
//! Not for: finding a program or judging what it can do; that is the business of `servers`.

use std::path::{Path, PathBuf};

use records::{ArmSpec, ProxyKind};
use trial::roles::{Given, build_title};
use trial::{RunDirOptions, TrialPlan};

use super::output;
use crate::campaign::arm;

/// An arm whose options fit each other, this host and its proxy; and the trial that it is.
///
/// # Errors
/// What does not fit, beginning with the arm's name.
pub(super) fn planned(name: &str, words: Vec<String>) -> Result<(ArmSpec, TrialPlan), String> {
    let arm = arm::from_words(name, words).map_err(|error| error.to_string())?;
    let options = arm::options(&arm).map_err(|error| error.to_string())?;
    let plan = options.plan(Path::new("runs"), RunDirOptions::default());
    Ok((arm, plan.map_err(|error| format!("{name}: {error}"))?))
}

/// An arm that might be run: its name, and its options or why it has none.
pub(super) type Candidate = (String, Result<Vec<String>, String>);

/// The arms of `candidates` that can be run here, each with `more` options; says of the others why not.
pub(super) fn runnable(candidates: Vec<Candidate>, more: &[String]) -> Vec<ArmSpec> {
    let arm = |(name, words): Candidate| {
        let words = words.map_err(|why| format!("{name}: {why}"));
        let arm = words.and_then(|words| planned(&name, [words, more.to_vec()].concat()));
        arm.inspect_err(|why| output::say(&format!("turnstile: left out: {why}"))).ok()
    };
    candidates.into_iter().filter_map(arm).map(|(arm, _)| arm).collect()
}

/// A build of a proxy that is not in PATH, and told its version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Build {
    /// What it says of itself, `nginx 1.17.4`; of two that say the same the second is `nginx 1.17.4 (2)`.
    pub(super) title: String,
    path: PathBuf,
}

impl Build {
    /// The build that was given by its `path`, after `others`. Where there is no such program the process
    /// ends as for any wrong option.
    pub(super) fn given(proxy: &ProxyKind, path: &Path, others: &[Self]) -> Self {
        let given = Given { proxy_bin: Some(path.to_owned()), ..Given::default() };
        let said = build_title(proxy, &given)
            .unwrap_or_else(|refusal| super::usage_text(&refusal.to_string()));
        let taken = |title: &String| others.iter().any(|other| other.title == *title);
        let numbered = (2..).map(|number| format!("{said} ({number})"));
        let title = std::iter::once(said.clone()).chain(numbered).find(|title| !taken(title));
        Self { title: title.unwrap_or(said), path: path.to_owned() }
    }

    /// The options that name it.
    pub(super) fn args(&self) -> [String; 2] {
        ["--proxy-bin".to_owned(), self.path.display().to_string()]
    }
}
