//! Named cases: published or well-known situations as arms, with the words that explain them and the
//! figures that were published beside those measured here.
//!
//! - [`figure`]: the figures a case may ask for, made from a run's records
//!
//! A case is a file of its own in `crates/harness/cases`; this module knows none of them by name.
//!
//! Not for: running them; that is a campaign like any other.

pub mod figure;

use std::collections::BTreeMap;
use std::path::Path;

use analysis::Analysis;
use analysis::guard::rounds::Ran;
use records::{Cause, RunRecords, Summary};
use report::CaseWords;
use serde::Deserialize;

pub use figure::CaseFigure;

/// A case, as it stands in its file.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Case {
    /// What is told of it.
    #[serde(flatten)]
    pub words: CaseWords,
    /// The figures to be shown of every arm.
    pub figures: Vec<CaseFigure>,
    /// Its arms. One that names a proxy is run once with each build of it that is given by hand.
    pub arms: Vec<CaseArm>,
}

/// An arm of a case.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CaseArm {
    /// How tables call it.
    pub name: String,
    /// Its options on one network; absent: it exists only with a network of its own.
    #[serde(default)]
    pub args: Option<String>,
    /// Its options in network namespaces, where they differ.
    #[serde(default)]
    pub netns: Option<String>,
    /// Arms whose rate its own is held against, by name.
    #[serde(default)]
    pub against: Vec<String>,
    /// The causes that must come before all others, in any order.
    #[serde(default)]
    pub named: Vec<Cause>,
    /// What was published, by figure.
    #[serde(default)]
    pub published: BTreeMap<CaseFigure, String>,
}

impl CaseArm {
    /// Whether that is its name, or its name with the version of a build: of `nginx reuseport` it is
    /// `nginx reuseport 1.17.4`.
    pub(crate) fn is_named(&self, name: &str) -> bool {
        // A version, and a number where two builds tell the same one.
        let of_version = |letter: char| letter.is_ascii_digit() || " .()".contains(letter);
        name.strip_prefix(&self.name).is_some_and(|rest| rest.chars().all(of_version))
    }
}

/// Every case: its name and its file.
const FILES: &[(&str, &str)] = &[
    ("server-threads", include_str!("../../cases/server-threads.toml")),
    ("starvation-2023", include_str!("../../cases/starvation-2023.toml")),
    ("nginx-gzip-file", include_str!("../../cases/nginx-gzip-file.toml")),
    ("nginx-temp-file", include_str!("../../cases/nginx-temp-file.toml")),
    ("nginx-sendfile", include_str!("../../cases/nginx-sendfile.toml")),
    ("nginx-eras", include_str!("../../cases/nginx-eras.toml")),
    ("herd", include_str!("../../cases/herd.toml")),
    ("proxy-halves-throughput", include_str!("../../cases/proxy-halves-throughput.toml")),
    ("withheld-cpu", include_str!("../../cases/withheld-cpu.toml")),
    ("why-499", include_str!("../../cases/why-499.toml")),
    ("faults", include_str!("../../cases/faults.toml")),
    ("fault-pairs", include_str!("../../cases/fault-pairs.toml")),
    ("layered-collapse", include_str!("../../cases/layered-collapse.toml")),
    ("static-scaling", include_str!("../../cases/static-scaling.toml")),
    ("accept-balancing", include_str!("../../cases/accept-balancing.toml")),
    ("proxies-2026", include_str!("../../cases/proxies-2026.toml")),
    ("event-loops-2026", include_str!("../../cases/event-loops-2026.toml")),
    ("event-loops-knee", include_str!("../../cases/event-loops-knee.toml")),
];

/// The names of all cases.
pub fn names() -> impl Iterator<Item = &'static str> {
    FILES.iter().map(|(name, _)| *name)
}

/// The case of that name.
///
/// # Errors
/// There is none of that name; the error says what lists them.
///
/// # Panics
/// Its file, which is ours, does not read.
pub fn find(name: &str) -> Result<Case, String> {
    let none = || format!("there is no case {name:?}; `turnstile case list` tells which there are");
    let (known, text) = FILES.iter().find(|(known, _)| *known == name).ok_or_else(none)?;
    Ok(toml::from_str(text).unwrap_or_else(|error| panic!("case {known}: {error}")))
}

/// The case with every arm's figures, of its typical trial, beside what was published; of the trials of each
/// arm by name, in the directory of their campaign. An arm without a trial is left out.
///
/// # Errors
/// A trial cannot be read.
pub(crate) fn told(
    case: &Case,
    dir: &Path,
    trials: &[(String, Vec<Ran>)],
) -> anyhow::Result<report::Case> {
    let mut arms = Vec::new();
    for (name, ran) in trials {
        let mut ran: Vec<&Ran> = ran.iter().collect();
        ran.sort_by_key(|Ran { summary: Summary { measure, .. }, .. }| {
            (measure.outcomes.failed(), measure.latency_us.p50)
        });
        let Some(typical) = ran.get(ran.len() / 2) else { continue };
        let of_case = case.arms.iter().find(|of_case| of_case.is_named(name));
        let records = RunRecords::load(&dir.join(&typical.dir))?;
        let analysis = Analysis::of(&records);
        let figure = |figure: &CaseFigure| {
            let against = of_case.map(|arm| arm.against.as_slice()).unwrap_or_default();
            let here = match figure.name() {
                figure::THROUGHPUT => throughput(name, against, trials),
                figure::NAMED => of_case.and_then(|arm| named(&arm.named, &ran)),
                _ => figure.of(&analysis),
            };
            let published = of_case.and_then(|arm| arm.published.get(figure).cloned());
            report::CaseFigure { label: figure.label(), here, published }
        };
        arms.push(report::CaseArm {
            name: name.clone(),
            verdict: typical.summary.verdict,
            dir: typical.dir.clone(),
            figures: case.figures.iter().map(figure).collect(),
        });
    }
    Ok(report::Case { words: case.words.clone(), arms })
}

/// In how many trials these causes came first; `None`: none is expected.
fn named(causes: &[Cause], ran: &[&Ran]) -> Option<String> {
    let are_first = |ran: &&&Ran| {
        let first = ran.summary.causes.iter().take(causes.len()).map(|share| share.cause);
        causes.iter().all(|cause| first.clone().any(|one| one == *cause))
    };
    let right = ran.iter().filter(are_first).count();
    let told: Vec<String> = causes.iter().map(Cause::to_string).collect();
    (!told.is_empty()).then(|| format!("{} in {right} of {}", told.join(" and "), ran.len()))
}

/// Good fetches a second, the median over rounds, and how much more or less that is than in each arm that it
/// is held against; `None`: nothing was measured.
fn throughput(arm: &str, against: &[String], trials: &[(String, Vec<Ran>)]) -> Option<String> {
    let rate_of = |arm: &str| {
        let (_, ran) = trials.iter().find(|(name, _)| name == arm)?;
        let mut rates: Vec<f64> = ran.iter().filter_map(|ran| ran.summary.good_per_sec()).collect();
        rates.sort_by(f64::total_cmp);
        rates.get(rates.len() / 2).copied()
    };
    let rate = rate_of(arm)?;
    let beside = against.iter().filter_map(|other| {
        let percent = (rate / rate_of(other).filter(|rate| *rate > 0.0)? - 1.0) * 100.0;
        let word = if percent < 0.0 { "less" } else { "more" };
        Some(format!("{:.0} % {word} than {other}", percent.abs()))
    });
    let beside: Vec<String> = beside.collect();
    let told = format!("{rate:.0} good fetches/s");
    Some(if beside.is_empty() { told } else { format!("{told}: {}", beside.join(", ")) })
}

#[cfg(test)]
mod tests;
