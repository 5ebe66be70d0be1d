//! A campaign as a report takes it.

use std::path::Path;

use analysis::guard::compare::curve;
use analysis::guard::rounds::Ran;
use analysis::guard::{Comparison, PairOf};
use records::{ArmRow, ArmSpec, Manifest};
use report::{
    ArmInput, CampaignData, CampaignInput, CaseArmInput, CaseFigure, CaseInput, Counts,
    MetricInput, PairInput, TrialInput,
};
use stats::Finding;

use crate::campaign::Campaign;
use crate::cases::{Case, Shown};
use crate::run_dir::REPORT;

/// What a campaign has beside its table.
pub(in crate::cli) enum Extra {
    /// Nothing.
    None,
    /// Every arm against the first.
    Comparison(Box<Comparison>),
    /// A published situation, and its figures here.
    Case(Box<CaseInput>),
}

/// All that the page shows of a campaign.
pub(in crate::cli) fn campaign(
    campaign: &Campaign,
    told: &[(String, Vec<Ran>)],
    rows: &[ArmRow],
    extra: &Extra,
    manifest: Option<&Manifest>,
) -> CampaignData {
    let journal = &campaign.journal;
    let arms = journal.arms.iter().zip(told).zip(rows);
    let arms = arms.map(|((spec, (_, told)), row)| arm(spec, told, row));
    let (pairs, case) = match extra {
        Extra::None => Default::default(),
        Extra::Comparison(comparison) => (comparison.pairs.iter().map(pair).collect(), None),
        Extra::Case(case) => (Vec::new(), Some((**case).clone())),
    };
    CampaignData::of(CampaignInput {
        purpose: &journal.purpose,
        command: &journal.command,
        rounds: journal.rounds,
        planned: journal.planned(),
        seed: journal.seed.0,
        arms: arms.collect(),
        pairs,
        case,
        manifest,
    })
}

fn arm<'a>(spec: &'a ArmSpec, told: &'a [Ran], row: &'a ArmRow) -> ArmInput<'a> {
    let trial = |told: &'a Ran| {
        let page = page_of(&told.dir);
        TrialInput { round: told.round, page, summary: &told.summary }
    };
    ArmInput {
        name: &spec.name,
        args: &spec.args,
        row,
        trials: told.iter().map(trial).collect(),
        survival: curve(told),
    }
}

/// The page in a trial's run directory, as campaigns name it.
fn page_of(dir: &Path) -> String {
    dir.join(REPORT).display().to_string()
}

fn pair(of: &PairOf) -> PairInput {
    let PairOf { a, b, judgement, .. } = of;
    PairInput {
        a: a.clone(),
        b: b.clone(),
        change: judgement.change,
        reasons: judgement.reasons.iter().map(ToString::to_string).collect(),
        left_out: judgement.left_out.iter().map(report::left_out).collect(),
        metrics: judgement.comparisons.iter().map(metric).collect(),
    }
}

/// A metric as `turnstile compare` prints it, with its figures.
fn metric(of: &stats::MetricComparison) -> MetricInput {
    let [name, a, b, change, interval, votes, p, said] = report::metric_cells(of);
    let counts = match (of.finding, of.change()) {
        (Finding::Higher | Finding::Lower, stats::Change::Improved) => Counts::Better,
        (Finding::Higher | Finding::Lower, _) => Counts::Worse,
        _ => Counts::Not,
    };
    MetricInput {
        name,
        a,
        b,
        change,
        interval,
        votes,
        p,
        said,
        scale: of.metric.scale,
        effect: of.effect.filter(|_| of.rounds > 0),
        reach: of.interval,
        counts,
    }
}

/// A case as it is told, with its figures here.
pub(in crate::cli) fn case(case: &Case, shown: &[Shown]) -> CaseInput {
    let arm = |shown: &Shown| CaseArmInput {
        name: shown.arm.clone(),
        verdict: shown.verdict,
        dir: shown.dir.clone(),
        figures: shown
            .figures
            .iter()
            .map(|(figure, here, published)| CaseFigure {
                label: figure.label().to_owned(),
                here: here.clone(),
                published: published.clone(),
            })
            .collect(),
    };
    CaseInput {
        title: case.title.clone(),
        source: case.source.clone(),
        story: case.story.trim().split("\n\n").map(str::to_owned).collect(),
        look: case.look.clone(),
        arms: shown.iter().map(arm).collect(),
    }
}
