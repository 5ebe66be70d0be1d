//! Arms of a campaign, each against the first.

use std::collections::BTreeMap;

use records::{Fetch, Outcome, Phase};
use serde::Serialize;
use stats::{Curve, Ending, Judgement, Metric, Observation, Round, Settings, Trials, judge};

use super::figures;
use super::gate::{self, Gate};
use super::rounds::Ran;

/// Every arm against the first.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// Pairs, in the order of the arms.
    pub pairs: Vec<PairOf>,
}

/// One arm against the first.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PairOf {
    /// What is compared against: A.
    pub a: String,
    /// What is compared: B.
    pub b: String,
    /// What became of B against A.
    pub judgement: Judgement,
    /// The trial of B, and how its proxy failed in it: a breach, whatever the others show.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proxy_fault: Option<String>,
}

impl PairOf {
    /// What is no pass for a gate, beside metrics that regressed.
    pub fn doubts(&self) -> Vec<String> {
        let [a, b] = [&self.a, &self.b].map(|arm| format!("of {arm}"));
        let fault = self.proxy_fault.iter().cloned();
        fault.chain(gate::doubts(&self.judgement, &a, &b)).collect()
    }

    fn gate(&self) -> Gate {
        match self.proxy_fault {
            Some(_) => Gate::Breached,
            None => gate::of(&self.judgement),
        }
    }
}

impl Comparison {
    /// Compares all arms with the first by every metric of a trial. `arms` are names and trials.
    pub fn of(arms: &[(String, Vec<Ran>)], settings: &Settings) -> Self {
        let Some(((a, first), others)) = arms.split_first() else {
            return Self { pairs: Vec::new() };
        };
        let pair = |(b, ran): &(String, Vec<Ran>)| PairOf {
            a: a.clone(),
            b: b.clone(),
            judgement: judge(
                Trials::Rounds(&rounds(first, ran)),
                &Metric::OF_A_TRIAL,
                Some(&Metric::IDLE_P50),
                settings,
            ),
            proxy_fault: ran.iter().find_map(|ran| {
                let fault = ran.proxy_fault.as_ref()?;
                Some(format!("{b}, round {}: {fault}", ran.round + 1))
            }),
        };
        Self { pairs: others.iter().map(pair).collect() }
    }

    /// What a gate makes of it: the worst of all pairs. Without a pair nothing is known.
    pub fn gate(&self) -> Gate {
        self.pairs.iter().map(PairOf::gate).max().unwrap_or(Gate::Inconclusive)
    }
}

/// Rounds in which both arms have a trial.
fn rounds(a: &[Ran], b: &[Ran]) -> Vec<Round> {
    let of_b: BTreeMap<u32, &Ran> = b.iter().map(|ran| (ran.round, ran)).collect();
    let both = |a: &Ran| {
        let b = of_b.get(&a.round)?;
        Some(Round {
            number: a.round + 1,
            a: figures::trial(&a.summary),
            b: figures::trial(&b.summary),
        })
    };
    a.iter().filter_map(both).collect()
}

/// The fetches of a phase as survival curves have them.
///
/// A fetch that was given up, or that this host could not make, is only known to last longer; one
/// that the proxy refused, cut or answered wrongly never comes to its completion.
pub fn observations(fetches: &[Fetch], phase: Phase) -> Vec<Observation> {
    let of_phase = fetches.iter().filter(|fetch| fetch.phase == phase);
    let observed = of_phase.map(|fetch| Observation {
        age: fetch.total_us,
        ending: match fetch.outcome {
            Outcome::Ok => Ending::Completed,
            Outcome::LocalError => Ending::Censored,
            outcome if outcome.is_censored() => Ending::Censored,
            _ => Ending::Failed,
        },
    });
    observed.collect()
}

/// The fetches of an arm under load as a survival curve, over all its trials.
pub fn curve(trials: &[Ran]) -> Curve {
    let observed = trials.iter().map(|ran| observations(&ran.fetches, Phase::Measure));
    Curve::new(&observed.collect::<Vec<_>>().concat())
}
