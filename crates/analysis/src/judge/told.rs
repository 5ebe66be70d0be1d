//! What a run tells, and what of it is missing: faults, fetches, an idle phase, records, figures.

use records::{
    Arrivals, CaveatCode, Manifest, OutcomeCounts, ProxyKind, Recording, STARVED_SHARE,
    SchedulerFigures, TraceMode, Visibility, percent, percent_beside,
};

use super::{Doubts, Facts, Rules, count, list, measured_when};
use crate::explain::late::untold;
use crate::figures::workers::{self, Untraced};
use crate::thresholds;

pub(super) fn faults(facts: &Facts<'_>, doubts: &mut Doubts) {
    let faults = facts.manifest.faults.iter();
    let said =
        faults.map(|fault| format!("{} (in the {} phase)", fault.message, fault.phase.name()));
    doubts.against.extend(said);
}

/// An interruption is the reason itself when it left too few fetches, and no more than a caveat otherwise.
pub(super) fn few_fetches(facts: &Facts<'_>, doubts: &mut Doubts) {
    let needed = thresholds::MIN_FETCHES;
    let when = measured_when(&facts.manifest.arm);
    let (idle, measure) = (facts.summary.idle.attempts, facts.summary.measure.attempts);
    let made = |attempts| count(attempts, "fetch", "fetches");
    let few = measure < needed;
    if let Some(signal) = &facts.manifest.interrupted {
        let (measured, wanted) = (facts.summary.measured_us, facts.manifest.measure_us);
        let said = if facts.is_measured() {
            format!("{signal} cut the run short: {measured} of {wanted} were measured")
        } else {
            format!("{signal} cut the run short before anything was measured")
        };
        doubts.caveat(CaveatCode::Interrupted, said);
        if few {
            let made = made(measure);
            let said = format!("{signal} cut the run short: {made} {when}, {needed} are needed");
            doubts.against.push(said);
        }
    } else if few {
        let advice = "raise --arrivals or --duration";
        let said = format!("only {} {when}, {needed} are needed: {advice}", made(measure));
        doubts.against.push(said);
    }
    if idle < needed && !(few && facts.manifest.interrupted.is_some()) {
        doubts.against.push(format!(
            "only {} before the load, {needed} are needed as a baseline: raise --arrivals or --idle",
            made(idle)
        ));
    }
    if measure > 0 && measure < thresholds::COARSE_FETCHES {
        let message = format!(
            "{} {when}: p99 is their maximum (from {} on it is not)",
            made(measure),
            thresholds::COARSE_FETCHES
        );
        doubts.caveat(CaveatCode::FewFetches, message);
    }
}

pub(super) fn baseline(facts: &Facts<'_>, doubts: &mut Doubts) {
    let (baseline, cap) = (facts.baseline, facts.manifest.arm.fetch.cap);
    if baseline.stalls() {
        doubts.against.push(format!(
            "{} of {} fetches without any load failed or took over {} ({} x idle p50, at least {} \
             and at most {} of the {cap} cap): a server that stalls by itself is no baseline",
            baseline.stalled,
            baseline.of,
            baseline.limit_us,
            thresholds::STALL_P50_FACTOR,
            percent(thresholds::STALL_LEAST_OF_CAP),
            percent(thresholds::STALL_MOST_OF_CAP)
        ));
    }
}

/// Missing fetches matter when the verdict would differ between all of them failed and none.
pub(super) fn fetches_lost(facts: &Facts<'_>, doubts: &mut Doubts) {
    let missing = facts.fetches_missing();
    // What was under way when the run was cut short was never told.
    if missing == 0 || facts.manifest.interrupted.is_some() {
        return;
    }
    let outcomes: &OutcomeCounts = &facts.summary.measure.outcomes;
    let attempts = outcomes.tried().saturating_add(missing);
    let best = outcomes.failed();
    let worst = best.saturating_add(missing);
    let rules = Rules::of(facts);
    let judged = |failed| rules.had(failed, attempts).verdict();
    let share = |failed| percent_beside(failed as f64 / attempts as f64, STARVED_SHARE);
    if judged(best) != judged(worst) {
        doubts.against.push(format!(
            "{} left no record: between {} and {} failed ({} or {}; starved from {})",
            count(missing, "fetch", "fetches"),
            share(best),
            share(worst),
            judged(best),
            judged(worst),
            percent(STARVED_SHARE)
        ));
    }
}

/// Records the proxy lost matter when they left answered fetches without a session: then nobody
/// knows which worker served them, and what its log said.
pub(super) fn records_lost(facts: &Facts<'_>, doubts: &mut Doubts) {
    let unjoined = workers::answers_unjoined(&facts.context.join);
    let attempts = facts.summary.measure.attempts;
    let share = if attempts == 0 { 0.0 } else { unjoined as f64 / attempts as f64 };
    let lost = count(facts.records_lost(), "record", "records");
    if facts.records_lost() > 0 && share > thresholds::UNJOINED_SHARE {
        doubts.against.push(format!(
            "the proxy lost {lost}, and {unjoined} of {attempts} fetches were answered by a session \
             that is not known ({}; at most {})",
            percent_beside(share, thresholds::UNJOINED_SHARE),
            percent(thresholds::UNJOINED_SHARE)
        ));
    }
    let missing = facts.fetches_missing();
    let (answers, unread) = (facts.manifest.answers_lost, facts.manifest.log_lines_unread);
    let told = [
        (missing, format!("{} left no record", count(missing, "fetch", "fetches"))),
        (
            facts.records_lost(),
            format!("the proxy lost {lost}: rows of workers and statuses may lack some"),
        ),
        (
            answers,
            format!(
                "the origin has no record of {}: where it kept those waiting, another cause may \
                 stand for `upstream`",
                count(answers, "request", "requests")
            ),
        ),
        (
            unread,
            format!(
                "{} of the access log could not be read (`roles.log` quotes the first): what they \
                 tell of counts as not logged",
                count(unread, "line", "lines")
            ),
        ),
    ];
    let told = told.into_iter().filter(|(lost, _)| *lost > 0).map(|(_, said)| said);
    let told: Vec<String> = told.collect();
    if !told.is_empty() {
        doubts.caveat(CaveatCode::RecordsLost, told.join("; "));
    }
}

pub(super) fn packets(facts: &Facts<'_>, doubts: &mut Doubts) {
    let Some(capture) = &facts.manifest.capture else { return };
    let lost = (capture.dropped > 0).then(|| {
        let dropped = count(capture.dropped, "packet was", "packets were");
        format!("{dropped} not kept: tcpdump was too slow")
    });
    let ended = capture.ended.as_ref();
    let ended = ended.map(|why| format!("packets were kept for a part of the run: {why}"));
    for said in lost.into_iter().chain(ended) {
        doubts.caveat(CaveatCode::PacketsMissing, said);
    }
}

pub(super) fn figures(facts: &Facts<'_>, doubts: &mut Doubts) {
    if facts.is_measured() {
        let missing = figure_missing(facts);
        missing.into_iter().for_each(|said| doubts.caveat(CaveatCode::FigureMissing, said));
    }
}

fn figure_missing(facts: &Facts<'_>) -> Option<String> {
    let minimal = facts.manifest.recording == Recording::Minimal;
    if let Some(untraced) = facts.untraced.filter(|_| !minimal) {
        let Untraced { answers, of_answers, downloads, of_downloads } = untraced;
        return Some(format!(
            "{answers} of {of_answers} answered fetches and {downloads} of {of_downloads} downloads \
             were served by threads that were not traced: steps are unknown, and so is what held \
             them"
        ));
    }
    let workers = &facts.summary.proxy.workers;
    let lacking = |figures: SchedulerFigures| -> Vec<u32> {
        let lacking = workers.iter().filter(|worker| worker.scheduler == figures);
        lacking.map(|worker| worker.worker).collect()
    };
    let unsampled = lacking(SchedulerFigures::None);
    let said = match facts.manifest.visibility {
        _ if minimal => {
            "--recording minimal leaves out steps and CPU figures: nothing is known of what held \
             the workers, nor is it checked whether others took their CPU"
        }
        Visibility::Threads => return None,
        Visibility::ClientsOnly if handed_on(facts.manifest) => {
            "the threads of the command hand work to each other: none of them serves what its \
             own poll returned, so steps are unknown"
        }
        unseen @ (Visibility::Sampled | Visibility::LogOnly | Visibility::ClientsOnly) => {
            return Some(format!("{}: steps are unknown", untold(unseen)));
        }
        Visibility::Own | Visibility::Traced if workers.is_empty() => {
            "nothing is known of the proxy's workers: only the clients told"
        }
        Visibility::Own | Visibility::Traced if !unsampled.is_empty() => {
            let workers = list(&unsampled);
            return Some(format!(
                "no CPU figures of worker {workers}: too few samples in the measure phase"
            ));
        }
        Visibility::Own | Visibility::Traced if lacking(SchedulerFigures::NoWait).is_empty() => {
            return None;
        }
        Visibility::Own | Visibility::Traced => {
            "the kernel hides schedstat (CONFIG_SCHED_INFO): %wait is unknown, %CPU counts in ticks of \
             10 ms"
        }
    };
    Some(said.to_owned())
}

/// A command's threads are always looked at, unless nobody wants it or it makes no sense.
fn handed_on(manifest: &Manifest) -> bool {
    matches!(manifest.arm.server.kind, ProxyKind::Exec(_))
        && manifest.arm.server.trace != TraceMode::Off
}

/// What Gil Tene called coordinated omission.
pub(super) fn closed_loop(facts: &Facts<'_>, doubts: &mut Doubts) {
    let Arrivals::Closed(at_a_time) = facts.manifest.arm.fetch.arrivals else { return };
    let message = format!(
        "a closed loop has {} at a time: while the server stalls no other is made, so percentiles hide \
         most of the waiting (coordinated omission); --arrivals with a rate shows it",
        count(at_a_time.into(), "fetch", "fetches")
    );
    doubts.caveat(CaveatCode::ClosedLoop, message);
}
