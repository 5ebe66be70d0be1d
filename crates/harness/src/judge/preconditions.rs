//! What must hold before a run can prove anything.

use records::{FetchSummary, Micros, OutcomeCounts, Verdict, percent, percent_beside};

use super::caveats::{stolen_share, taken_by_others};
use super::evidence::Evidence;
use super::load;
use super::stuck::Stuck;
use super::thresholds::Thresholds;
use super::verdict::Rules;
use super::wording::{MORE, SHORTAGE, count, measured_when, part};

/// Why the run cannot carry a conclusion, the weightiest first; empty: it can.
pub(crate) fn failed(evidence: &Evidence<'_>, thresholds: &Thresholds) -> Vec<String> {
    let mut reasons = faults(evidence);
    reasons.extend(too_few(evidence, thresholds));
    reasons.extend(untried(evidence, thresholds));
    reasons.extend(no_load(evidence, thresholds));
    reasons.extend(client_late(evidence, thresholds));
    reasons.extend(evidence.baseline.fault(evidence.manifest.arm.cap_us, thresholds));
    reasons.extend(robbed(evidence, thresholds));
    reasons.extend(crowded(evidence, thresholds));
    reasons.extend(fetches_lost(evidence, thresholds));
    reasons.extend(proxy_records_lost(evidence, thresholds));
    reasons
}

fn faults(evidence: &Evidence<'_>) -> Vec<String> {
    let faults = evidence.manifest.faults.iter();
    faults.map(|fault| format!("{} (in the {} phase)", fault.message, fault.phase.name())).collect()
}

/// An interruption is the reason itself when it left too few fetches, and no matter otherwise.
fn too_few(evidence: &Evidence<'_>, thresholds: &Thresholds) -> Vec<String> {
    let needed = thresholds.min_fetches;
    let when = measured_when(&evidence.manifest.arm);
    let (idle, measure) = (evidence.summary.idle.attempts, evidence.summary.measure.attempts);
    if let Some(signal) = &evidence.manifest.interrupted
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
fn untried(evidence: &Evidence<'_>, thresholds: &Thresholds) -> Option<String> {
    let of = |when: &'static str, fetches: &FetchSummary| {
        let (untried, attempts) = (fetches.outcomes.untried(), fetches.attempts);
        let share = if attempts == 0 { 0.0 } else { untried as f64 / attempts as f64 };
        (share >= thresholds.untried_share).then(|| {
            format!(
                "{untried} of {attempts} fetches {when} could not be tried: {SHORTAGE} ({}; from {} \
                 on nothing is proven); {MORE}",
                percent_beside(share, thresholds.untried_share),
                percent(thresholds.untried_share)
            )
        })
    };
    let summary = evidence.summary;
    of(measured_when(&evidence.manifest.arm), &summary.measure)
        .or_else(|| of("without any load", &summary.idle))
}

fn no_load(evidence: &Evidence<'_>, thresholds: &Thresholds) -> Option<String> {
    let starved = Rules::of(evidence, thresholds).verdict() == Verdict::Starved;
    match Stuck::of(evidence, thresholds) {
        Stuck::NoLoad(finding) => Some(finding),
        Stuck::None | Stuck::HeldToo(_) if starved => None,
        Stuck::None | Stuck::HeldToo(_) => load::fallen(evidence, thresholds),
    }
}

fn client_late(evidence: &Evidence<'_>, thresholds: &Thresholds) -> Option<String> {
    let cap = evidence.manifest.arm.cap_us;
    let when = measured_when(&evidence.manifest.arm);
    let late = |phase: &'static str, fetches: &FetchSummary| {
        let (lag, limit) = (Micros(fetches.lag_us.p90), part(cap, thresholds.lag_of_cap));
        (lag > limit).then(|| {
            format!(
                "the fast client itself was late {phase}: p90 of its lag is {} (above {} of \
                 the {cap} cap; this host is too busy)",
                lag.beside(limit),
                percent(thresholds.lag_of_cap)
            )
        })
    };
    late(when, &evidence.summary.measure).or_else(|| late("while idle", &evidence.summary.idle))
}

/// A host whose CPUs were away makes fetches late under any proxy.
fn robbed(evidence: &Evidence<'_>, thresholds: &Thresholds) -> Option<String> {
    let share = stolen_share(evidence)?;
    (share >= thresholds.robbed_share).then(|| {
        format!(
            "the hypervisor took CPU time worth {} of the run (from {} on nothing is proven): run it \
             again when its neighbours are quiet",
            percent_beside(share, thresholds.robbed_share),
            percent(thresholds.robbed_share)
        )
    })
}

/// A worker that others keep from its CPU makes fetches late under any read policy.
fn crowded(evidence: &Evidence<'_>, thresholds: &Thresholds) -> Option<String> {
    let (cpu, share) = taken_by_others(evidence)?;
    (share >= thresholds.crowded_share).then(|| {
        format!(
            "others than the workers took at least {} of CPU {cpu} (from {} on nothing is proven): \
             run it again when the host is quiet",
            percent_beside(share, thresholds.crowded_share),
            percent(thresholds.crowded_share)
        )
    })
}

/// Missing fetches matter when the verdict would differ between all of them failed and none.
fn fetches_lost(evidence: &Evidence<'_>, thresholds: &Thresholds) -> Option<String> {
    let missing = evidence.fetches_missing;
    // What was under way when the run was cut short was never told.
    if missing == 0 || evidence.manifest.interrupted.is_some() {
        return None;
    }
    let outcomes: &OutcomeCounts = &evidence.summary.measure.outcomes;
    let attempts = outcomes.tried().saturating_add(missing);
    let best = outcomes.failed();
    let worst = best.saturating_add(missing);
    let rules = Rules::of(evidence, thresholds);
    let judged = |failed| rules.had(failed, attempts).verdict();
    let share = |failed| percent_beside(failed as f64 / attempts as f64, thresholds.starved_share);
    (judged(best) != judged(worst)).then(|| {
        format!(
            "{} left no record: between {} and {} failed ({} or {}; starved from {})",
            count(missing, "fetch", "fetches"),
            share(best),
            share(worst),
            judged(best),
            judged(worst),
            percent(thresholds.starved_share)
        )
    })
}

/// Records the proxy lost matter when they left answered fetches without a session: then nobody
/// knows which worker served them, and what its log said.
fn proxy_records_lost(evidence: &Evidence<'_>, thresholds: &Thresholds) -> Option<String> {
    let (unjoined, attempts) = (evidence.answers_unjoined, evidence.summary.measure.attempts);
    let share = if attempts == 0 { 0.0 } else { unjoined as f64 / attempts as f64 };
    (evidence.records_lost > 0 && share > thresholds.unjoined_share).then(|| {
        format!(
            "the proxy lost {}, and {unjoined} of {attempts} fetches were answered by a session \
             that is not known ({}; at most {})",
            count(evidence.records_lost, "record", "records"),
            percent_beside(share, thresholds.unjoined_share),
            percent(thresholds.unjoined_share)
        )
    })
}
