//! The late fetches of a run at length: `turnstile explain`.

use std::collections::BTreeMap;
use std::path::Path;

use records::{
    BlockedSummary, Cause, LogGap, Outcome, Summary, ThrottleSample, count, percent, shell_line,
};

use super::layout::{Style, short_bytes};
use super::run::{caveats, verdict};
use super::sheet::Sheet;
use crate::table::Table;
use crate::words;
use analysis::report::{
    CauseReport, Evidence, Explanation, Longest, Ran, Reserve, hidden_by_reason,
};

/// So many of those whose steps held fetches are told.
const HOLDERS: usize = 10;

/// The whole story, with a newline after each line.
///
/// Sections in order: the run; the causes; the worst fetches; whose steps held them; the access log
/// beside the truth; the law; causes that are not in the table; caveats; how to go on.
pub fn story(story: &Explanation, run_dir: &Path, style: Style) -> String {
    let (summary, mut sheet) = (&story.summary, Sheet::new(style));
    sheet.whole("run", run_dir.display());
    verdict(&mut sheet, summary.verdict, &summary.verdict_reasons);
    sheet.labelled("explains", &words::late(story));
    if !story.causes.is_empty() {
        sheet.section();
        sheet.table(&causes(story));
    }
    worst(&mut sheet, story);
    sheet.section();
    sheet.list("held by", story.holders.iter().take(HOLDERS).map(words::held));
    if let Some(more @ 1..) = story.holders.len().checked_sub(HOLDERS) {
        sheet.labelled("", &format!("and {more} more (holders in --json)"));
    }
    log(&mut sheet, summary);
    sheet.section();
    sheet.list("law", words::law(summary));
    not_in_the_table(&mut sheet, story);
    caveats(&mut sheet, &summary.caveats);
    if let Some(worst) = story.worst.first() {
        // Ready to be pasted.
        let program = story.command.first().map_or("turnstile", String::as_str);
        let (dir, fetch) = (run_dir.display().to_string(), worst.fetch.to_string());
        let command = [program, "explain", &dir, "--fetch", &fetch].map(str::to_owned);
        sheet.section();
        sheet.labelled("next", "the worst fetch from start to end");
        sheet.whole("", shell_line(&command));
    }
    sheet.finish()
}

/// What the late time went to, by cause.
pub(crate) fn causes(story: &Explanation) -> Table {
    let mut table =
        Table::new(["cause", "share", "time", "led", "what it means, and what shows it"]);
    for CauseReport { share, most, evidence } in &story.causes {
        let most = most.as_ref();
        let most =
            most.map(|Longest { time_us, fetch }| format!("most in fetch {fetch}: {time_us}"));
        let means = [share.cause.words().to_owned()].into_iter().chain(most);
        let means: Vec<String> = means.chain(evidence.iter().map(said)).collect();
        table.row([
            share.cause.name().to_owned(),
            percent(share.share_of_late_time),
            share.time_us.to_string(),
            share.fetches.to_string(),
            means.join("\n"),
        ]);
    }
    table
}

fn worst(sheet: &mut Sheet, story: &Explanation) {
    let mut table = Table::new([
        "worst fetch",
        "worker",
        "response",
        "outcome",
        "largest cause",
        "part",
        "longest in a step of",
    ]);
    for late in &story.worst {
        let step = late.step.as_ref().map(|step| {
            let holder = words::holder(step.holder);
            format!("{holder}, {}, {}", step.length_us, short_bytes(step.bytes))
        });
        table.row([
            late.fetch.to_string(),
            late.worker.map_or_else(|| "-".to_owned(), |worker| worker.to_string()),
            late.response_us.to_string(),
            late.outcome.name().to_owned(),
            late.cause.name().to_owned(),
            percent(late.cause_share()),
            step.unwrap_or_default(),
        ]);
    }
    if !story.worst.is_empty() {
        sheet.section();
        sheet.table(&table);
    }
}

fn log(sheet: &mut Sheet, summary: &Summary) {
    let Summary { log_truth: truth, log_gap, .. } = summary;
    let Some(table) = log_rows(summary) else { return };
    sheet.section();
    sheet.labelled("log", &words::log(truth));
    if truth.understated > 0 || truth.overstated > 0 {
        let off = format!(
            "{} logged times under half of the true one, {} over twice it (10 ms or more off)",
            truth.understated, truth.overstated
        );
        sheet.labelled("", &off);
    }
    if let Some(LogGap { fetch, logged_us, true_us, .. }) = log_gap {
        let off = format!("misleads most: fetch {fetch}, {logged_us} logged, {true_us} true");
        sheet.labelled("", &off);
    }
    sheet.table(&table);
}

/// What the access log says of fetches, beside what their clients saw; `None`: no line is missing, and none is
/// there.
pub(crate) fn log_rows(summary: &Summary) -> Option<Table> {
    let proxy = &summary.proxy;
    let logged = proxy.status_outcomes.iter().map(|(status, of)| (status.to_string(), of));
    let rows = logged.chain([("no line".to_owned(), &proxy.unlogged)]).flat_map(|(status, of)| {
        let counts = Outcome::ALL.map(|outcome| (outcome, of.count(outcome)));
        let some = counts.into_iter().filter(|(_, fetches)| *fetches > 0);
        some.map(move |(outcome, n)| [status.clone(), outcome.name().to_owned(), n.to_string()])
    });
    let mut table = Table::new(["log says", "its client saw", "fetches"]);
    let mut rows = rows.peekable();
    rows.peek()?;
    rows.for_each(|row| table.row(row));
    Some(table)
}

fn not_in_the_table(sheet: &mut Sheet, story: &Explanation) {
    sheet.section();
    if story.summary.late.fetches == 0 {
        return;
    }
    let absent: Vec<Cause> = story.absent();
    if !absent.is_empty() {
        sheet.labelled("absent", &format!("{}: no part in it", words::names(&absent)));
    }
    let hidden = hidden_by_reason(&story.summary.late);
    if !hidden.is_empty() {
        let text = format!("{}; their time is unexplained", words::hidden(&hidden));
        sheet.labelled("hidden", &text);
    }
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
