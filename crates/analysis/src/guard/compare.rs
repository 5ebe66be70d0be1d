//! The arms of a campaign: a row of figures for each, each against the first, and their curves.

use std::collections::BTreeMap;
use std::ops::Add;

use records::{ArmRow, Bytes, BytesPerSec, Micros, Summary, WorkerSummary};
use serde::Serialize;
use stats::{Judgement, Metric, Round, Trials, judge, median_whole as median};

use super::rounds::Ran;
use super::{Gate, doubts, figures, gate_of};

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
        fault.chain(doubts(&self.judgement, &a, &b)).collect()
    }

    fn gate(&self) -> Gate {
        match self.proxy_fault {
            Some(_) => Gate::Breached,
            None => gate_of(&self.judgement),
        }
    }
}

impl Comparison {
    /// Compares all arms with the first by every metric of a trial. `arms` are names and trials.
    pub fn of(arms: &[(String, Vec<Ran>)]) -> Self {
        let Some(((a, first), others)) = arms.split_first() else {
            return Self { pairs: Vec::new() };
        };
        let pair = |(b, ran): &(String, Vec<Ran>)| PairOf {
            a: a.clone(),
            b: b.clone(),
            judgement: judge(Trials::Rounds(&rounds(first, ran)), &Metric::OF_A_TRIAL),
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

/// The row of the arm `name` with these trials.
pub fn arm_row(name: &str, trials: &[&Summary]) -> ArmRow {
    let middle = |figure: fn(&Summary) -> Option<u64>| {
        median(trials.iter().filter_map(|summary| figure(summary)))
    };
    let micros = |figure: fn(&Summary) -> Option<u64>| Micros(middle(figure).unwrap_or(0));
    let mut verdicts = BTreeMap::new();
    for summary in trials {
        *verdicts.entry(summary.verdict).or_insert(0) += 1;
    }
    let longest = |figure: fn(&WorkerSummary) -> u64| {
        let workers = trials.iter().flat_map(|summary| &summary.proxy.workers);
        workers.map(figure).max().filter(|longest| *longest > 0).map(Micros)
    };
    let sum = |figure: fn(&Summary) -> u64| trials.iter().map(|summary| figure(summary)).sum();
    let shares = trials.iter().map(|summary| {
        let shares = summary.proxy.workers.iter().map(|worker| worker.cpu_share);
        // In millionths, so that they have an order.
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 256")]
        let share = (shares.sum::<f64>() * 1e6) as u64;
        share
    });
    ArmRow {
        name: name.to_owned(),
        trials: trials.len() as u64,
        verdicts,
        attempts: sum(|summary| summary.measure.attempts),
        tried: sum(|summary| summary.measure.outcomes.tried()),
        failed: sum(|summary| summary.measure.outcomes.failed()),
        early_closes: trials.iter().filter_map(|s| s.proxy.logged_early_closes()).reduce(u64::add),
        idle_p50: micros(|s| Some(s.idle.latency_us.p50)),
        p50: micros(|s| Some(s.measure.latency_us.p50)),
        p90: micros(|s| Some(s.measure.latency_us.p90)),
        p99: micros(|s| Some(s.measure.latency_us.p99)),
        max: Micros(trials.iter().map(|s| s.measure.latency_us.max).max().unwrap_or(0)),
        slow_rate: BytesPerSec(middle(|s| Some(s.slow.bytes_per_sec.0)).unwrap_or(0)),
        longest_step: longest(|worker| worker.longest_step_us),
        longest_turn: longest(|worker| worker.longest_loop_turn_us),
        bytes_per_step: middle(|s| Some(s.slow.bytes_per_step?.0)).map(Bytes),
        cpu_per_gb: middle(|s| Some(s.proxy.cpu_us_per_gb?.0)).map(Micros),
        cpu_share: median(shares).filter(|share| *share > 0).map(|share| share as f64 / 1e6),
        version: trials.iter().find_map(|s| Some(s.program.as_ref()?.version.clone())),
    }
}
