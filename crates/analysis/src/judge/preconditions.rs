//! What must hold before a run can prove anything.

use records::{FetchSummary, Micros, OutcomeCounts, Verdict, percent, percent_beside};

use super::facts::Facts;
use super::load::{self, Stuck};
use super::rules::Rules;
use super::{MORE, SHORTAGE, count, measured_when};
use crate::idle::Steadiness;
use crate::thresholds::part;

/// Why the run cannot carry a conclusion, the weightiest first; empty: it can.
pub(crate) fn failed(facts: &Facts<'_>) -> Vec<String> {
    let mut reasons = faults(facts);
    reasons.extend(too_few(facts));
    reasons.extend(untried(facts));
    reasons.extend(no_load(facts));
    reasons.extend(client_late(facts));
    reasons.extend(no_baseline(facts));
    reasons.extend(steal(facts));
    reasons.extend(contention(facts));
    reasons.extend(fetches_lost(facts));
    reasons.extend(proxy_records_lost(facts));
    reasons
}

fn faults(facts: &Facts<'_>) -> Vec<String> {
    let faults = facts.manifest.faults.iter();
    faults.map(|fault| format!("{} (in the {} phase)", fault.message, fault.phase.name())).collect()
}

/// An interruption is the reason itself when it left too few fetches, and no matter otherwise.
fn too_few(facts: &Facts<'_>) -> Vec<String> {
    let needed = facts.thresholds.min_fetches;
    let when = measured_when(&facts.manifest.arm);
    let (idle, measure) = (facts.summary.idle.attempts, facts.summary.measure.attempts);
    if let Some(signal) = &facts.manifest.interrupted
        && measure < needed
    {
        let made = count(measure, "fetch", "fetches");
        return vec![format!("{signal} cut the run short: {made} {when}, {needed} are needed")];
    }
    let mut reasons = Vec::new();
    if measure < needed {
        let made = count(measure, "fetch", "fetches");
        reasons.push(format!(
            "only {made} {when}, {needed} are needed: raise --arrivals or --duration"
        ));
    }
    if idle < needed {
        let made = count(idle, "fetch", "fetches");
        reasons.push(format!(
            "only {made} before the load, {needed} are needed as a baseline: raise --arrivals or \
             --idle"
        ));
    }
    reasons
}

/// Fetches that came to nothing on this host say nothing of the proxy.
fn untried(facts: &Facts<'_>) -> Option<String> {
    let of = |when: &'static str, fetches: &FetchSummary| {
        let (untried, attempts) = (fetches.outcomes.untried(), fetches.attempts);
        let share = if attempts == 0 { 0.0 } else { untried as f64 / attempts as f64 };
        (share >= facts.thresholds.untried_share).then(|| {
            format!(
                "{untried} of {attempts} fetches {when} could not be tried: {SHORTAGE} ({}; from {} \
                 on nothing is proven); {MORE}",
                percent_beside(share, facts.thresholds.untried_share),
                percent(facts.thresholds.untried_share)
            )
        })
    };
    let summary = facts.summary;
    of(measured_when(&facts.manifest.arm), &summary.measure)
        .or_else(|| of("without any load", &summary.idle))
}

fn no_load(facts: &Facts<'_>) -> Option<String> {
    let starved = Rules::of(facts).verdict() == Verdict::Starved;
    match Stuck::of(facts) {
        Stuck::NoLoad(finding) => Some(finding),
        Stuck::None | Stuck::HeldToo(_) if starved => None,
        Stuck::None | Stuck::HeldToo(_) => load::fallen(facts),
    }
}

fn client_late(facts: &Facts<'_>) -> Option<String> {
    let cap = facts.manifest.arm.fetch.cap;
    let when = measured_when(&facts.manifest.arm);
    let late = |phase: &'static str, fetches: &FetchSummary| {
        let (lag, limit) = (Micros(fetches.lag_us.p90), part(cap, facts.thresholds.lag_of_cap));
        (lag > limit).then(|| {
            format!(
                "the fast client itself was late {phase}: p90 of its lag is {} (above {} of \
                 the {cap} cap; this host is too busy)",
                lag.beside(limit),
                percent(facts.thresholds.lag_of_cap)
            )
        })
    };
    late(when, &facts.summary.measure).or_else(|| late("while idle", &facts.summary.idle))
}

fn no_baseline(facts: &Facts<'_>) -> Option<String> {
    let (baseline, cap) = (facts.baseline, facts.manifest.arm.fetch.cap);
    (baseline.steadiness == Steadiness::Stalls).then(|| {
        format!(
            "{} of {} fetches without any load failed or took over {} ({} x idle p50, at least {} \
             and at most {} of the {cap} cap): a server that stalls by itself is no baseline",
            baseline.stalled,
            baseline.of,
            baseline.limit_us,
            facts.thresholds.stall_p50_factor,
            percent(facts.thresholds.stall_least_of_cap),
            percent(facts.thresholds.stall_most_of_cap)
        )
    })
}

/// A host whose CPUs were away makes fetches late under any proxy.
fn steal(facts: &Facts<'_>) -> Option<String> {
    let share = facts.stolen_share()?;
    (share >= facts.thresholds.steal_limit).then(|| {
        format!(
            "the hypervisor took CPU time worth {} of the run (from {} on nothing is proven): run it \
             again when its neighbours are quiet",
            percent_beside(share, facts.thresholds.steal_limit),
            percent(facts.thresholds.steal_limit)
        )
    })
}

/// A worker that others keep from its CPU makes fetches late under any read policy.
fn contention(facts: &Facts<'_>) -> Option<String> {
    let (cpu, share) = facts.taken_by_others()?;
    (share >= facts.thresholds.contention_limit).then(|| {
        format!(
            "others than the workers took at least {} of CPU {cpu} (from {} on nothing is proven): \
             run it again when the host is quiet",
            percent_beside(share, facts.thresholds.contention_limit),
            percent(facts.thresholds.contention_limit)
        )
    })
}

/// Missing fetches matter when the verdict would differ between all of them failed and none.
fn fetches_lost(facts: &Facts<'_>) -> Option<String> {
    let missing = facts.fetches_missing;
    // What was under way when the run was cut short was never told.
    if missing == 0 || facts.manifest.interrupted.is_some() {
        return None;
    }
    let outcomes: &OutcomeCounts = &facts.summary.measure.outcomes;
    let attempts = outcomes.tried().saturating_add(missing);
    let best = outcomes.failed();
    let worst = best.saturating_add(missing);
    let rules = Rules::of(facts);
    let judged = |failed| rules.had(failed, attempts).verdict();
    let share =
        |failed| percent_beside(failed as f64 / attempts as f64, facts.thresholds.starved_share);
    (judged(best) != judged(worst)).then(|| {
        format!(
            "{} left no record: between {} and {} failed ({} or {}; starved from {})",
            count(missing, "fetch", "fetches"),
            share(best),
            share(worst),
            judged(best),
            judged(worst),
            percent(facts.thresholds.starved_share)
        )
    })
}

/// Records the proxy lost matter when they left answered fetches without a session: then nobody
/// knows which worker served them, and what its log said.
fn proxy_records_lost(facts: &Facts<'_>) -> Option<String> {
    let (unjoined, attempts) = (facts.answers_unjoined, facts.summary.measure.attempts);
    let share = if attempts == 0 { 0.0 } else { unjoined as f64 / attempts as f64 };
    (facts.records_lost > 0 && share > facts.thresholds.unjoined_share).then(|| {
        format!(
            "the proxy lost {}, and {unjoined} of {attempts} fetches were answered by a session \
             that is not known ({}; at most {})",
            count(facts.records_lost, "record", "records"),
            percent_beside(share, facts.thresholds.unjoined_share),
            percent(facts.thresholds.unjoined_share)
        )
    })
}
