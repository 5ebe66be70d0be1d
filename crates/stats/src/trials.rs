//! Which trials can be used, and which say nothing.

use crate::compare::{Known, Measured};
use crate::sample::{Design, Sample, median};
use crate::{LeftOut, Metric, PairArm, Reading, Round, Settings, Trial};

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

/// The same by arm, each with the number of its round, or within its arm.
pub(crate) struct Arms<'a> {
    design: Design,
    a: Vec<(u32, &'a Trial)>,
    b: Vec<(u32, &'a Trial)>,
}

impl<'a> Arms<'a> {
    pub(crate) fn of(trials: Trials<'a>) -> Self {
        match trials {
            Trials::Rounds(rounds) => Self {
                design: Design::Paired,
                a: rounds.iter().map(|round| (round.number, &round.a)).collect(),
                b: rounds.iter().map(|round| (round.number, &round.b)).collect(),
            },
            Trials::Apart { a, b } => {
                let [a, b] = [a, b].map(|trials| (1..).zip(trials).collect());
                Self { design: Design::Apart, a, b }
            }
        }
    }

    /// How many there are of each arm.
    pub(crate) fn count(&self) -> [usize; 2] {
        [self.a.len(), self.b.len()]
    }

    /// Leaves out inconclusive trials, and those whose control strayed from its arm's median; of
    /// rounds, both trials.
    pub(crate) fn sort_out(
        self,
        control: Option<&Metric>,
        settings: &Settings,
    ) -> (Self, Vec<LeftOut>) {
        let faults = |arm: PairArm, trials: &[(u32, &Trial)]| -> Vec<Option<LeftOut>> {
            let steady = Steady::of(trials, control, settings);
            let fault = |&(round, trial): &(u32, &Trial)| {
                let why = trial.inconclusive.clone().or_else(|| steady.fault(trial))?;
                Some(LeftOut { round, arm, why })
            };
            trials.iter().map(fault).collect()
        };
        let (mut of_a, mut of_b) = (faults(PairArm::A, &self.a), faults(PairArm::B, &self.b));
        let left_out = |faults: &[Option<LeftOut>]| faults.iter().flatten().cloned().collect();
        let told: Vec<LeftOut> = match self.design {
            Design::Paired => {
                let either = of_a.iter().zip(&of_b).map(|(a, b)| a.clone().or(b.clone()));
                of_a = either.collect();
                of_b.clone_from(&of_a);
                left_out(&of_a)
            }
            Design::Apart => left_out(&[of_a.as_slice(), of_b.as_slice()].concat()),
        };
        let usable = |trials: Vec<(u32, &'a Trial)>, faults: &[Option<LeftOut>]| {
            let without = trials.into_iter().zip(faults).filter(|(_, fault)| fault.is_none());
            without.map(|(trial, _)| trial).collect()
        };
        let (a, b) = (usable(self.a, &of_a), usable(self.b, &of_b));
        (Self { design: self.design, a, b }, told)
    }

    /// One metric of all of them, as far as they have a `reading` of it.
    pub(crate) fn measured(
        &self,
        metric: &Metric,
        reading: impl Fn(&Trial) -> Option<Reading>,
        settings: &Settings,
    ) -> Measured {
        let [a, b] = [&self.a, &self.b]
            .map(|arm| arm.iter().map(|(_, trial)| reading(trial)).collect::<Vec<_>>());
        let needed = self.count().map(|count| settings.needed_rounds(count));
        let known = Known { needed, a: a.iter().flatten().count() };
        let (a, b) = match self.design {
            Design::Paired => a.into_iter().zip(b).filter_map(|(a, b)| a.zip(b)).unzip(),
            Design::Apart => (a.into_iter().flatten().collect(), b.into_iter().flatten().collect()),
        };
        Measured::new(Sample { design: self.design, a, b }, metric, known)
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
    fn of(trials: &[(u32, &Trial)], control: Option<&'a Metric>, settings: &Settings) -> Self {
        let conclusive = trials.iter().filter(|(_, trial)| trial.inconclusive.is_none());
        let values: Vec<f64> = conclusive
            .filter_map(|(_, trial)| Some(control?.reckoned(trial.control?.value())))
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
