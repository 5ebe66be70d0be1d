//! From what a campaign tells to what its page holds.

use std::collections::BTreeMap;

use records::{BytesPerSec, CaveatCode, Summary, Verdict};
use stats::{Count, Settings, ShareInterval, share_over_rounds, wilson};

use super::input::{ArmInput, CampaignInput, TrialInput};
use super::{ArmData, CampaignData, LatencyData, ShareData, TrialData, words};
use crate::{curve, gather, head, palette};

/// Layout of [`CampaignData`].
const PAGE_VERSION: u32 = 1;

impl CampaignData {
    /// All that the page shows of a campaign.
    pub fn of(campaign: CampaignInput<'_>) -> Self {
        let done = campaign.arms.iter().map(|arm| arm.trials.len()).sum();
        let arms: Vec<ArmData> =
            (0..).zip(&campaign.arms).map(|(place, arm)| of_arm(place, arm)).collect();
        let planned = campaign.planned;
        let cut_short = (done < planned).then(|| {
            format!(
                "{done} of {planned} trials are done: this campaign was cut short, or is still \
                 under way. What is here is what there was by then."
            )
        });
        Self {
            page_version: PAGE_VERSION,
            title: words::title(&campaign),
            sentence: words::sentence(&campaign, &arms),
            chips: words::chips(&campaign),
            cut_short,
            figures: words::figures(&campaign),
            command: head::command(campaign.command),
            rounds: campaign.rounds,
            planned,
            done,
            seed: campaign.seed,
            cap_us: common_cap(&campaign.arms),
            caveats: caveats(&campaign.arms),
            environment: campaign.manifest.map(gather::machine).unwrap_or_default(),
            arms,
            pairs: campaign.pairs,
            case: campaign.case,
        }
    }
}

fn of_arm(place: u32, arm: &ArmInput<'_>) -> ArmData {
    let counts: Vec<Count> = arm.trials.iter().filter_map(|trial| count(trial.summary)).collect();
    ArmData {
        name: arm.name.to_owned(),
        options: head::command(arm.args),
        ink: palette::download(place),
        verdicts: verdicts(&arm.trials),
        row: arm.row.clone(),
        failed: share_over_rounds(&counts, Settings::default().confidence).map(share),
        trials: arm.trials.iter().map(of_trial).collect(),
        survival: curve::points(&arm.survival),
    }
}

fn of_trial(trial: &TrialInput<'_>) -> TrialData {
    let TrialInput { round, page, summary } = trial;
    let measure = &summary.measure;
    let wilson = count(summary).map(|count| wilson(count, Settings::default().confidence));
    let BytesPerSec(rate) = summary.slow.bytes_per_sec;
    let (idle, load) = (&summary.idle.latency_us, &measure.latency_us);
    let of_idle = |us| (summary.idle.attempts > 0).then(|| latency(summary, us));
    let of_load = |us| (measure.attempts > 0).then(|| latency(summary, us));
    TrialData {
        round: round + 1,
        page: page.clone(),
        verdict: summary.verdict,
        reason: summary.verdict_reasons.first().cloned().unwrap_or_default(),
        tried: measure.outcomes.tried(),
        failed: measure.outcomes.failed(),
        failed_share: wilson.map(share),
        latency: [
            of_idle(idle.p50),
            of_load(load.p50),
            of_load(load.p90),
            of_load(load.p99),
            of_load(load.max),
        ],
        slow_bytes_per_sec: (summary.slow.downloads > 0).then_some(rate),
    }
}

/// A fetch that was given up took its cap or more; a histogram of 3 digits may say a little less.
fn latency(summary: &Summary, us: u64) -> LatencyData {
    let cap = summary.arm.fetch.cap.0;
    LatencyData { us, given_up: us >= cap - cap / 500 }
}

fn count(summary: &Summary) -> Option<Count> {
    let outcomes = &summary.measure.outcomes;
    Count::new(outcomes.failed(), outcomes.tried()).ok()
}

const fn share(of: ShareInterval) -> ShareData {
    ShareData { share: of.share, low: of.interval.low, high: of.interval.high }
}

pub(super) fn verdicts(trials: &[TrialInput<'_>]) -> Vec<(Verdict, usize)> {
    let mut counts: BTreeMap<Verdict, usize> = BTreeMap::new();
    for trial in trials {
        *counts.entry(trial.summary.verdict).or_default() += 1;
    }
    let mut verdicts: Vec<(Verdict, usize)> = counts.into_iter().collect();
    verdicts.sort_by_key(|(_, trials)| std::cmp::Reverse(*trials));
    verdicts
}

fn common_cap(arms: &[ArmInput<'_>]) -> Option<u64> {
    let mut caps =
        arms.iter().flat_map(|arm| &arm.trials).map(|trial| trial.summary.arm.fetch.cap.0);
    let first = caps.next()?;
    caps.all(|cap| cap == first).then_some(first)
}

fn caveats(arms: &[ArmInput<'_>]) -> Vec<(String, usize)> {
    // By code: the words hold figures, which differ between trials.
    let mut by_code: BTreeMap<CaveatCode, (String, usize)> = BTreeMap::new();
    for trial in arms.iter().flat_map(|arm| &arm.trials) {
        for caveat in &trial.summary.caveats {
            by_code.entry(caveat.code).or_insert_with(|| (caveat.message.clone(), 0)).1 += 1;
        }
    }
    let mut caveats: Vec<(String, usize)> = by_code.into_values().collect();
    caveats.sort_by_key(|(_, trials)| std::cmp::Reverse(*trials));
    caveats
}
