//! What the clients saw: outcomes and latencies of fetches, and the downloads.

use records::{Bytes, FetchSummary, LatencyUs, Manifest, Micros, Outcome, Summary};

use super::layout::{MaxLines, heading, labelled};
use super::style::Style;
use analysis::measured_when;
use analysis::response_differs;

/// Width of the first column of both tables.
const NAME: usize = 18;

/// Outcomes idle against load; those that did not occur are left out, but for `ok`.
pub(crate) fn outcomes(summary: &Summary, style: Style) -> Vec<String> {
    let (idle, load) = (&summary.idle.outcomes, &summary.measure.outcomes);
    let mut lines = vec![heading(
        style,
        "fetches",
        NAME,
        &format!("{:>16}{:>16}", "idle", measured_when(&summary.arm)),
    )];
    for outcome in Outcome::ALL {
        let counts = (idle.count(outcome), load.count(outcome));
        if counts != (0, 0) || outcome == Outcome::Ok {
            lines.push(format!("  {:<16}{:>16}{:>16}", outcome.name(), counts.0, counts.1));
        }
    }
    let failed = |fetches: &FetchSummary| {
        format!("{} of {}", fetches.outcomes.failed(), fetches.outcomes.tried())
    };
    let (idle, load) = (failed(&summary.idle), failed(&summary.measure));
    lines.push(format!("  {:<16}{idle:>16}{load:>16}", "failed"));
    lines
}

/// Latencies idle against load; response times only where they say something else.
pub(crate) fn latencies(summary: &Summary, style: Style) -> Vec<String> {
    let columns = format!("{:>16}{:>16}{:>16}{:>16}", "p50", "p90", "p99", "max");
    let mut lines = vec![heading(style, "latency", NAME, &columns)];
    for (name, fetches) in
        [("idle", &summary.idle), (measured_when(&summary.arm), &summary.measure)]
    {
        if fetches.attempts == 0 {
            lines.push(format!("  {name:<16}{:>16}", "no fetch"));
            continue;
        }
        lines.push(row(name, &fetches.latency_us));
        if response_differs(fetches) {
            lines.push(row("  as intended", &fetches.response_us));
        }
    }
    let timeouts = match summary.measure.censored {
        0 => None,
        timeouts => Some(format!("timeouts count at their true age: {timeouts} of them")),
    };
    let intended = (response_differs(&summary.idle) || response_differs(&summary.measure))
        .then(|| "as intended: from the scheduled start".to_owned());
    let notes: Vec<String> = timeouts.into_iter().chain(intended).collect();
    if !notes.is_empty() {
        lines.push(format!("  ({})", notes.join("; ")));
    }
    lines
}

fn row(name: &str, latency: &LatencyUs) -> String {
    let [p50, p90, p99, max] = [latency.p50, latency.p90, latency.p99, latency.max].map(Micros);
    format!("  {name:<16}{p50:>16}{p90:>16}{p99:>16}{max:>16}")
}

/// What the downloads got, which is also what a cure costs.
pub(crate) fn downloads(manifest: &Manifest, summary: &Summary, style: Style) -> Vec<String> {
    let slow = &summary.slow;
    if slow.downloads == 0 {
        return labelled(style, "downloads", "none were asked for", MaxLines(1));
    }
    let size: Bytes = manifest.arm.load.slow_size;
    let rates = match slow.slot_bytes_per_sec.as_slice() {
        [_] | [] => String::new(),
        _ => format!("; each {} to {}", slow.slowest_slot, slow.fastest_slot),
    };
    let moved = format!(
        "{} x {size}: {} in all{rates} ({} in {})",
        slow.downloads, slow.bytes_per_sec, slow.bytes, summary.measured_us
    );
    let mut lines = labelled(style, "downloads", &moved, MaxLines(2));
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
