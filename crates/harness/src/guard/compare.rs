//! Arms of a campaign, each against the first.

use std::collections::BTreeMap;

use records::{Fetch, Outcome, Phase, Summary};
use serde::Serialize;
use stats::{
    Curve, Ending, Judgement, LogRank, Metric, Observation, Round, Seed, Settings, Stratum, judge,
    log_rank,
};

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
    /// Times to completion, B against A, over all rounds.
    pub log_rank: LogRank,
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
}

impl Comparison {
    /// Compares all arms with the first by every metric of a trial. `arms` are names and trials.
    pub fn of(arms: &[(String, Vec<Told>)], seed: Seed, settings: &Settings) -> Self {
        let Some(((a, first), others)) = arms.split_first() else {
            return Self { pairs: Vec::new() };
        };
        let pair = |(b, told): &(String, Vec<Told>)| PairOf {
            a: a.clone(),
            b: b.clone(),
            judgement: judge(
                &rounds(first, told),
                &Metric::of_a_trial(),
                Some(&Metric::idle_p50()),
                seed,
                settings,
            ),
            log_rank: log_rank(&strata(first, told)),
        };
        Self { pairs: others.iter().map(pair).collect() }
    }

    /// What a gate makes of it: the worst of all pairs. Without a pair nothing is known.
    pub fn gate(&self) -> Gate {
        let outcomes = self.pairs.iter().map(|pair| gate::outcome(&pair.judgement));
        Gate::of(outcomes.max().unwrap_or(threshold::Outcome::Unknown))
    }
}

/// Rounds in which both arms have a trial.
pub fn rounds(a: &[Told], b: &[Told]) -> Vec<Round> {
    both(a, b)
        .map(|(number, a, b)| Round {
            number: number + 1,
            a: figures::trial(&a.summary),
            b: figures::trial(&b.summary),
        })
        .collect()
}

fn strata<'a>(a: &'a [Told], b: &'a [Told]) -> Vec<Stratum<'a>> {
    both(a, b).map(|(_, a, b)| Stratum { a: &a.fetches, b: &b.fetches }).collect()
}

fn both<'a>(
    a: &'a [Told],
    b: &'a [Told],
) -> impl Iterator<Item = (u32, &'a Told, &'a Told)> + use<'a> {
    let of_b: BTreeMap<u32, &Told> = b.iter().map(|told| (told.round, told)).collect();
    a.iter().filter_map(move |a| Some((a.round, a, *of_b.get(&a.round)?)))
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
