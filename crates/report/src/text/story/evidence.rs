//! What shows a cause, in words.

use std::collections::BTreeMap;

use records::{BlockedSummary, LogMode};

use crate::words;
use analysis::report::{Evidence, Longest, Reserve};

/// What shows a cause, in a sentence.
pub(super) fn evidence(evidence: &Evidence) -> String {
    match evidence {
        Evidence::Steps { steps, longest: None, .. } => format!("{steps} steps"),
        Evidence::Steps { steps, longest: Some(step), reserve } => format!(
            "{steps} steps; longest wait {} of {} in one of {}{}",
            step.waited_us,
            step.length_us,
            words::step(step),
            reserve.as_ref().map(self::reserve).unwrap_or_default(),
        ),
        Evidence::Turns { longest: None, .. } => {
            "no loop turn of short steps was as long as a hold".to_owned()
        }
        Evidence::Turns { long_turns, longest: Some(turn) } => format!(
            "{long_turns} loop turns as long as a hold without one in them; the longest {}, {} \
             steps on worker {}",
            turn.length_us, turn.steps, turn.worker
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
        Evidence::Ready { run_wait_us, stolen_us } => format!(
            "workers ready without a CPU: {run_wait_us}; taken from their CPUs by the hypervisor: \
             {stolen_us}"
        ),
        Evidence::Asleep { busy_us, cpu_us, run_wait_us, log_mode, slept } => format!(
            "workers outside of polls: {busy_us}, of it {cpu_us} on a CPU and {run_wait_us} ready \
             for one; {}{}",
            match log_mode {
                LogMode::Writer => "a thread writes the access log",
                LogMode::Inline => "they write the access log themselves",
            },
            slept_in(slept)
        ),
        Evidence::Origin { longest } => longest_words("wait for a head", *longest),
        Evidence::Bodies { longest } => longest_words("body", *longest),
        Evidence::Lag { longest } => longest_words("lag of the client", *longest),
        Evidence::Silence { never_accepted, without_session, records_lost } => format!(
            "never accepted: {never_accepted} fetches; without a session's record: \
             {without_session}; records lost: {records_lost}"
        ),
    }
}

fn longest_words(what: &str, longest: Option<Longest>) -> String {
    match longest {
        Some(Longest { time_us, fetch }) => format!("longest {what}: {time_us}, in fetch {fetch}"),
        None => format!("no {what} is on record"),
    }
}

/// What waited in the upstream's receive buffer while steps went on.
fn reserve(reserve: &Reserve) -> String {
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
