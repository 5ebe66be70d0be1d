//! Why a judgement is what it is.

use std::fmt;

use serde::Serialize;

use crate::{Change, Finding, MetricComparison, Scale};

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

impl Reason {
    pub(super) const fn word(&self) -> Change {
        match self {
            Self::Changed { change, .. } => *change,
            Self::NothingChanged => Change::NoChange,
            Self::TooFewRounds { .. }
            | Self::NothingKnown
            | Self::ControlMoved { .. }
            | Self::TooWide { .. } => Change::Inconclusive,
        }
    }
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
pub(super) fn reasons(
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
