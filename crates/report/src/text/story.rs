//! The late fetches of a run at length: `turnstile explain`.

use std::collections::BTreeMap;
use std::path::Path;

use records::{
    BlockedSummary, Cause, LogGap, Outcome, Summary, ThrottleSample, WorstFetch, count, percent,
    shell_line,
};

use super::layout::{INDENT, MaxLines, WIDTH, beside, heading, label, labelled, short_bytes, wrap};
use super::layout::{Style, Tint};
use super::run::{caveats, paragraphs, verdict};
use crate::words;
use analysis::report::{
    CauseReport, Evidence, Explanation, Longest, Ran, Reserve, hidden_by_reason,
};

/// Where what a cause means begins.
const MEANS_AT: usize = 46;
/// So many of those whose steps held fetches are told.
const HOLDERS: usize = 10;
/// More lines than any sentence here needs.
const ALL: MaxLines = MaxLines(20);

/// The whole story, with a newline after each line.
///
/// Sections in order: the run; the causes; the worst fetches; whose steps held them; the access log
/// beside the truth; the law; causes that are not in the table; caveats; how to go on.
pub fn story(story: &Explanation, run_dir: &Path, style: Style) -> String {
    let sections = [
        head(story, run_dir, style),
        causes(story, style),
        worst(story, style),
        holders(story, style),
        log(story, style),
        law(story, style),
        not_in_the_table(story, style),
        caveats(&story.summary.caveats, style),
        go_on(story, run_dir, style),
    ];
    paragraphs(sections)
}

fn head(story: &Explanation, run_dir: &Path, style: Style) -> Vec<String> {
    let label = label(style, "run");
    let mut lines = vec![format!("{label}{}", run_dir.display())];
    lines.extend(verdict(story.summary.verdict, &story.summary.verdict_reasons, style));
    lines.extend(labelled(style, "explains", &late(story), ALL));
    lines
}

fn late(story: &Explanation) -> String {
    let late = &story.summary.late;
    let which = words::which_are_late(late.phase, story.late_limit_us());
    if late.fetches == 0 {
        return format!("no fetch{which}");
    }
    let unexplained = match story.unexplained() {
        None => ", all of it explained".to_owned(),
        Some(share) => {
            let part = percent(share.share_of_late_time);
            format!("; {part} of it, {}, remains unexplained", share.time_us)
        }
    };
    format!("{} fetches{which}; {} in all{unexplained}", late.fetches, late.time_us)
}

fn causes(story: &Explanation, style: Style) -> Vec<String> {
    if story.causes.is_empty() {
        return Vec::new();
    }
    let columns =
        format!("{:>8}{:>11}{:>7}  what it means, and what shows it", "share", "time", "led");
    let mut lines = vec![heading(style, "causes", 18, &columns)];
    for CauseReport { share, most, evidence } in &story.causes {
        let left = format!(
            "  {:<16}{:>8}{:>11}{:>7}",
            share.cause.name(),
            percent(share.share_of_late_time),
            share.time_us,
            share.fetches
        );
        let width = WIDTH - MEANS_AT;
        let mut means = wrap(share.cause.words(), width, ALL);
        if let Some(Longest { time_us, fetch }) = most {
            means.extend(wrap(&format!("most in fetch {fetch}: {time_us}"), width, ALL));
        }
        means.extend(evidence.iter().flat_map(|shows| wrap(&said(shows), width, ALL)));
        lines.extend(beside(&[left], MEANS_AT, &means));
    }
    lines
}

fn worst(story: &Explanation, style: Style) -> Vec<String> {
    if story.worst.is_empty() {
        return Vec::new();
    }
    let names = worst_cells(
        ["fetch", "worker", "response", "outcome", "largest cause", "part"],
        "waited longest in a step of",
    );
    let mut lines =
        vec![style.paint(Tint::Label, "worst fetches"), style.paint(Tint::Label, &names)];
    lines.extend(story.worst.iter().map(worst_row));
    lines
}

fn worst_row(late: &WorstFetch) -> String {
    let step = late.step.as_ref().map_or_else(String::new, |step| {
        let holder = words::holder(step.holder);
        format!("{holder}, {}, {}", step.length_us, short_bytes(step.bytes))
    });
    let worker = late.worker.map_or_else(|| "-".to_owned(), |worker| worker.to_string());
    worst_cells(
        [
            &late.fetch.to_string(),
            &worker,
            &late.response_us.to_string(),
            late.outcome.name(),
            late.cause.name(),
            &percent(late.cause_share()),
        ],
        &step,
    )
}

fn worst_cells([fetch, worker, response, outcome, cause, part]: [&str; 6], step: &str) -> String {
    let row =
        format!("{fetch:>9}{worker:>7}{response:>10}  {outcome:<16}{cause:<17}{part:>7}  {step}");
    row.chars().take(WIDTH).collect()
}

fn holders(story: &Explanation, style: Style) -> Vec<String> {
    let mut holders = story.holders.iter();
    let mut lines = Vec::new();
    for held in holders.by_ref().take(HOLDERS) {
        let label = if lines.is_empty() { "held by" } else { "" };
        lines.extend(labelled(style, label, &words::held(held), ALL));
    }
    let more = holders.count();
    if more > 0 {
        lines.push(format!("{:INDENT$}and {more} more (holders in --json)", ""));
    }
    lines
}

fn log(story: &Explanation, style: Style) -> Vec<String> {
    let Summary { proxy, log_truth: truth, log_gap, .. } = &story.summary;
    let logged = proxy.status_outcomes.iter().map(|(status, of)| (status.to_string(), of));
    let rows = logged.chain([("no line".to_owned(), &proxy.unlogged)]).flat_map(|(status, of)| {
        let counts = Outcome::ALL.map(|outcome| (outcome, of.count(outcome)));
        let some = counts.into_iter().filter(|(_, fetches)| *fetches > 0);
        some.map(move |(outcome, n)| format!("  {status:<10}{:<16}{n:>9}", outcome.name()))
    });
    let rows: Vec<String> = rows.collect();
    // Without a row no line is missing, and none is there.
    if rows.is_empty() {
        return rows;
    }
    let mut lines = labelled(style, "log", &words::log(truth), ALL);
    if truth.understated > 0 || truth.overstated > 0 {
        let off = format!(
            "{} logged times under half of the true one, {} over twice it (10 ms or more off)",
            truth.understated, truth.overstated
        );
        lines.extend(labelled(style, "", &off, ALL));
    }
    if let Some(LogGap { fetch, logged_us, true_us, .. }) = log_gap {
        let off = format!("farthest off: fetch {fetch}, {logged_us} logged, {true_us} true");
        lines.extend(labelled(style, "", &off, ALL));
    }
    let columns = format!("  {:<10}{:<16}{:>9}", "status", "its client saw", "fetches");
    lines.push(style.paint(Tint::Label, &columns));
    lines.extend(rows);
    lines
}

fn law(story: &Explanation, style: Style) -> Vec<String> {
    words::law(&story.summary).iter().flat_map(|law| labelled(style, "law", law, ALL)).collect()
}

fn not_in_the_table(story: &Explanation, style: Style) -> Vec<String> {
    let mut lines = Vec::new();
    if story.summary.late.fetches == 0 {
        return lines;
    }
    let absent: Vec<Cause> = story.absent();
    if !absent.is_empty() {
        let text = format!("{}: no part in it", words::names(&absent));
        lines.extend(labelled(style, "absent", &text, ALL));
    }
    let hidden = hidden_by_reason(&story.summary.late);
    if !hidden.is_empty() {
        let text = format!("{}; their time is unexplained", words::hidden(&hidden));
        lines.extend(labelled(style, "hidden", &text, ALL));
    }
    lines
}

/// How to see the worst fetch in full, ready to be pasted.
fn go_on(story: &Explanation, run_dir: &Path, style: Style) -> Vec<String> {
    let Some(worst) = story.worst.first() else { return Vec::new() };
    let program = story.command.first().map_or("turnstile", String::as_str);
    let (dir, fetch) = (run_dir.display().to_string(), worst.fetch.to_string());
    let command = [program, "explain", &dir, "--fetch", &fetch].map(str::to_owned);
    let mut lines = labelled(style, "next", "the worst fetch from start to end", ALL);
    lines.push(format!("{:INDENT$}{}", "", shell_line(&command)));
    lines
}

/// What shows a cause, in a sentence.
fn said(evidence: &Evidence) -> String {
    match evidence {
        Evidence::Steps { steps, longest: None, .. } => count(*steps, "step", "steps"),
        Evidence::Steps { steps, longest: Some(step), reserve } => format!(
            "{}; longest wait {} of {} in one of {}{}",
            count(*steps, "step", "steps"),
            step.waited_us,
            step.length_us,
            words::step(step),
            reserve.as_ref().map(reserve_words).unwrap_or_default(),
        ),
        Evidence::Turns { longest: None, .. } => {
            "no loop turn of short steps was as long as a hold".to_owned()
        }
        Evidence::Turns { long_turns, longest: Some(turn) } => format!(
            "{} as long as a hold without one in them; the longest {}, {} on worker {}",
            count(*long_turns, "loop turn", "loop turns"),
            turn.length_us(),
            count(turn.steps.into(), "step", "steps"),
            turn.worker
        ),
        Evidence::Queues { deepest: None, .. } => "no accept queue was sampled".to_owned(),
        Evidence::Queues { samples, deepest: Some(depth) } => {
            format!(
                "accept queues: at most {} of {} in {samples} samples",
                depth.queue, depth.limit
            )
        }
        Evidence::Counters { moved } if moved.is_empty() => "no counter moved".to_owned(),
        Evidence::Counters { moved } => {
            let moved: Vec<String> =
                moved.iter().map(|(name, by)| format!("{name} +{by}")).collect();
            moved.join(", ")
        }
        Evidence::Cpu { busy_us, cpu_us, run_wait_us, stolen_us, throttled, slept } => {
            let quota = throttled.map_or_else(String::new, |throttled| {
                let ThrottleSample { periods, throttled_us, .. } = throttled;
                format!("; withheld by their quota: {throttled_us}, used up in {periods} periods")
            });
            format!(
                "workers outside of polls: {busy_us}, of it {cpu_us} on a CPU; ready for one: \
                 {run_wait_us}; taken from their CPUs by the hypervisor: {stolen_us}{quota}{}",
                slept_in(slept)
            )
        }
        Evidence::Threads { served, slept } => {
            let of = |ran: &Ran| {
                let who = ran.holder.map_or_else(|| "others".to_owned(), words::holder);
                format!("{} for {who}", ran.run_us)
            };
            let served: Vec<String> = served.iter().map(of).collect();
            let ran = if served.is_empty() { "for nobody".to_owned() } else { served.join(", ") };
            format!("meanwhile the threads ran {ran}{}", slept_in(slept))
        }
        Evidence::Ports { refused, used } => {
            format!("requests without a port: {refused}; ports used to dial the origin: {used}")
        }
        Evidence::Silence { never_accepted, without_session, records_lost } => format!(
            "fetches never accepted: {never_accepted}; without a session's record: \
             {without_session}; records lost: {records_lost}"
        ),
    }
}

/// What waited in the upstream's receive buffer while steps went on.
fn reserve_words(reserve: &Reserve) -> String {
    format!(
        "; the upstream's receive buffer held {} meanwhile (median; most {}), and was empty in {} of \
         {} looks",
        reserve.median, reserve.most, reserve.empty, reserve.samples
    )
}

/// `; asleep in pwritev 5.500 s (20 times)`; nothing when nothing is known.
fn slept_in(slept: &BTreeMap<String, BlockedSummary>) -> String {
    let told = slept.iter().map(|(call, sum)| format!("{call} {} ({} x)", sum.time_us, sum.sleeps));
    let told: Vec<String> = told.collect();
    if told.is_empty() { String::new() } else { format!("; asleep in {}", told.join(", ")) }
}
