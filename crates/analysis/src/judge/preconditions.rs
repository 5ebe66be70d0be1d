//! What must hold before a run can prove anything.

use records::{
    FetchSummary, Micros, OutcomeCounts, STARVED_SHARE, Verdict, percent, percent_beside,
};

use super::rules::Rules;
use super::{Facts, MORE, SHORTAGE, count, list, measured_when};
use crate::figures::{seen, slow};
use crate::thresholds::{self, Steadiness, part};

/// A hold of a live server has no fetches beside it that could fail.
const CAPTURED: &str =
    "captured from a live server: no fetch was made beside it, so there is no verdict";

/// Why the run cannot carry a conclusion, the weightiest first; empty: it can.
pub(crate) fn failed(facts: &Facts<'_>) -> Vec<String> {
    if let Some(hold) = &facts.manifest.captured {
        return vec![hold.clone(), CAPTURED.to_owned()];
    }
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
    let needed = thresholds::MIN_FETCHES;
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
        (share >= thresholds::UNTRIED_SHARE).then(|| {
            format!(
                "{untried} of {attempts} fetches {when} could not be tried: {SHORTAGE} ({}; from {} \
                 on nothing is proven); {MORE}",
                percent_beside(share, thresholds::UNTRIED_SHARE),
                percent(thresholds::UNTRIED_SHARE)
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
        Stuck::None | Stuck::HeldToo(_) => fallen(facts),
    }
}

fn client_late(facts: &Facts<'_>) -> Option<String> {
    let cap = facts.manifest.arm.fetch.cap;
    let when = measured_when(&facts.manifest.arm);
    let late = |phase: &'static str, fetches: &FetchSummary| {
        let (lag, limit) = (Micros(fetches.lag_us.p90), part(cap, thresholds::LAG_OF_CAP));
        (lag > limit).then(|| {
            format!(
                "the fast client itself was late {phase}: p90 of its lag is {} (above {} of \
                 the {cap} cap; this host is too busy)",
                lag.beside(limit),
                percent(thresholds::LAG_OF_CAP)
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
            thresholds::STALL_P50_FACTOR,
            percent(thresholds::STALL_LEAST_OF_CAP),
            percent(thresholds::STALL_MOST_OF_CAP)
        )
    })
}

/// A host whose CPUs were away makes fetches late under any proxy.
fn steal(facts: &Facts<'_>) -> Option<String> {
    let share = facts.stolen_share()?;
    (share >= thresholds::STEAL_LIMIT).then(|| {
        format!(
            "the hypervisor took CPU time worth {} of the run (from {} on nothing is proven): run it \
             again when its neighbours are quiet",
            percent_beside(share, thresholds::STEAL_LIMIT),
            percent(thresholds::STEAL_LIMIT)
        )
    })
}

/// A worker that others keep from its CPU makes fetches late under any read policy.
fn contention(facts: &Facts<'_>) -> Option<String> {
    let (cpu, share) = facts.taken_by_others()?;
    (share >= thresholds::CONTENTION_LIMIT).then(|| {
        format!(
            "others than the workers took at least {} of CPU {cpu} (from {} on nothing is proven): \
             run it again when the host is quiet",
            percent_beside(share, thresholds::CONTENTION_LIMIT),
            percent(thresholds::CONTENTION_LIMIT)
        )
    })
}

/// Missing fetches matter when the verdict would differ between all of them failed and none.
fn fetches_lost(facts: &Facts<'_>) -> Option<String> {
    let missing = facts.fetches_missing();
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
    let share = |failed| percent_beside(failed as f64 / attempts as f64, STARVED_SHARE);
    (judged(best) != judged(worst)).then(|| {
        format!(
            "{} left no record: between {} and {} failed ({} or {}; starved from {})",
            count(missing, "fetch", "fetches"),
            share(best),
            share(worst),
            judged(best),
            judged(worst),
            percent(STARVED_SHARE)
        )
    })
}

/// Records the proxy lost matter when they left answered fetches without a session: then nobody
/// knows which worker served them, and what its log said.
fn proxy_records_lost(facts: &Facts<'_>) -> Option<String> {
    let (unjoined, attempts) =
        (seen::answers_unjoined(&facts.context.join), facts.summary.measure.attempts);
    let share = if attempts == 0 { 0.0 } else { unjoined as f64 / attempts as f64 };
    (facts.records_lost() > 0 && share > thresholds::UNJOINED_SHARE).then(|| {
        format!(
            "the proxy lost {}, and {unjoined} of {attempts} fetches were answered by a session \
             that is not known ({}; at most {})",
            count(facts.records_lost(), "record", "records"),
            percent_beside(share, thresholds::UNJOINED_SHARE),
            percent(thresholds::UNJOINED_SHARE)
        )
    })
}

/// Whether the load was there, and stood while fetches were measured. A load that has stopped makes every
/// fetch fast. Less load than was asked for cannot make a run look starved that is not; in such a run
/// downloads also stand still behind each other, which is what is being measured. So this is asked of the
/// others alone.
///
/// Why a run without starvation proves nothing: there was no load to stand up to. `None`: there was,
/// or none was asked for.
fn fallen(facts: &Facts<'_>) -> Option<String> {
    let (wanted, measured) = (facts.manifest.arm.load.slow, facts.summary.measured_us);
    if wanted == 0 || !facts.is_measured() || measured == Micros(0) {
        return None;
    }
    if facts.summary.slow.bytes.0 == 0 {
        return Some("no download received a byte while fetches were measured".to_owned());
    }
    // A request that computes is a load that moves nothing for as long as it takes.
    let computes = facts.manifest.arm.load.slow_path.is_some();
    let still = if computes { None } else { stood_still(facts) };
    still.or_else(|| kept_breaking(facts))
}

fn stood_still(facts: &Facts<'_>) -> Option<String> {
    let flow = slow::flow(facts.context.records, &facts.context.windows);
    let long = flow.still.iter().filter(|still| **still >= thresholds::STANDSTILL);
    let still = Micros(long.fold(0, |sum, still| still.0.saturating_add(sum)));
    let measured = facts.summary.measured_us;
    let share = still.as_secs() / measured.as_secs();
    (share > thresholds::STOOD_STILL_SHARE).then(|| {
        format!(
            "for {still} of {measured} no download received a byte ({}; at most {}): there was \
             hardly any load",
            percent_beside(share, thresholds::STOOD_STILL_SHARE),
            percent(thresholds::STOOD_STILL_SHARE)
        )
    })
}

fn kept_breaking(facts: &Facts<'_>) -> Option<String> {
    let (wanted, measured) = (facts.manifest.arm.load.slow, facts.summary.measured_us);
    let in_all = measured.0.saturating_mul(u64::from(wanted));
    let broken = slow::flow(facts.context.records, &facts.context.windows).broken;
    let life = Micros(in_all.checked_div(broken)?);
    (life < thresholds::DOWNLOAD_LIFE).then(|| {
        format!(
            "{} broke off in {measured}: each of {wanted} lasted {} in the mean (below {} that is \
             no load; `downloads.ndjson` tells how they ended)",
            count(broken, "download", "downloads"),
            life.beside(thresholds::DOWNLOAD_LIFE),
            thresholds::DOWNLOAD_LIFE
        )
    })
}

/// What downloads that never received a byte mean for a run: a load that was not there, or the effect
/// at its strongest. A worker that one download holds from the first moment serves no other either.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Stuck {
    /// All moved, or there was nothing to measure yet.
    None,
    /// The load was not what was asked for.
    NoLoad(String),
    /// They waited as the fetches did, behind downloads that moved.
    HeldToo(String),
}

impl Stuck {
    pub(crate) fn of(facts: &Facts<'_>) -> Self {
        // Before the measure phase a download may well not have moved yet.
        let records = facts.context.records;
        let never_moved = slow::never_moved(records);
        if !facts.is_measured() || never_moved.is_empty() {
            return Self::None;
        }
        let (stuck, wanted) = (never_moved.len(), facts.manifest.arm.load.slow);
        let slots = list(&never_moved);
        let finding = format!("{stuck} of {wanted} downloads never received a byte (slot {slots})");
        let undialled = slow::undialled(records);
        if undialled > 0 {
            let times = count(undialled, "time", "times");
            return Self::NoLoad(format!(
                "{finding}: {times} this host had no descriptor, port or memory left to dial one; \
                 raise `ulimit -n`, or lower --slow"
            ));
        }
        let summary = facts.summary;
        let share = summary.measure.outcomes.failed_share().unwrap_or(0.0);
        let starved = share >= STARVED_SHARE;
        if starved && summary.slow.bytes.0 > 0 {
            Self::HeldToo(format!("{finding}: held like the fetches, while others moved"))
        } else {
            Self::NoLoad(finding)
        }
    }
}
