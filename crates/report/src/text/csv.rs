//! Fetches as comma-separated values (RFC 4180), for spreadsheets and data frames: where the time of each
//! went by. No value of ours has a comma or a quote in it.

use analysis::Analysis;
use records::{Cause, Micros};

use crate::words;

/// A line for each recorded fetch, in the order of the records, under a line of names. What is not known
/// is empty. `start_us` counts from the first fetch of the run; the times of the causes sum to the whole
/// of `response_us`, but for what is rounded.
///
/// Of a closed loop these are the fetches that have a record of their own.
pub fn csv(analysis: &Analysis<'_>) -> String {
    let causes = Cause::ALL.map(|cause| format!("{cause}_us"));
    let mut text =
        format!("phase,fetch,start_us,response_us,outcome,worker,held_by,{}\n", causes.join(","));
    let fetches = &analysis.records.fetches;
    let zero = fetches.iter().map(|fetch| fetch.intended_ns).min().unwrap_or_default();
    for split in analysis.splits() {
        let Some(fetch) = fetches.get(split.index) else { continue };
        let held = split.held.iter().max_by_key(|(_, waited)| **waited);
        let holder = held.and_then(|(&hold, _)| analysis.holder(hold)).map(words::holder);
        let worker = split.worker.map(|worker| worker.to_string());
        let mut cells = vec![
            fetch.phase.name().to_owned(),
            fetch.fetch.to_string(),
            fetch.intended_ns.micros_since(zero).0.to_string(),
            fetch.response_us.0.to_string(),
            fetch.outcome.to_string(),
            worker.unwrap_or_default(),
            holder.unwrap_or_default(),
        ];
        cells.extend(Cause::ALL.map(|cause| Micros::from(split.shares.of(cause)).0.to_string()));
        text += &(cells.join(",") + "\n");
    }
    text
}
