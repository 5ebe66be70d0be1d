use proptest::prelude::*;
use records::{Cause, HoldingStep};

use super::*;

fn stay(start_ns: u64, length_ns: u64, worker_did: Option<WorkerDid>) -> Stay {
    let cause = match worker_did {
        Some(WorkerDid::Hold { .. }) => Cause::HeldByStep,
        Some(WorkerDid::Turns { .. }) => Cause::Convoy,
        Some(WorkerDid::Poll) => Cause::Upstream,
        None => Cause::Unexplained,
    };
    let causes = CausePart::all_of([(cause, length_ns)]);
    Stay { start_ns, length_ns, hands: Hands::AwaitingHead, worker_did, causes }
}

fn hold(slot: u32, length_ns: u64) -> WorkerDid {
    let waited_us = micros(length_ns);
    let step = HoldingStep {
        holder: Holder::Download(slot),
        worker: 0,
        length_us: waited_us,
        waited_us,
        bytes: Bytes::mib(1),
        ended_by: if slot == 0 { StepEnd::Quota } else { StepEnd::UpstreamEmpty },
    };
    WorkerDid::Hold { began_ns: 0, step }
}

fn begin(did: WorkerDid, at: u64) -> WorkerDid {
    match did {
        WorkerDid::Hold { step, .. } => {
            WorkerDid::Hold { began_ns: i64::try_from(at).expect("a short row"), step }
        }
        other => other,
    }
}

/// A row of stays that begins at 0.
fn row(parts: impl IntoIterator<Item = (u64, Option<WorkerDid>)>) -> Vec<Stay> {
    let mut at = 0;
    let next = |(length, did): (u64, Option<WorkerDid>)| {
        let stay = stay(at, length, did.map(|did| begin(did, at)));
        at += length;
        stay
    };
    parts.into_iter().map(next).collect()
}

#[test]
fn the_same_thing_in_a_row_is_one_entry_with_counts() {
    let turns = |turns| Some(WorkerDid::Turns { turns, busy_ns: 40_000 });
    let stays = row([
        (50_000, turns(2)),
        (70_000, turns(6)),
        (9_000_000, Some(hold(3, 9_000_000))),
        (5_000_000, Some(hold(3, 5_000_000))),
        (7_000_000, Some(hold(1, 7_000_000))),
    ]);
    let folded = fold(&stays, 0);
    assert_eq!(folded.len(), 3);
    let turns = folded[0].turns.expect("turns");
    assert_eq!((turns.turns, turns.mean_us, turns.poll_us), (8, Micros(10), Micros(40)));
    let [group] = folded[1].holds.as_slice() else { panic!("{folded:?}") };
    assert_eq!((group.steps, group.bytes), (2, Bytes::mib(2)));
    assert_eq!((group.waited_us, group.longest_us), (Micros(14_000), Micros(9_000)));
    assert_eq!(group.ended_by, Some(StepEnd::UpstreamEmpty));
    assert_eq!((folded[2].holds[0].steps, folded[2].start_us), (1, Micros(14_120)));
}

#[test]
fn of_a_long_row_the_longest_stand_alone() {
    // Two downloads in turn, all steps of 10 ms but for one of 50 ms of each.
    let length = |at: u32| if at == 20 || at == 35 { 50_000_000 } else { 10_000_000 };
    let stays = row((0..60).map(|at| (length(at), Some(hold(at % 2, length(at))))));
    let folded = fold(&stays, 0);
    let steps: Vec<u64> =
        folded.iter().map(|part| part.holds.iter().map(|group| group.steps).sum()).collect();
    assert_eq!(steps, [20, 1, 14, 1, 24]);
    let first = &folded[0].holds;
    assert_eq!((first.len(), first[0].steps, first[1].steps), (2, 10, 10));
    assert_eq!(folded[0].causes, CausePart::all_of([(Cause::HeldByStep, 200_000_000)]));
    // What ended them is told where it is the same for all.
    assert_eq!(first[0].ended_by, Some(StepEnd::Quota));
}

#[test]
fn trifles_count_to_what_was_before_them() {
    let trifle = || Some(WorkerDid::Turns { turns: 1, busy_ns: 900 });
    let stays = row([
        (1_000, trifle()),
        (9_000_000, Some(hold(3, 9_000_000))),
        (1_000, trifle()),
        (500, Some(hold(3, 500))),
        (7_000_000, trifle()),
    ]);
    let folded = fold(&stays, 2_000);
    let lengths: Vec<u64> = folded.iter().map(|part| part.length_us.0).collect();
    // A step is none, however short the fetch waited in it.
    assert_eq!(lengths, [1, 9_001, 7_000]);
    assert_eq!((folded[1].turns, folded[1].holds[0].steps), (None, 2));
    assert_eq!(folded[1].causes.len(), 2);
}

proptest! {
    #[test]
    fn no_time_is_lost_in_folding(parts in prop::collection::vec((1..50_000_000_u64, 0..6_u32), 0..200), trifle_ns in 0..1_000_000_u64) {
        let stays = row(parts.into_iter().map(|(length, kind)| {
            let did = match kind {
                0 => None,
                1 => Some(WorkerDid::Poll),
                2 => Some(WorkerDid::Turns { turns: 3, busy_ns: length / 2 }),
                slot => Some(hold(slot, length)),
            };
            (length, did)
        }));
        let folded = fold(&stays, trifle_ns);
        prop_assert!(folded.len() <= MOST, "{} entries", folded.len());
        let mut at = 0;
        for part in &folded {
            prop_assert_eq!(part.start_us, micros(at));
            let length_ns = part.causes.iter().map(|part| part.time_ns).sum::<u64>();
            prop_assert_eq!(part.length_us, micros(length_ns));
            at += length_ns;
        }
        prop_assert_eq!(at, stays.iter().map(|stay| stay.length_ns).sum::<u64>());
        let holds = |stay: &&Stay| matches!(stay.worker_did, Some(WorkerDid::Hold { .. }));
        let steps: u64 = folded.iter().flat_map(|part| &part.holds).map(|group| group.steps).sum();
        prop_assert_eq!(steps, stays.iter().filter(holds).count() as u64);
    }
}
