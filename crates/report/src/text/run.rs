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
use super::layout::{MaxLines, Style, labelled, short_bytes, short_count};
use crate::table::Table;
use crate::words::program;

/// More lines than any sentence here needs.
const ALL: MaxLines = MaxLines(20);

/// The report of a run at length: the brief one, then a section for each kind of figure.
pub fn details(manifest: &Manifest, summary: &Summary, run_dir: &Path, style: Style) -> String {
    let sections = [
        verdict(summary.verdict, &summary.verdict_reasons, style),
        under_test(summary, style),
        [latencies(summary).lines(style), notes(summary)].concat(),
        outcomes(summary).lines(style),
        downloads(manifest, summary, style),
        workers(manifest, summary, style),
        caveats(&summary.caveats, style),
    ];
    brief::text(manifest, summary, run_dir, style) + "\n" + &paragraphs(sections)
}

/// Sections with a blank line between two of them; those without a line are left out.
pub(super) fn paragraphs(sections: impl IntoIterator<Item = Vec<String>>) -> String {
    let lines = |lines: Vec<String>| -> String {
        lines.iter().map(|line| format!("{}\n", line.trim_end())).collect()
    };
    let sections = sections.into_iter().filter(|section| !section.is_empty());
    sections.map(lines).collect::<Vec<_>>().join("\n")
}

/// The verdict with every reason for it.
pub(super) fn verdict(verdict: Verdict, reasons: &[String], style: Style) -> Vec<String> {
    let first = reasons.first().map_or("", String::as_str);
    let mut lines = labelled(style, "verdict", &format!("{verdict}: {first}"), ALL);
    lines.extend(reasons.iter().skip(1).flat_map(|reason| labelled(style, "", reason, ALL)));
    lines
}

/// Where a foreign program lies, how its workers were seen, and where they slept; nothing of the mirror,
/// which is the ordinary case.
fn under_test(summary: &Summary, style: Style) -> Vec<String> {
    let Some(name) = program(summary) else { return Vec::new() };
    let path = summary.program.as_ref().map(|program| format!(" ({})", program.path.display()));
    let never = summary.program.is_none() && !summary.arm.server.kind.is_not_started();
    let seen = if never {
        "it was never ready".to_owned()
    } else {
        format!("its workers were seen {}", summary.visibility.words())
    };
    let said = format!("{name}{}; {seen}", path.unwrap_or_default());
    let mut lines = labelled(style, "proxy", &said, MaxLines(2));
    if let Some(slept) = slept(summary) {
        lines.extend(labelled(style, "asleep", &slept, MaxLines(2)));
    }
    if let Some(absences) = &summary.proxy.absences {
        lines.extend(labelled(style, "away", &away(absences), MaxLines(2)));
    }
    lines
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
fn notes(summary: &Summary) -> Vec<String> {
    let timeouts = match summary.measure.censored {
        0 => None,
        timeouts => Some(format!("timeouts count at their true age: {timeouts} of them")),
    };
    let rate = match summary.arm.fetch.arrivals {
        Arrivals::Closed(_) => summary.good_per_sec(),
        Arrivals::PerSecond(_) => None,
    };
    let rate = rate.map(|rate| format!("a closed loop: {rate:.0} good fetches/s"));
    let notes: Vec<String> = rate.into_iter().chain(timeouts).collect();
    if notes.is_empty() { notes } else { vec![format!("({})", notes.join("; "))] }
}

/// What the downloads got, which is also what a cure costs.
fn downloads(manifest: &Manifest, summary: &Summary, style: Style) -> Vec<String> {
    let slow = &summary.slow;
    if slow.downloads == 0 {
        return labelled(style, manifest.arm.load.plural(), "none were asked for", MaxLines(1));
    }
    let load = &manifest.arm.load;
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
    let mut lines = labelled(style, load.plural(), &moved, MaxLines(2));
    let completed = match slow.completed_us.as_slice() {
        [] => "none completed".to_owned(),
        [one] => format!("1 completed, in {one}"),
        [first, .., last] => format!("{} completed, in {first} to {last}", slow.completed),
    };
    let broken = match slow.broken {
        0 => String::new(),
        broken => format!("; {broken} broken off"),
    };
    let held = format!(
        "{completed}{broken}; held by {} of {} workers",
        slow.workers_holding,
        manifest.worker_count()
    );
    lines.extend(labelled(style, "", &held, MaxLines(1)));
    lines
}

/// The table of workers; of many, those with the longest steps.
fn workers(manifest: &Manifest, summary: &Summary, style: Style) -> Vec<String> {
    /// So many have a row.
    const SHOWN: usize = 8;
    let all = &summary.proxy.workers;
    if all.is_empty() {
        return labelled(style, "workers", "nothing is known of them", MaxLines(1));
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
    let mut lines = table.lines(style);
    if all.len() > shown.len() {
        lines.push(format!("({SHOWN} of {} workers: those with the longest steps)", all.len()));
    }
    lines
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
pub(super) fn caveats(caveats: &[Caveat], style: Style) -> Vec<String> {
    let label = |place| if place == 0 { "caveats" } else { "" };
    let lines =
        |(place, caveat): (usize, &Caveat)| labelled(style, label(place), &caveat.message, ALL);
    caveats.iter().enumerate().flat_map(lines).collect()
}
