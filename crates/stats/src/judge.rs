//! The judgement of a pair of arms: every metric, the control, and one word.

use std::fmt;

use serde::Serialize;

use crate::compare::Measured;
use crate::rule::RULE;
use crate::trials::Arms;
use crate::{Change, Finding, Metric, MetricComparison, PairArm, Scale, Settings, Trials};

/// What became of B against A, with all that led there.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Judgement {
    /// The word.
    pub change: Change,
    /// Why, the weightiest first.
    pub reasons: Vec<Reason>,
    /// Rounds that were run; of two samples, of B.
    pub rounds: u32,
    /// Rounds that say nothing, and why.
    pub left_out: Vec<LeftOut>,
    /// The control over the same rounds, by itself.
    pub control: MetricComparison,
    /// Every metric, in the order asked for.
    pub comparisons: Vec<MetricComparison>,
    /// The numbers of the rule.
    pub settings: Settings,
}

impl Judgement {
    /// The comparisons that say so: the regressed ones are what a gate looks at, since a judgement
    /// of `Improved` may have been bought with another metric.
    pub fn that_say(&self, change: Change) -> impl Iterator<Item = &MetricComparison> {
        self.comparisons.iter().filter(move |comparison| comparison.change() == change)
    }

    /// The metrics of which nobody knows what became of them, though they were asked for.
    pub fn unknown(&self) -> impl Iterator<Item = &MetricComparison> {
        self.comparisons.iter().filter(|comparison| comparison.is_unknown())
    }
}

/// A round that says nothing.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LeftOut {
    /// Its number; of two samples, within its arm.
    pub round: u32,
    /// The arm whose trial is at fault; A when both are.
    pub arm: PairArm,
    /// Why.
    pub why: String,
}

/// Judges B against A by all `metrics` at once. Of those that changed the weightiest names the
/// judgement, and of equal weight the most certain: an arm that fails more fetches has regressed,
/// however soon it does and however fast the others are. `NoChange` takes that none of them is blind.
///
/// Inconclusive trials are left out, and those whose control ([`Metric::IDLE_P50`]) strayed from its arm's
/// median; where the trials do not know it, none is.
pub fn judge(trials: Trials<'_>, metrics: &[Metric]) -> Judgement {
    let arms = Arms::of(trials);
    let run = arms.count();
    let (usable, left_out) = arms.sort_out(&Metric::IDLE_P50);
    let measured = usable.measured(&Metric::IDLE_P50);
    let control = measured.conclude(measured.p_at_stake());
    let moved = control.finding.is_change();
    let floors = moved.then(|| measured.floors_worse());
    let measured: Vec<Measured> = metrics.iter().map(|metric| usable.measured(metric)).collect();
    let comparisons = conclude(&measured, floors);
    let counts = usable.count().into_iter().zip(run);
    let short = counts
        .map(|(usable, run)| [usable, run, RULE.needed_rounds(run)].map(narrow))
        .find(|[usable, _, needed]| usable < needed);
    let reasons = match short {
        None => reasons(&comparisons, moved.then_some(&control)),
        Some([usable, run, needed]) => vec![Reason::TooFewRounds { usable, run, needed }],
    };
    let [_, of_b] = run;
    Judgement {
        change: match reasons.first() {
            Some(Reason::Changed { change, .. }) => *change,
            Some(Reason::NothingChanged) => Change::NoChange,
            _ => Change::Inconclusive,
        },
        reasons,
        rounds: narrow(of_b),
        left_out,
        control,
        comparisons,
        settings: RULE,
    }
}

/// Holds every metric against chance in the family, and against the control.
fn conclude(measured: &[Measured], control_floors: Option<f64>) -> Vec<MetricComparison> {
    let at_stake: Vec<Option<f64>> = measured.iter().map(Measured::p_at_stake).collect();
    let mut adjusted = holm(&at_stake.iter().flatten().copied().collect::<Vec<_>>()).into_iter();
    let concluded = measured.iter().zip(at_stake).map(|(measured, p)| {
        let explained = control_floors.is_some_and(|control| {
            let floors = measured.floors_worse();
            control.signum() == floors.signum() && floors.abs() < 2.0 * control.abs()
        });
        let mut comparison = measured.conclude(p.and_then(|_| adjusted.next()));
        if explained && comparison.finding.is_change() {
            comparison.finding = Finding::ControlMoved;
        }
        comparison
    });
    concluded.collect()
}

/// Several metrics at once: who looks six times finds by chance what is not there. Adjusted p-values
/// by Holm (1979): each may be held against the level that the whole family must keep, whatever the
/// metrics have to do with each other. In the order given; p-values are taken as in 0 to 1, NaN as 1.
pub(crate) fn holm(p_values: &[f64]) -> Vec<f64> {
    let known = |p: &f64| if p.is_nan() { 1.0 } else { p.clamp(0.0, 1.0) };
    let mut ranked: Vec<(usize, f64)> = p_values.iter().map(known).enumerate().collect();
    ranked.sort_by(|(_, left), (_, right)| left.total_cmp(right));
    let (mut least, mut left) = (0.0_f64, ranked.len());
    for (_, p) in &mut ranked {
        least = least.max(*p * left as f64).min(1.0);
        (*p, left) = (least, left - 1);
    }
    ranked.sort_unstable_by_key(|(index, _)| *index);
    ranked.into_iter().map(|(_, p)| p).collect()
}

fn narrow(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// Why a judgement is what it is.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "reason")]
pub enum Reason {
    /// Too few rounds are left.
    TooFewRounds {
        /// Left.
        usable: u32,
        /// Run.
        run: u32,
        /// Wanted.
        needed: u32,
    },
    /// No metric is known in both arms, or all lie beyond the cap.
    NothingKnown,
    /// The control moved, and no metric moved much more.
    ControlMoved {
        /// B over A, or B minus A, of the control.
        effect: f64,
    },
    /// Nothing changed as far as was seen, and these vary too much to be seen.
    TooWide {
        /// Those.
        metrics: Vec<Blind>,
    },
    /// A metric changed.
    Changed {
        /// Which.
        metric: String,
        /// What became of it.
        change: Change,
        /// B over A, or B minus A.
        effect: f64,
    },
    /// Nothing changed that counts.
    NothingChanged,
}

/// A metric that varies too much, and the change from which on these rounds could have shown one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Blind {
    /// Its name.
    pub metric: String,
    /// How it is compared.
    pub scale: Scale,
    /// A factor, or a difference; absent: none within reason.
    pub smallest_shown: Option<f64>,
}

impl Blind {
    /// What is to be said of a metric that varies too much.
    pub fn of(comparison: &MetricComparison) -> Self {
        Self {
            metric: comparison.metric.name.to_owned(),
            scale: comparison.metric.scale,
            smallest_shown: comparison.smallest_shown(),
        }
    }
}

/// Every reason that these comparisons give, the weightiest first.
fn reasons(
    comparisons: &[MetricComparison],
    moved_control: Option<&MetricComparison>,
) -> Vec<Reason> {
    let mut changed: Vec<&MetricComparison> =
        comparisons.iter().filter(|comparison| comparison.finding.is_change()).collect();
    let certainty = |c: &MetricComparison| c.p.unwrap_or(1.0);
    changed.sort_by(|left, right| {
        let weight = left.metric.weight.cmp(&right.metric.weight);
        weight.then(certainty(left).total_cmp(&certainty(right)))
    });
    let changed: Vec<Reason> = changed
        .into_iter()
        .map(|c| Reason::Changed {
            metric: c.metric.name.to_owned(),
            change: c.change(),
            effect: c.effect.unwrap_or_default(),
        })
        .collect();
    if !changed.is_empty() {
        return changed;
    }
    if let Some(control) = moved_control {
        return vec![Reason::ControlMoved { effect: control.effect.unwrap_or_default() }];
    }
    let has_a_say =
        |c: &MetricComparison| !matches!(c.finding, Finding::TooFewRounds | Finding::BeyondCap);
    if !comparisons.iter().any(has_a_say) {
        return vec![Reason::NothingKnown];
    }
    let blind = comparisons.iter().filter(|c| c.finding == Finding::TooWide);
    let metrics: Vec<Blind> = blind.map(Blind::of).collect();
    if metrics.is_empty() {
        vec![Reason::NothingChanged]
    } else {
        vec![Reason::TooWide { metrics }]
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooFewRounds { usable, run, needed } => {
                write!(f, "{usable} of {run} rounds can be used, {needed} are needed")
            }
            Self::NothingKnown => f.write_str("no metric is known in both arms within the cap"),
            Self::ControlMoved { effect } => {
                write!(f, "the host differed between the arms without load (B/A {effect:.2})")
            }
            Self::TooWide { metrics } => {
                let all: Vec<String> = metrics.iter().map(ToString::to_string).collect();
                write!(f, "{}: more rounds, or a quieter host", all.join(", "))
            }
            Self::Changed { metric, change, .. } => write!(f, "{metric} {change}"),
            Self::NothingChanged => f.write_str("no metric changed by as much as counts"),
        }
    }
}

impl fmt::Display for Blind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let metric = &self.metric;
        match (self.smallest_shown, self.scale) {
            (None, _) => write!(f, "{metric} could not have shown any change"),
            (Some(factor), Scale::Ratio) => {
                write!(f, "{metric} could only have shown a change by x{factor:.1} or more")
            }
            (Some(by), Scale::Difference) => {
                write!(f, "{metric} could only have shown a change by {by:.2} or more")
            }
        }
    }
}
