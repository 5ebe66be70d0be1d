//! The parts of a fetch sum to its time, whatever happened.

use proptest::prelude::*;
use records::{Cause, RunRecords};

use crate::explain::context::Context;
use crate::explain::life::Life;
use crate::explain::shares::Shares;
use crate::explain::split::all;
use crate::fixture::garbage::garbage;
use crate::fixture::random::{Cpu, runs};

proptest! {
    #[test]
    fn the_parts_of_a_fetch_sum_to_its_time(records in runs(Cpu::Random)) {
        assert_sums(&records)?;
        for (fetch, split) in records.fetches.iter().zip(all(&Context::of(&records))) {
            prop_assert_eq!(split.shares.total(), fetch.response_us.as_duration());
        }
    }

    #[test]
    fn the_parts_of_garbage_sum_to_its_time(records in garbage()) {
        assert_sums(&records)?;
    }
}

/// Late or not: pieces are in order, without a gap, and cover the life of each fetch; the causes of
/// each sum to its length, and all of them to those of the fetch.
fn assert_sums(records: &RunRecords) -> Result<(), TestCaseError> {
    let context = Context::of(records);
    let splits = all(&context);
    prop_assert_eq!(splits.len(), records.fetches.len());
    for ((index, fetch), split) in records.fetches.iter().enumerate().zip(&splits) {
        prop_assert_eq!(split.index, index);
        let life = Life::of(fetch, context.join.fetch(index), None).whole;
        prop_assert_eq!(split.shares.total(), life.length());
        let mut sum = Shares::default();
        let mut end = life.start;
        for piece in &split.pieces {
            prop_assert_eq!(piece.window.start, end);
            prop_assert!(piece.window.end > piece.window.start);
            prop_assert_eq!(piece.shares.total(), piece.window.length());
            end = piece.window.end;
            sum.merge(&piece.shares);
        }
        prop_assert_eq!(end, life.end);
        prop_assert_eq!(sum, split.shares);
        let held = split.held.values().sum::<std::time::Duration>();
        prop_assert!(held <= life.length());
        prop_assert!(split.held.keys().all(|&hold| hold < records.holds.len()));
        // Steps are named only where it is known whose they were.
        let named = split.worker.is_none() || split.shares.of(Cause::HeldByStep) <= held;
        prop_assert!(named);
    }
    Ok(())
}
