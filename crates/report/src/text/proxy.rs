//! What the proxy's side tells: a row for each worker, the access log, and where that log misleads.

use records::{
    AbsenceSummary, Bytes, LogGap, Manifest, Micros, Outcome, OutcomeCounts, ProxyKind, Recording,
    SchedulerFigures, StepEnd, Summary, Visibility, WorkerSummary,
};

use super::layout::{MaxLines, WIDTH, heading, labelled, short_bytes, short_count, wrap};
use super::style::{Style, Tint};
use super::{Limits, Shown};

/// Where the outcomes of a status begin.
const SEEN_AT: usize = 22;

/// The table of workers; of many, those with the longest steps.
pub(crate) fn workers(
    manifest: &Manifest,
    summary: &Summary,
    style: Style,
    limits: &Limits,
) -> Vec<String> {
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
    shown.truncate(limits.workers);
    shown.sort_by_key(|worker| worker.worker);
    let above =
        cells(["", "", "", "longest", "", "", "longest", "", "", "", "", "cswch", "nvcswch"]);
    let names = [
        "worker", "sessions", "held", "step", "bytes", "ended by", "turn", "%usr", "%system",
        "%wait", "%CPU", "/s", "/s",
    ];
    let mut lines = vec![above, style.paint(Tint::Label, &cells(names))];
    let steps = Steps::of(manifest, summary);
    lines.extend(shown.iter().map(|worker| row(worker, steps)));
    if all.len() > shown.len() {
        let held = limits.workers;
        lines.push(format!("  ({held} of {} workers: those with the longest steps)", all.len()));
    }
    lines
}

/// What is known of steps and loop turns.
#[derive(Clone, Copy)]
enum Steps {
    /// Those from this length on.
    From(Micros),
    /// None.
    Unknown,
}

impl Steps {
    fn of(manifest: &Manifest, summary: &Summary) -> Self {
        let seen = matches!(summary.visibility, Visibility::Own | Visibility::Traced);
        if seen && manifest.recording == Recording::Full {
            Self::From(manifest.hold_us)
        } else {
            Self::Unknown
        }
    }

    /// A longest one; zero: none is known.
    fn length(self, us: u64) -> String {
        match self {
            _ if us > 0 => Micros(us).to_string(),
            // Nothing as long as a hold, and no shorter one known.
            Self::From(hold) => format!("<{hold}"),
            Self::Unknown => "-".to_owned(),
        }
    }
}

fn row(worker: &WorkerSummary, steps: Steps) -> String {
    let WorkerSummary { worker: number, sessions, downloads, .. } = worker;
    let step = steps.length(worker.longest_step_us);
    let bytes = match worker.longest_step_us {
        0 => "-".to_owned(),
        _ => short_bytes(Bytes(worker.longest_step_bytes)),
    };
    let ended = worker.longest_step_ended_by.map_or("-", ended_by);
    let turn = steps.length(worker.longest_loop_turn_us);
    let known = |is_known: bool, figure: String| if is_known { figure } else { "-".to_owned() };
    let sampled = worker.scheduler != SchedulerFigures::None;
    let share = |share: f64| format!("{:.1}", (share * 100.0).min(999.9));
    let [user, system, cpu] = [worker.user_share, worker.system_share, worker.cpu_share]
        .map(|part| known(sampled, share(part)));
    let wait = known(worker.scheduler == SchedulerFigures::All, share(worker.wait_share));
    let [voluntary, involuntary] = [worker.voluntary_per_sec, worker.involuntary_per_sec]
        .map(|rate| known(sampled, short_count(rate, 5)));
    let sessions = short_count(*sessions as f64, 8);
    let downloads = short_count(*downloads as f64, 4);
    cells([
        &number.to_string(),
        &sessions,
        &downloads,
        &step,
        &bytes,
        ended,
        &turn,
        &user,
        &system,
        &wait,
        &cpu,
        &voluntary,
        &involuntary,
    ])
}

/// One line of the table of workers: exactly as wide as a report may be.
fn cells(cells: [&str; 13]) -> String {
    let [worker, sessions, held, step, bytes, ended_by, turn, user, system, wait, cpu, cs, ncs] =
        cells;
    format!(
        "{worker:>6} {sessions:>8} {held:>4} {step:>8} {bytes:>8} {ended_by:<12} {turn:>8} \
         {user:>5} {system:>7} {wait:>5} {cpu:>5} {cs:>5} {ncs:>7}"
    )
}

/// What ended a step, in 12 columns; [`StepEnd::words`] says it in full.
pub(crate) const fn ended_by(end: StepEnd) -> &'static str {
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

/// Statuses as logged, beside what the clients of those lines saw.
pub(crate) fn statuses(summary: &Summary, style: Style, limits: &Limits) -> Vec<String> {
    let proxy = &summary.proxy;
    if summary.visibility == Visibility::ClientsOnly && proxy.status_counts.is_empty() {
        let text = "none that we could read: of this proxy only its clients tell";
        return labelled(style, "access log", text, MaxLines(1));
    }
    let head = format!("{:>8}  what their clients saw", "fetches");
    let mut lines = vec![heading(style, "access log", 12, &head)];
    let mut statuses = proxy.status_counts.iter();
    for (status, fetches) in statuses.by_ref().take(limits.statuses) {
        let saw = proxy.status_outcomes.get(status).map(seen).unwrap_or_default();
        lines.push(format!("  {status:<10}{fetches:>8}  {saw}"));
    }
    let more = statuses.count();
    if more > 0 {
        lines.push(format!("  and {more} more statuses (proxy.status_counts in summary.json)"));
    }
    let unlogged = proxy.unlogged.attempts();
    if unlogged > 0 {
        lines.push(format!("  {:<10}{unlogged:>8}  {}", "no line", seen(&proxy.unlogged)));
    }
    if lines.len() == 1 {
        lines.push("  no fetch was measured".to_owned());
    }
    if let Some(gap) = summary.log_gap.as_ref().filter(|_| limits.log_gap == Shown::Yes) {
        lines.extend(log_gap(gap, style));
    }
    lines
}

/// `timeout_no_byte 58, reset 2`: the most frequent first, as many as fit.
fn seen(outcomes: &OutcomeCounts) -> String {
    let mut counts: Vec<(u64, Outcome)> = Outcome::ALL
        .into_iter()
        .map(|outcome| (outcomes.count(outcome), outcome))
        .filter(|(count, _)| *count > 0)
        .collect();
    counts.sort_by_key(|(count, outcome)| (std::cmp::Reverse(*count), *outcome));
    let counts: Vec<String> =
        counts.iter().map(|(count, outcome)| format!("{outcome} {count}")).collect();
    wrap(&counts.join(", "), WIDTH - SEEN_AT, MaxLines(1)).concat()
}

fn log_gap(gap: &LogGap, style: Style) -> Vec<String> {
    let LogGap { fetch, worker, status, outcome, .. } = gap;
    let (logged, waited) = (gap.logged_us.as_secs(), gap.true_us.as_secs());
    let text = format!(
        "fetch {fetch} on worker {worker}: the log says {status} after {logged:.3} s, its client \
         waited {waited:.3} s ({outcome})"
    );
    labelled(style, "log gap", &text, MaxLines(2))
}

/// Which foreign program was under test, how its workers were seen, and where they slept; nothing of the
/// mirror, which is the ordinary case.
pub(crate) fn under_test(summary: &Summary, style: Style) -> Vec<String> {
    if summary.arm.server.kind == ProxyKind::Mirror {
        return Vec::new();
    }
    let name = match &summary.program {
        Some(program) if program.version.is_empty() => program.path.display().to_string(),
        Some(program) => format!("{} ({})", program.version, program.path.display()),
        None => summary.arm.server.kind.to_string(),
    };
    let never = summary.program.is_none() && !matches!(summary.arm.server.kind, ProxyKind::Url(_));
    let text = if never {
        format!("{name}; it was never ready")
    } else {
        format!("{name}; its workers were seen {}", summary.visibility.words())
    };
    let mut lines = labelled(style, "proxy", &text, MaxLines(2));
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

#[cfg(test)]
mod tests;
