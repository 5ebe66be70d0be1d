//! Which trials can be used, and which say nothing.

use crate::compare::Known;
use crate::sample::median;
use crate::{Arm, LeftOut, Metric, Pair, Reading, Round, Sample, Settings, Trial};

/// The trials of two arms.
#[derive(Clone, Copy, Debug)]
pub enum Trials<'a> {
    /// Rounds of one campaign: both trials were run one after the other.
    Rounds(&'a [Round]),
    /// Trials of different days, in any order.
    Apart {
        /// Of the arm that is compared against.
        a: &'a [Trial],
        /// Of the arm that is compared.
        b: &'a [Trial],
    },
}

/// Those that are left.
pub(super) enum Usable<'a> {
    Rounds(Vec<&'a Round>),
    Apart { a: Vec<&'a Trial>, b: Vec<&'a Trial> },
}

impl<'a> Trials<'a> {
    /// How many were run of each arm.
    pub(super) const fn run(self) -> [usize; 2] {
        match self {
            Self::Rounds(rounds) => [rounds.len(); 2],
            Self::Apart { a, b } => [a.len(), b.len()],
        }
    }

    /// Leaves out inconclusive trials, and those whose control strayed from its arm's median; of
    /// rounds, both trials.
    pub(super) fn sort_out(
        self,
        control: Option<&Metric>,
        settings: &Settings,
    ) -> (Usable<'a>, Vec<LeftOut>) {
        let mut left_out = Vec::new();
        let mut is_usable = |steady: &Steady<'_>, round: u32, arm: Arm, trial: &Trial| {
            let why = trial.inconclusive.clone().or_else(|| steady.fault(trial));
            left_out.extend(why.iter().map(|why| LeftOut { round, arm, why: why.clone() }));
            why.is_none()
        };
        let usable = match self {
            Self::Rounds(rounds) => {
                let a = Steady::new(rounds.iter().map(|round| &round.a), control, settings);
                let b = Steady::new(rounds.iter().map(|round| &round.b), control, settings);
                let both = rounds.iter().filter(|round| {
                    is_usable(&a, round.number, Arm::A, &round.a)
                        && is_usable(&b, round.number, Arm::B, &round.b)
                });
                Usable::Rounds(both.collect())
            }
            Self::Apart { a, b } => {
                let mut of = |arm: Arm, trials: &'a [Trial]| {
                    let steady = Steady::new(trials.iter(), control, settings);
                    let numbered = (1..).zip(trials);
                    let usable = numbered.filter(|(number, t)| is_usable(&steady, *number, arm, t));
                    usable.map(|(_, trial)| trial).collect()
                };
                Usable::Apart { a: of(Arm::A, a), b: of(Arm::B, b) }
            }
        };
        (usable, left_out)
    }
}

impl Usable<'_> {
    /// How many are left of each arm.
    pub(super) fn count(&self) -> [usize; 2] {
        match self {
            Self::Rounds(rounds) => [rounds.len(); 2],
            Self::Apart { a, b } => [a.len(), b.len()],
        }
    }

    /// One reading of all of them, and how many have it.
    pub(super) fn sample(
        &self,
        reading: impl Fn(&Trial) -> Option<Reading>,
        settings: &Settings,
    ) -> (Sample, Known) {
        let needed = self.count().map(|count| settings.needed_rounds(count));
        match self {
            Self::Rounds(rounds) => {
                let pair =
                    |round: &&Round| Some(Pair { a: reading(&round.a)?, b: reading(&round.b)? });
                let a = rounds.iter().filter(|round| reading(&round.a).is_some()).count();
                (Sample::Paired(rounds.iter().filter_map(pair).collect()), Known { needed, a })
            }
            Self::Apart { a, b } => {
                let [a, b] =
                    [a, b].map(|arm| arm.iter().filter_map(|t| reading(t)).collect::<Vec<_>>());
                let known = Known { needed, a: a.len() };
                (Sample::Apart { a, b }, known)
            }
        }
    }
}

/// What the control of one arm is, usually.
struct Steady<'a> {
    control: Option<&'a Metric>,
    usual: Option<f64>,
    /// How far a trial may stray, as a logarithm.
    reach: Option<f64>,
}

impl<'a> Steady<'a> {
    fn new<'t>(
        trials: impl Iterator<Item = &'t Trial>,
        control: Option<&'a Metric>,
        settings: &Settings,
    ) -> Self {
        let conclusive = trials.filter(|trial| trial.inconclusive.is_none());
        let values: Vec<f64> = conclusive
            .filter_map(|trial| Some(control?.reckoned(trial.control?.value())))
            .collect();
        let reach = f64::from(settings.steady_percent) / 100.0;
        let reach = (reach > 1.0).then(|| reach.ln());
        Self { control, usual: median(&values), reach }
    }

    fn fault(&self, trial: &Trial) -> Option<String> {
        let (metric, usual, now) = (self.control?, self.usual?, trial.control?);
        let strayed = (metric.reckoned(now.value()) - usual).abs() > self.reach?;
        strayed.then(|| {
            format!(
                "the host was disturbed: {} was {:.0} {}, where {:.0} is usual",
                metric.name,
                now.value(),
                metric.unit,
                metric.said(usual)
            )
        })
    }
}
