//! The judgement of a pair of arms: every metric, the control, and one word.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::compare::Measured;
use crate::difference::median;
use crate::{
    Arm, Change, Comparison, Finding, Metric, Pair, Reading, Round, Seed, Settings, Trial, holm,
};

#[cfg(test)]
mod tests;

/// What became of B against A, with all that led there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Judgement {
    /// The word.
    pub change: Change,
    /// Why, the weightiest first.
    pub reasons: Vec<Reason>,
    /// Rounds that were run.
    pub rounds: u32,
    /// Rounds that say nothing, and why.
    pub left_out: Vec<LeftOut>,
    /// The control over the same rounds, by itself.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub control: Option<Comparison>,
    /// Every metric, in the order asked for.
    pub comparisons: Vec<Comparison>,
    /// What chance started from.
    pub seed: Seed,
    /// The numbers of the rule.
    pub settings: Settings,
}

impl Judgement {
    /// The comparisons that say so: the regressed ones are what a gate looks at, since a judgement
    /// of `Improved` may have been bought with another metric.
    pub fn that_say(&self, change: Change) -> impl Iterator<Item = &Comparison> {
        self.comparisons.iter().filter(move |comparison| comparison.change() == change)
    }
}

/// Why a judgement is what it is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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
    /// Most metrics vary too much.
    TooWide {
        /// Those.
        metrics: Vec<String>,
        /// Of so many that have a say.
        of: u32,
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
            Self::TooWide { metrics, of } => write!(
                f,
                "{} of {of} metrics vary too much to show a change ({}): more rounds, or a \
                 quieter host",
                metrics.len(),
                metrics.join(", ")
            ),
            Self::Changed { metric, change, .. } => write!(f, "{metric} {change}"),
            Self::NothingChanged => f.write_str("no metric changed by as much as counts"),
        }
    }
}

/// A round that says nothing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LeftOut {
    /// Its number.
    pub round: u32,
    /// The arm whose trial is at fault; A when both are.
    pub arm: Arm,
    /// Why.
    pub why: String,
}

/// Judges B against A by all `metrics` at once. Of those that changed the weightiest names the
/// judgement, and of equal weight the most certain: an arm that fails more fetches has regressed,
/// however soon it does and however fast the others are.
///
/// `control` describes the readings that stand as [`Trial::control`]. Rounds with an inconclusive
/// trial, or one whose control strayed from its arm's median, are left out.
pub fn judge(
    rounds: &[Round],
    metrics: &[Metric],
    control: Option<&Metric>,
    seed: Seed,
    settings: &Settings,
) -> Judgement {
    let (usable, left_out) = sort_out(rounds, control, settings);
    let measured: Vec<Measured> = metrics
        .iter()
        .map(|metric| {
            let named = |trial: &Trial| trial.readings.get(metric.name()).copied();
            Measured::new(&pairs(&usable, named), metric, seed, settings)
        })
        .collect();
    let control_measured = control.map(|metric| {
        Measured::new(&pairs(&usable, |trial| trial.control), metric, seed, settings)
    });
    let control_floors = control_measured.as_ref().and_then(|measured| {
        let moved = matches!(
            measured.finding(measured.p_at_stake(settings), settings),
            Finding::Higher | Finding::Lower
        );
        moved.then(|| measured.floors_worse())
    });

    let comparisons = conclude(measured, control_floors, settings);
    let control = control_measured.map(|measured| {
        let p = measured.p_at_stake(settings);
        measured.conclude(p, settings)
    });
    let needed = needed_rounds(rounds.len(), settings);
    let enough = usable.len() >= needed;
    let reasons = if enough {
        reasons(&comparisons, control.as_ref().filter(|_| control_floors.is_some()))
    } else {
        vec![Reason::TooFewRounds {
            usable: narrow(usable.len()),
            run: narrow(rounds.len()),
            needed: narrow(needed),
        }]
    };
    Judgement {
        change: reasons.first().map_or(Change::Inconclusive, word),
        reasons,
        rounds: narrow(rounds.len()),
        left_out,
        control,
        comparisons,
        seed,
        settings: *settings,
    }
}

/// Holds every metric against chance in the family, and against the control.
fn conclude(
    measured: Vec<Measured>,
    control_floors: Option<f64>,
    settings: &Settings,
) -> Vec<Comparison> {
    let at_stake: Vec<Option<f64>> =
        measured.iter().map(|measured| measured.p_at_stake(settings)).collect();
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

fn reasons(comparisons: &[Comparison], moved_control: Option<&Comparison>) -> Vec<Reason> {
    let mut changed: Vec<&Comparison> = comparisons
        .iter()
        .filter(|c| matches!(c.finding, Finding::Higher | Finding::Lower))
        .collect();
    let certainty = |c: &Comparison| c.p.unwrap_or(1.0);
    changed.sort_by(|left, right| {
        let weight = left.metric.weight().cmp(&right.metric.weight());
        weight.then(certainty(left).total_cmp(&certainty(right)))
    });
    let changed: Vec<Reason> = changed
        .into_iter()
        .map(|c| Reason::Changed {
            metric: c.metric.name().to_owned(),
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
    let having_a_say: Vec<&Comparison> = comparisons
        .iter()
        .filter(|c| !matches!(c.finding, Finding::TooFewRounds | Finding::BeyondCap))
        .collect();
    if having_a_say.is_empty() {
        return vec![Reason::NothingKnown];
    }
    let blind: Vec<String> = having_a_say
        .iter()
        .filter(|c| c.finding == Finding::TooWide)
        .map(|c| c.metric.name().to_owned())
        .collect();
    if 2 * blind.len() > having_a_say.len() {
        return vec![Reason::TooWide { metrics: blind, of: narrow(having_a_say.len()) }];
    }
    vec![Reason::NothingChanged]
}

const fn word(reason: &Reason) -> Change {
    match reason {
        Reason::Changed { change, .. } => *change,
        Reason::NothingChanged => Change::NoChange,
        Reason::TooFewRounds { .. }
        | Reason::NothingKnown
        | Reason::ControlMoved { .. }
        | Reason::TooWide { .. } => Change::Inconclusive,
    }
}

/// The rounds that can be used, and the others.
fn sort_out<'a>(
    rounds: &'a [Round],
    control: Option<&Metric>,
    settings: &Settings,
) -> (Vec<&'a Round>, Vec<LeftOut>) {
    let steady = Steady::new(rounds, control, settings);
    let mut usable = Vec::new();
    let mut left_out = Vec::new();
    for round in rounds {
        let fault =
            [(Arm::A, &round.a), (Arm::B, &round.b)].into_iter().find_map(|(arm, trial)| {
                trial
                    .inconclusive
                    .clone()
                    .or_else(|| steady.fault(arm, trial))
                    .map(|why| (arm, why))
            });
        match fault {
            Some((arm, why)) => left_out.push(LeftOut { round: round.number, arm, why }),
            None => usable.push(round),
        }
    }
    (usable, left_out)
}

/// What the control of each arm is, usually.
struct Steady<'a> {
    control: Option<&'a Metric>,
    a: Option<f64>,
    b: Option<f64>,
    /// How far a trial may stray, as a logarithm.
    reach: Option<f64>,
}

impl<'a> Steady<'a> {
    fn new(rounds: &[Round], control: Option<&'a Metric>, settings: &Settings) -> Self {
        let usual = |trial: fn(&Round) -> &Trial| {
            let conclusive = rounds.iter().map(trial).filter(|trial| trial.inconclusive.is_none());
            let values: Vec<f64> = conclusive
                .filter_map(|trial| Some(control?.reckoned(trial.control?.value())))
                .collect();
            median(&values)
        };
        let reach = f64::from(settings.steady_percent) / 100.0;
        Self {
            control,
            a: usual(|round| &round.a),
            b: usual(|round| &round.b),
            reach: (reach > 1.0).then(|| reach.ln()),
        }
    }

    fn fault(&self, arm: Arm, trial: &Trial) -> Option<String> {
        let usual = match arm {
            Arm::A => self.a?,
            Arm::B => self.b?,
        };
        let metric = self.control?;
        let now = trial.control?;
        let strayed = (metric.reckoned(now.value()) - usual).abs() > self.reach?;
        strayed.then(|| {
            format!(
                "the host was disturbed: {} was {:.0} {}, where {:.0} is usual",
                metric.name(),
                now.value(),
                metric.unit(),
                metric.said(usual)
            )
        })
    }
}

fn pairs(rounds: &[&Round], reading: impl Fn(&Trial) -> Option<Reading>) -> Vec<Pair> {
    rounds
        .iter()
        .filter_map(|round| Some(Pair { a: reading(&round.a)?, b: reading(&round.b)? }))
        .collect()
}

fn needed_rounds(run: usize, settings: &Settings) -> usize {
    let share = (run * usize::from(settings.min_usable_percent)).div_ceil(100);
    settings.min_rounds().max(share)
}

fn narrow(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
