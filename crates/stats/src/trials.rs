//! What a comparison is made from: figures of trials, and rounds of two trials; which of them can be used,
//! and which say nothing.

use std::collections::BTreeMap;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use crate::compare::{Expected, Measured};
use crate::rule::{LARGEST, RULE};
use crate::sample::{Design, median};
use crate::{LeftOut, Metric};

/// A figure of a trial, from 0 to 1e100; in JSON `{"exact": 86000.0}`. A file with another is refused.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reading {
    /// It was measured.
    Exact(#[serde(deserialize_with = "figure")] f64),
    /// It is at least this large: a percentile that lies beyond the cap of the fetches.
    AtLeast(#[serde(deserialize_with = "figure")] f64),
}

fn figure<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    let value = f64::deserialize(from)?;
    let says =
        || D::Error::custom(format!("{value} is no figure of a trial: it must be from 0 to 1e100"));
    (0.0..=LARGEST).contains(&value).then_some(value).ok_or_else(says)
}

impl Reading {
    /// The figure, or its lower bound.
    pub const fn value(self) -> f64 {
        match self {
            Self::Exact(value) | Self::AtLeast(value) => value,
        }
    }

    /// Whether only a lower bound is known.
    pub const fn is_bound(self) -> bool {
        matches!(self, Self::AtLeast(_))
    }
}

/// One trial of each of two arms, run one after the other, in an order left to chance.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Round {
    /// Its number, as reports name it.
    pub number: u32,
    /// The trial of the arm that is compared against.
    pub a: Trial,
    /// The trial of the arm that is compared.
    pub b: Trial,
}

/// One of the two arms of a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PairArm {
    /// The one compared against.
    A,
    /// The one compared.
    B,
}

/// What one trial has to say.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// Why it proves nothing, if so: its round is then left out.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub inconclusive: Option<String>,
    /// By the metric's name; among them the control. What a trial does not know is not there.
    pub readings: BTreeMap<String, Reading>,
}

impl Trial {
    /// What it knows of a metric.
    fn reading(&self, metric: &Metric) -> Option<Reading> {
        self.readings.get(metric.name).copied()
    }
}

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
    pub(crate) fn sort_out(mut self, control: &Metric) -> (Self, Vec<LeftOut>) {
        let faults = |arm: PairArm, trials: &[(u32, &Trial)]| -> Vec<LeftOut> {
            let disturbed = disturbed(trials, control);
            let fault = |&(round, trial): &(u32, &Trial)| {
                let why = trial.inconclusive.clone().or_else(|| disturbed(trial))?;
                Some(LeftOut { round, arm, why })
            };
            trials.iter().filter_map(fault).collect()
        };
        let mut told = faults(PairArm::A, &self.a);
        told.extend(faults(PairArm::B, &self.b));
        let paired = self.design == Design::Paired;
        if paired {
            told.sort_by_key(|left| (left.round, left.arm));
            told.dedup_by_key(|left| left.round);
        }
        let is_out = |arm: PairArm, round: u32| {
            told.iter().any(|left| left.round == round && (paired || left.arm == arm))
        };
        self.a.retain(|(round, _)| !is_out(PairArm::A, *round));
        self.b.retain(|(round, _)| !is_out(PairArm::B, *round));
        (self, told)
    }

    /// One metric of all of them, as far as they know it.
    pub(crate) fn measured(&self, metric: &Metric) -> Measured {
        let [a, b] = [&self.a, &self.b]
            .map(|arm| arm.iter().map(|(_, trial)| trial.reading(metric)).collect::<Vec<_>>());
        let needed = self.count().map(|count| RULE.needed_rounds(count));
        let [needed_of_a, _] = needed;
        let is_known = a.iter().flatten().count() >= needed_of_a;
        let expected = if is_known { Expected::Yes } else { Expected::No };
        let (a, b): (Vec<Reading>, Vec<Reading>) = match self.design {
            Design::Paired => a.into_iter().zip(b).filter_map(|(a, b)| a.zip(b)).unzip(),
            Design::Apart => (a.into_iter().flatten().collect(), b.into_iter().flatten().collect()),
        };
        Measured::new(metric, self.design, [&a, &b], expected, needed)
    }
}

/// Says why a trial is left out: its control strayed from what is usual in its arm.
fn disturbed(trials: &[(u32, &Trial)], control: &Metric) -> impl Fn(&Trial) -> Option<String> {
    let conclusive = trials.iter().filter(|(_, trial)| trial.inconclusive.is_none());
    let values: Vec<f64> = conclusive
        .filter_map(|(_, trial)| Some(control.reckoned(trial.reading(control)?.value())))
        .collect();
    let usual = median(&values);
    let reach = f64::from(RULE.steady_percent) / 100.0;
    move |trial| {
        let (usual, now) = (usual?, trial.reading(control)?.value());
        let strayed = (control.reckoned(now) - usual).abs() > reach.ln();
        strayed.then(|| {
            let (name, unit, usual) = (control.name, control.unit, control.said(usual));
            format!("the host was disturbed: {name} was {now:.0} {unit}, where {usual:.0} is usual")
        })
    }
}
