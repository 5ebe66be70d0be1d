//! What came of a campaign, in words.

use records::Verdict;
use stats::Change;

use super::gather::verdicts;
use super::input::{ArmInput, CampaignInput, Counts, MetricInput, PairInput};
use super::{ArmData, Standing};
use crate::data::FigureLine;
use crate::words::lead;

/// So many pairs or arms fit above the fold.
const MOST: usize = 3;

/// What the campaign is called.
pub(super) fn title(campaign: &CampaignInput<'_>) -> String {
    /// Letters of the arms' names that a line has room for.
    const ROOM: usize = 60;
    let names: Vec<&str> = campaign.arms.iter().map(|arm| arm.name).collect();
    let names = match names.join(", ") {
        names if names.len() <= ROOM => names,
        _ => format!("{} arms", names.len()),
    };
    let case = campaign.case.as_ref().map(|case| format!(": {}", case.title));
    let of = case.unwrap_or_else(|| format!(" of {names}"));
    let rounds = match campaign.rounds {
        1 => "one round".to_owned(),
        rounds => format!("{rounds} rounds"),
    };
    format!("{}{of}, {rounds}", campaign.purpose)
}

/// A metric, as people call it.
pub(crate) fn metric(name: &str) -> String {
    match name {
        "failed_share" => "failed fetches".to_owned(),
        "slow_bytes_per_sec" => "downloads' rate".to_owned(),
        other => other.replace('_', " "),
    }
}

/// A change with its interval, if one is known: `x0.06 (x0.06 to x0.07)`.
pub(crate) fn change(of: &MetricInput) -> String {
    match of.reach {
        Some(_) => format!("{} ({})", of.change, of.interval),
        None => of.change.clone(),
    }
}

/// What came of it, in one sentence.
pub(super) fn sentence(campaign: &CampaignInput<'_>, arms: &[ArmData]) -> String {
    if arms.iter().all(|arm| arm.trials.is_empty()) {
        return "No trial is done: there is nothing to show yet.".to_owned();
    }
    if campaign.pairs.is_empty() {
        return by_verdict(&campaign.arms);
    }
    let mut said: Vec<String> = campaign.pairs.iter().take(MOST).map(pair).collect();
    if campaign.pairs.len() > MOST {
        said.push(format!("And {} more, below.", campaign.pairs.len() - MOST));
    }
    said.join(" ")
}

/// `rcvbuf against drain: improved (failed fetches, p50, p90).`
fn pair(pair: &PairInput) -> String {
    let PairInput { a, b, change, reasons, metrics, .. } = pair;
    let of = |counts| {
        let names = metrics.iter().filter(|metric| metric.counts == counts);
        names.map(|of| metric(&of.name)).collect::<Vec<_>>().join(", ")
    };
    let (better, worse) = (of(Counts::Better), of(Counts::Worse));
    let why = match (change, better.is_empty(), worse.is_empty()) {
        (Change::Improved, _, true) => better,
        (Change::Regressed, true, _) => worse,
        (Change::Improved | Change::Regressed, ..) => {
            format!("better: {better}; worse: {worse}")
        }
        _ => reasons.join("; "),
    };
    format!("{b} against {a}: {change} ({why}).")
}

/// `Starved: drain, nginx. Healthy: fionread.`
fn by_verdict(arms: &[ArmInput<'_>]) -> String {
    let order = [Verdict::Starved, Verdict::Degraded, Verdict::Healthy, Verdict::Inconclusive];
    let mut said = Vec::new();
    for verdict in order {
        let names = arms.iter().filter_map(|arm| {
            let verdicts = verdicts(&arm.trials);
            let (most, times) = verdicts.first()?;
            let all = arm.trials.len();
            let of = if *times == all { String::new() } else { format!(" ({times} of {all})") };
            (*most == verdict).then(|| format!("{}{of}", arm.name))
        });
        let names: Vec<String> = names.collect();
        if !names.is_empty() {
            said.push(format!("{}: {}.", lead(verdict), names.join(", ")));
        }
    }
    said.join(" ")
}

/// A word for each pair, where there are few; else what the campaign is for.
pub(super) fn chips(campaign: &CampaignInput<'_>) -> Vec<(String, Standing)> {
    let pairs = &campaign.pairs;
    match pairs.len() {
        0 => vec![(campaign.purpose.to_owned(), Standing::Plain)],
        1..=MOST => {
            let chip = |pair: &PairInput| (pair.change.to_string(), Standing::Change(pair.change));
            pairs.iter().map(chip).collect()
        }
        many => vec![(format!("{many} pairs"), Standing::Plain)],
    }
}

/// The two weightiest metrics of each of the first pairs; without pairs, the failures of the arms.
pub(super) fn figures(campaign: &CampaignInput<'_>) -> Vec<FigureLine> {
    if campaign.pairs.is_empty() {
        let arms = campaign.arms.iter().filter(|arm| arm.row.tried > 0);
        return arms.take(MOST + 1).map(of_arm).collect();
    }
    let each = if campaign.pairs.len() == 1 { 2 } else { 1 };
    let known = |metric: &&MetricInput| metric.effect.is_some();
    let of_pair = |pair: &PairInput| -> Vec<FigureLine> {
        let metrics = pair.metrics.iter().filter(known).take(each);
        metrics.map(|metric| of_metric(pair, metric)).collect()
    };
    campaign.pairs.iter().take(MOST).flat_map(of_pair).collect()
}

fn of_arm(arm: &ArmInput<'_>) -> FigureLine {
    FigureLine {
        value: format!("{} of {}", arm.row.failed, arm.row.tried),
        of: format!("{}: fetches under load failed", arm.name),
        against: format!("p50 {}, idle {}", arm.row.p50, arm.row.idle_p50),
    }
}

fn of_metric(pair: &PairInput, of: &MetricInput) -> FigureLine {
    FigureLine {
        value: format!("{} \u{2192} {}", of.a, of.b),
        of: format!("{}, {} \u{2192} {}", metric(&of.name), pair.a, pair.b),
        against: format!("change {}: {}", change(of), of.said),
    }
}
