//! The figures of a run: what its clients saw, what the downloads got, what each worker did, and every
//! caveat. What held the late fetches is `turnstile explain`.
//!
//! Not for: arithmetic. Every figure stands in the summary; here it gets a unit and a place.

use std::path::Path;

use analysis::{measured_when, response_differs};
use records::{
    AbsenceSummary, Arrivals, Bytes, Caveat, LatencyUs, Manifest, Micros, Outcome, Recording,
    STARVED_SHARE, SchedulerFigures, StepEnd, Summary, Verdict, Visibility, WorkerSummary,
    percent_beside,
};

use super::brief;
use super::layout::{Style, short_bytes, short_count};
use super::sheet::Sheet;
use crate::table::Table;
use crate::words::program;

/// The report of a run at length: the brief one, then a section for each kind of figure.
pub fn details(manifest: &Manifest, summary: &Summary, run_dir: &Path, style: Style) -> String {
    let mut sheet = Sheet::new(style);
    verdict(&mut sheet, summary.verdict, &summary.verdict_reasons);
    under_test(&mut sheet, summary);
    sheet.section();
    sheet.table(&latencies(summary));
    notes(&mut sheet, summary);
    sheet.section();
    sheet.table(&outcomes(summary));
    downloads(&mut sheet, manifest, summary);
    workers(&mut sheet, manifest, summary);
    caveats(&mut sheet, &summary.caveats);
    brief::text(manifest, summary, run_dir, style) + "\n" + &sheet.finish()
}

/// The verdict with every reason for it.
pub(super) fn verdict(sheet: &mut Sheet, verdict: Verdict, reasons: &[String]) {
    let first = reasons.first().map_or("", String::as_str);
    sheet.labelled("verdict", &format!("{verdict}: {first}"));
    sheet.list("", reasons.iter().skip(1));
}

/// Where a foreign program lies, how its workers were seen, and where they slept; nothing of the mirror,
/// which is the ordinary case.
fn under_test(sheet: &mut Sheet, summary: &Summary) {
    let Some(name) = program(summary) else { return };
    let path = summary.program.as_ref().map(|program| format!(" ({})", program.path.display()));
    let never = summary.program.is_none() && !summary.arm.server.kind.is_not_started();
    let seen = if never {
        "it was never ready".to_owned()
    } else {
        format!("its workers were seen {}", summary.visibility.words())
    };
    sheet.section();
    sheet.labelled("proxy", &format!("{name}{}; {seen}", path.unwrap_or_default()));
    sheet.list("asleep", slept(summary));
    sheet.list("away", summary.proxy.absences.as_ref().map(away));
}

/// The calls in which workers slept longest.
fn slept(summary: &Summary) -> Option<String> {
    const SHOWN: usize = 3;
    let mut calls: Vec<_> = summary.proxy.blocked.iter().collect();
    calls.sort_by_key(|(_, sum)| std::cmp::Reverse(sum.time_us));
    let told = calls.iter().take(SHOWN).map(|(call, sum)| {
        format!("{call} {} in {} (longest {})", sum.time_us, sum.sleeps, sum.longest_us)
    });
    let told: Vec<String> = told.collect();
    (!told.is_empty()).then(|| format!("workers slept outside their polls: {}", told.join(", ")))
}

fn away(absences: &AbsenceSummary) -> String {
    let AbsenceSummary { longest_us, longest_worker, looks, running, waiting, blocked, .. } =
        absences;
    format!(
        "{} times a worker was not seen in its poll for 20 ms or more, the longest {longest_us} \
         (worker {longest_worker}); of {looks} looks {running} found it running, {waiting} without \
         a CPU, {blocked} asleep",
        absences.absences
    )
}

/// Outcomes idle against load; those that did not occur are left out, but for `ok`.
fn outcomes(summary: &Summary) -> Table {
    let (idle, load) = (&summary.idle.outcomes, &summary.measure.outcomes);
    let mut table = Table::new(["outcomes", "idle", measured_when(&summary.arm)]);
    for outcome in Outcome::ALL {
        let counts = [idle.count(outcome), load.count(outcome)];
        if counts != [0, 0] || outcome == Outcome::Ok {
            table.row([outcome.name().to_owned(), counts[0].to_string(), counts[1].to_string()]);
        }
    }
    table
}

/// Failures and latencies idle against load; response times only where they say something else.
pub(crate) fn latencies(summary: &Summary) -> Table {
    let mut table = Table::new(["fetches", "failed", "p50", "p90", "p99", "max"]);
    let phases = [("idle", &summary.idle), (measured_when(&summary.arm), &summary.measure)];
    for (name, fetches) in phases {
        let (failed, tried) = (fetches.outcomes.failed(), fetches.outcomes.tried());
        let share = percent_beside(fetches.failed_share, STARVED_SHARE);
        let mut row = |name: &str, failed: String, l: &LatencyUs| {
            let time = |us| match fetches.attempts {
                0 => "-".to_owned(),
                _ => Micros(us).to_string(),
            };
            let [p50, p90, p99, max] = [l.p50, l.p90, l.p99, l.max].map(time);
            table.row([name.to_owned(), failed, p50, p90, p99, max]);
        };
        row(name, format!("{failed} of {tried} ({share})"), &fetches.latency_us);
        if response_differs(fetches) {
            row("from the scheduled start", "-".to_owned(), &fetches.response_us);
        }
    }
    table
}

/// What is to be known of [`latencies`].
fn notes(sheet: &mut Sheet, summary: &Summary) {
    let arrivals = summary.arm.fetch.arrivals;
    if let (Arrivals::Closed(_), Some(rate)) = (arrivals, summary.good_per_sec()) {
        sheet.line(&format!("(a closed loop: {rate:.0} good fetches/s)"));
    }
    if let some @ 1.. = summary.measure.censored {
        sheet.line(&format!("(timeouts count at their true age: {some} of them)"));
    }
}

/// What the downloads got, which is also what a cure costs.
fn downloads(sheet: &mut Sheet, manifest: &Manifest, summary: &Summary) {
    let (slow, load) = (&summary.slow, &manifest.arm.load);
    sheet.section();
    if slow.downloads == 0 {
        return sheet.labelled(load.plural(), "none were asked for");
    }
    let what = match &load.slow_path {
        Some(_) => load.asking().to_string(),
        None => load.slow_size.to_string(),
    };
    let rates = match slow.slot_bytes_per_sec.as_slice() {
        [_] | [] => String::new(),
        _ => format!("; each {} to {}", slow.slowest_slot, slow.fastest_slot),
    };
    let moved = format!(
        "{} x {what}: {} in all{rates} ({} in {})",
        slow.downloads, slow.bytes_per_sec, slow.bytes, summary.measured_us
    );
    let completed = match slow.completed_us.as_slice() {
        [] => "none completed".to_owned(),
        [one] => format!("1 completed, in {one}"),
        [first, .., last] => format!("{} completed, in {first} to {last}", slow.completed),
    };
    let broken = match slow.broken {
        0 => String::new(),
        broken => format!("; {broken} broken off"),
    };
    let (holding, workers) = (slow.workers_holding, manifest.worker_count());
    let held = format!("{completed}{broken}; held by {holding} of {workers} workers");
    sheet.list(load.plural(), [moved, held]);
}

/// The table of workers; of many, those with the longest steps.
fn workers(sheet: &mut Sheet, manifest: &Manifest, summary: &Summary) {
    /// So many have a row.
    const SHOWN: usize = 8;
    let all = &summary.proxy.workers;
    sheet.section();
    if all.is_empty() {
        return sheet.labelled("workers", "nothing is known of them");
    }
    let mut shown: Vec<&WorkerSummary> = all.iter().collect();
    shown.sort_by(|a, b| {
        (b.longest_step_us, b.cpu_share)
            .partial_cmp(&(a.longest_step_us, a.cpu_share))
            .unwrap_or(std::cmp::Ordering::Equal)
    });
    shown.truncate(SHOWN);
    shown.sort_by_key(|worker| worker.worker);
    let mut table = Table::new([
        "worker",
        "sessions",
        "held",
        "longest step",
        "bytes",
        "ended by",
        "longest turn",
        "%usr",
        "%system",
        "%wait",
        "%CPU",
        "cswch /s",
        "nvcswch /s",
    ]);
    let seen = matches!(summary.visibility, Visibility::Own | Visibility::Traced);
    let hold = (seen && manifest.recording == Recording::Full).then_some(manifest.hold_us);
    shown.iter().for_each(|worker| table.row(row(worker, hold)));
    sheet.table(&table);
    if all.len() > shown.len() {
        sheet.line(&format!("({SHOWN} of {} workers: those with the longest steps)", all.len()));
    }
}

fn row(worker: &WorkerSummary, hold: Option<Micros>) -> [String; 13] {
    let known = |is_known: bool, figure: String| if is_known { figure } else { "-".to_owned() };
    // Zero: nothing as long as a hold, or nothing is known of steps.
    let length = |us| match (us, hold) {
        (0, Some(hold)) => format!("<{hold}"),
        (0, None) => "-".to_owned(),
        _ => Micros(us).to_string(),
    };
    let sampled = worker.scheduler != SchedulerFigures::None;
    let share = |share: f64| format!("{:.1}", (share * 100.0).min(999.9));
    [
        worker.worker.to_string(),
        short_count(worker.sessions as f64, 8),
        short_count(worker.downloads as f64, 4),
        length(worker.longest_step_us),
        known(worker.longest_step_us > 0, short_bytes(Bytes(worker.longest_step_bytes))),
        worker.longest_step_ended_by.map_or("-", ended_by).to_owned(),
        length(worker.longest_loop_turn_us),
        known(sampled, share(worker.user_share)),
        known(sampled, share(worker.system_share)),
        known(worker.scheduler == SchedulerFigures::All, share(worker.wait_share)),
        known(sampled, share(worker.cpu_share)),
        known(sampled, short_count(worker.voluntary_per_sec, 5)),
        known(sampled, short_count(worker.involuntary_per_sec, 5)),
    ]
}

/// What ended a step, in 12 columns; [`StepEnd::words`] says it in full.
const fn ended_by(end: StepEnd) -> &'static str {
    match end {
        StepEnd::UpstreamEmpty => "EAGAIN",
        StepEnd::DownstreamFull => "client full",
        StepEnd::DownstreamEmpty => "client idle",
        StepEnd::UpstreamFull => "send EAGAIN",
        StepEnd::ShortRead => "short read",
        StepEnd::Fionread => "FIONREAD",
        StepEnd::Quota => "quota",
        StepEnd::Closed => "its close",
        StepEnd::Unknown => "?",
    }
}

/// The caveats, one after the other.
pub(super) fn caveats(sheet: &mut Sheet, caveats: &[Caveat]) {
    sheet.section();
    sheet.list("caveats", caveats.iter().map(|caveat| &caveat.message));
}
