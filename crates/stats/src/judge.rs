//! The judgement of a pair of arms: every metric, the control, and one word.

mod reason;
mod usable;

use serde::Serialize;

use crate::compare::Measured;
use crate::{Arm, Change, Comparison, Finding, Metric, Settings, Trial, holm};

pub use reason::{Blind, Reason};
pub use usable::Trials;

#[cfg(test)]
mod tests;

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
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub control: Option<Comparison>,
    /// Every metric, in the order asked for.
    pub comparisons: Vec<Comparison>,
    /// The numbers of the rule.
    pub settings: Settings,
}

impl Judgement {
    /// The comparisons that say so: the regressed ones are what a gate looks at, since a judgement
    /// of `Improved` may have been bought with another metric.
    pub fn that_say(&self, change: Change) -> impl Iterator<Item = &Comparison> {
        self.comparisons.iter().filter(move |comparison| comparison.change() == change)
    }

    /// The metrics of which nobody knows what became of them, though they were asked for.
    pub fn unknown(&self) -> impl Iterator<Item = &Comparison> {
        self.comparisons.iter().filter(|comparison| comparison.is_unknown())
    }
}

/// A round that says nothing.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LeftOut {
    /// Its number; of two samples, within its arm.
    pub round: u32,
    /// The arm whose trial is at fault; A when both are.
    pub arm: Arm,
    /// Why.
    pub why: String,
}

/// Judges B against A by all `metrics` at once. Of those that changed the weightiest names the
/// judgement, and of equal weight the most certain: an arm that fails more fetches has regressed,
/// however soon it does and however fast the others are. `NoChange` takes that none of them is blind.
///
/// `control` describes the readings that stand as [`Trial::control`]. Inconclusive trials, and those
/// whose control strayed from its arm's median, are left out.
pub fn judge(
    trials: Trials<'_>,
    metrics: &[Metric],
    control: Option<&Metric>,
    settings: &Settings,
) -> Judgement {
    let (usable, left_out) = trials.sort_out(control, settings);
    let measured: Vec<Measured> = metrics
        .iter()
        .map(|metric| {
            let named = |trial: &Trial| trial.readings.get(metric.name).copied();
            let (sample, known) = usable.sample(named, settings);
            Measured::new(&sample, metric, known, settings)
        })
        .collect();
    let control_measured = control.map(|metric| {
        let (sample, known) = usable.sample(|trial| trial.control, settings);
        Measured::new(&sample, metric, known, settings)
    });
    let control_floors = control_measured.as_ref().and_then(|measured| {
        let moved = matches!(
            measured.finding(measured.p_at_stake(), settings),
            Finding::Higher | Finding::Lower
        );
        moved.then(|| measured.floors_worse())
    });

    let comparisons = conclude(measured, control_floors, settings);
    let control = control_measured.map(|measured| {
        let p = measured.p_at_stake();
        measured.conclude(p, settings)
    });
    let counts = usable.count().into_iter().zip(trials.run());
    let short = counts
        .map(|(usable, run)| (usable, run, settings.needed_rounds(run)))
        .find(|(usable, _, needed)| usable < needed);
    let reasons = match short {
        None => {
            reason::reasons(&comparisons, control.as_ref().filter(|_| control_floors.is_some()))
        }
        Some((usable, run, needed)) => {
            let [usable, run, needed] = [usable, run, needed].map(narrow);
            vec![Reason::TooFewRounds { usable, run, needed }]
        }
    };
    let [_, run] = trials.run();
    Judgement {
        change: reasons.first().map_or(Change::Inconclusive, Reason::word),
        reasons,
        rounds: narrow(run),
        left_out,
        control,
        comparisons,
        settings: *settings,
    }
}

/// Holds every metric against chance in the family, and against the control.
fn conclude(
    measured: Vec<Measured>,
    control_floors: Option<f64>,
    settings: &Settings,
) -> Vec<Comparison> {
    let at_stake: Vec<Option<f64>> = measured.iter().map(Measured::p_at_stake).collect();
    let mut adjusted = holm(&at_stake.iter().flatten().copied().collect::<Vec<_>>()).into_iter();
    measured
        .into_iter()
        .zip(at_stake)
        .map(|(measured, p)| {
            let explained = control_floors.is_some_and(|control| {
                let floors = measured.floors_worse();
                control.signum() == floors.signum() && floors.abs() < 2.0 * control.abs()
            });
            let p_family = p.and_then(|_| adjusted.next());
            let mut comparison = measured.conclude(p_family, settings);
            if explained && matches!(comparison.finding, Finding::Higher | Finding::Lower) {
                comparison.finding = Finding::ControlMoved;
            }
            comparison
        })
        .collect()
}

fn narrow(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
