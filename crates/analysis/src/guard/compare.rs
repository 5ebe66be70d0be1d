//! Arms of a campaign, each against the first.

use std::collections::BTreeMap;

use records::{Fetch, Outcome, Phase, Summary};
use serde::Serialize;
use stats::{Curve, Ending, Judgement, Metric, Observation, Round, Settings, Trials, judge};

use super::gate::{self, Gate};
use super::{figures, threshold};

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

    fn outcome(&self) -> threshold::Outcome {
        match self.proxy_fault {
            Some(_) => threshold::Outcome::Breached,
            None => gate::outcome(&self.judgement),
        }
    }
}

/// Everything one trial gives to a comparison.
#[derive(Clone, Debug)]
pub struct Told {
    /// Which round.
    pub round: u32,
    /// Its summary.
    pub summary: Summary,
    /// Its fetches under load.
    pub fetches: Vec<Observation>,
    /// How its proxy failed, if it did: not as a client sees it, but as a process.
    pub proxy_fault: Option<String>,
}

impl Comparison {
    /// Compares all arms with the first by every metric of a trial. `arms` are names and trials.
    pub fn of(arms: &[(String, Vec<Told>)], settings: &Settings) -> Self {
        let Some(((a, first), others)) = arms.split_first() else {
            return Self { pairs: Vec::new() };
        };
        let pair = |(b, told): &(String, Vec<Told>)| PairOf {
            a: a.clone(),
            b: b.clone(),
            judgement: judge(
                Trials::Rounds(&rounds(first, told)),
                &Metric::OF_A_TRIAL,
                Some(&Metric::IDLE_P50),
                settings,
            ),
            proxy_fault: told.iter().find_map(|told| {
                let fault = told.proxy_fault.as_ref()?;
                Some(format!("{b}, round {}: {fault}", told.round + 1))
            }),
        };
        Self { pairs: others.iter().map(pair).collect() }
    }

    /// What a gate makes of it: the worst of all pairs. Without a pair nothing is known.
    pub fn gate(&self) -> Gate {
        let outcomes = self.pairs.iter().map(PairOf::outcome);
        Gate::of(outcomes.max().unwrap_or(threshold::Outcome::Unknown))
    }
}

/// Rounds in which both arms have a trial.
fn rounds(a: &[Told], b: &[Told]) -> Vec<Round> {
    let of_b: BTreeMap<u32, &Told> = b.iter().map(|told| (told.round, told)).collect();
    let both = |a: &Told| {
        let b = of_b.get(&a.round)?;
        Some(Round {
            number: a.round + 1,
            a: figures::trial(&a.summary),
            b: figures::trial(&b.summary),
        })
    };
    a.iter().filter_map(both).collect()
}

/// The fetches under load as survival curves have them.
///
/// A fetch that was given up, or that this host could not make, is only known to last longer; one
/// that the proxy refused, cut or answered wrongly never comes to its completion.
pub fn observations(fetches: &[Fetch]) -> Vec<Observation> {
    let measured = fetches.iter().filter(|fetch| fetch.phase == Phase::Measure);
    measured
        .map(|fetch| Observation {
            age: fetch.total_us,
            ending: match fetch.outcome {
                Outcome::Ok => Ending::Completed,
                outcome if outcome.is_censored() => Ending::Censored,
                Outcome::LocalError => Ending::Censored,
                _ => Ending::Failed,
            },
        })
        .collect()
}

/// The survival curve of an arm over all its trials.
pub fn curve(told: &[Told]) -> Curve {
    let all: Vec<Observation> = told.iter().flat_map(|told| told.fetches.iter().copied()).collect();
    Curve::new(&all)
}

#[cfg(test)]
mod tests;
