//! Rows for fetches below the blocks of their lane.

use std::collections::BTreeMap;

/// More rows than these cannot be told apart; beyond, rows are used again though they overlap.
const MOST_ROWS: usize = 64;

/// The row of each fetch, in the order given, which is by start: the first that is free again.
/// `spans` are worker, start and end.
pub(crate) fn rows(spans: impl Iterator<Item = (i64, u64, u64)>) -> Vec<u32> {
    let mut lanes: BTreeMap<i64, Vec<u64>> = BTreeMap::new();
    let mut next = 0;
    spans
        .map(|(worker, start, end)| {
            let ends = lanes.entry(worker).or_default();
            // A little air between one's end and the next one's start.
            let free_at = end.saturating_add(20_000);
            let row = match ends.iter().position(|&until| until <= start) {
                Some(row) => row,
                None if ends.len() < MOST_ROWS => {
                    ends.push(0);
                    ends.len() - 1
                }
                None => {
                    next = (next + 1) % MOST_ROWS;
                    next
                }
            };
            if let Some(until) = ends.get_mut(row) {
                *until = free_at;
            }
            u32::try_from(row).unwrap_or(0)
        })
        .collect()
}
