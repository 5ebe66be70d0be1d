use proptest::prelude::*;
use records::{Bytes, Hold, RunRecords, StepEnd};

use super::*;
use crate::window::Window;

/// What a worker did for some time in a row of pieces: a hold of that download, turns, a poll, or
/// something that nothing tells of.
#[derive(Clone, Copy, Debug)]
enum Did {
    Hold(u32),
    Turns { turns: u32, busy_us: u64 },
    Poll,
    Nothing,
}

/// Pieces that follow each other from 0 on, each so many us long; their holds are records of the run.
fn row(parts: impl IntoIterator<Item = (u64, Did)>) -> (RunRecords, Vec<Piece>) {
    let (mut records, mut pieces, mut at) = (RunRecords::default(), Vec::new(), 0);
    for (us, did) in parts {
        let window = Window::new(MonoNs(at), MonoNs(at + us * 1_000));
        at = window.end.0;
        let (doing, cause) = match did {
            Did::Hold(slot) => {
                records.holds.push(Hold {
                    session: u64::from(slot),
                    start_ns: window.start,
                    end_ns: window.end,
                    bytes: Bytes::mib(1),
                    ended_by: if slot == 0 { StepEnd::Quota } else { StepEnd::UpstreamEmpty },
                    ..Hold::default()
                });
                (Some(Doing::Hold(records.holds.len() - 1)), Cause::HeldByStep)
            }
            Did::Turns { turns, busy_us } => {
                let polling = 1.0 - busy_us as f64 / us as f64;
                let turn = Duration::from_micros(busy_us) / turns;
                (Some(Doing::Turning { polling, turn }), Cause::Convoy)
            }
            Did::Poll => (Some(Doing::Polling), Cause::Upstream),
            Did::Nothing => (None, Cause::Unexplained),
        };
        let mut shares = Shares::default();
        shares.add(cause, us * 1_000);
        pieces.push(Piece { window, hands: Hands::AwaitingHead, doing, shares });
    }
    (records, pieces)
}

fn folded(parts: impl IntoIterator<Item = (u64, Did)>, trifle_us: u64) -> Vec<Stay> {
    let (records, pieces) = row(parts);
    let pieces: Vec<&Piece> = pieces.iter().collect();
    fold(&Context::of(&records), &pieces, Duration::from_micros(trifle_us))
}

fn length_us(stay: &Stay) -> u64 {
    stay.end_ns.micros_since(stay.start_ns).0
}

#[test]
fn the_same_thing_in_a_row_is_one_entry_with_counts() {
    let turns = |turns| Did::Turns { turns, busy_us: 40 };
    let row = [
        (50, turns(2)),
        (70, turns(6)),
        (9_000, Did::Hold(3)),
        (5_000, Did::Hold(3)),
        (7_000, Did::Hold(1)),
    ];
    insta::assert_debug_snapshot!(folded(row, 0));
}

#[test]
fn of_a_long_row_the_longest_stand_alone() {
    // Two downloads in turn, all steps of 10 ms but for one of 50 ms of each.
    let length = |at: u32| if at == 20 || at == 35 { 50_000 } else { 10_000 };
    let folded = folded((0..60).map(|at| (length(at), Did::Hold(at % 2))), 0);
    let steps: Vec<u64> =
        folded.iter().map(|part| part.holds.iter().map(|group| group.steps).sum()).collect();
    assert_eq!(steps, [20, 1, 14, 1, 24]);
    let first = &folded[0].holds;
    assert_eq!((first.len(), first[0].steps, first[1].steps), (2, 10, 10));
    let all = CausePart { cause: Cause::HeldByStep, time_ns: 200_000_000, share: 1.0 };
    assert_eq!(folded[0].causes, [all]);
    // What ended them is told where it is the same for all.
    assert_eq!(first[0].ended_by, Some(StepEnd::Quota));
}

#[test]
fn trifles_count_to_what_was_before_them() {
    let trifle = Did::Turns { turns: 1, busy_us: 1 };
    let row = [(1, trifle), (9_000, Did::Hold(3)), (1, trifle), (1, Did::Hold(3)), (7_000, trifle)];
    let folded = folded(row, 2);
    // A step is none, however short the fetch waited in it.
    assert_eq!(folded.iter().map(length_us).collect::<Vec<_>>(), [1, 9_002, 7_000]);
    assert_eq!((folded[1].turns, folded[1].holds[0].steps), (None, 2));
    assert_eq!(folded[1].causes.len(), 2);
}

proptest! {
    #[test]
    fn no_time_is_lost_in_folding(parts in prop::collection::vec((1..50_000_u64, 0..6_u32), 0..200), trifle_us in 0..1_000_u64) {
        let did = |(us, kind): (u64, u32)| {
            let did = match kind {
                0 => Did::Nothing,
                1 => Did::Poll,
                2 => Did::Turns { turns: 3, busy_us: us / 2 },
                slot => Did::Hold(slot),
            };
            (us, did)
        };
        let parts: Vec<(u64, Did)> = parts.into_iter().map(did).collect();
        let folded = folded(parts.clone(), trifle_us);
        prop_assert!(folded.len() <= MOST, "{} entries", folded.len());
        let mut at = MonoNs(0);
        for part in &folded {
            prop_assert_eq!(part.start_ns, at);
            let length_ns = part.causes.iter().map(|part| part.time_ns).sum::<u64>();
            at = at + Duration::from_nanos(length_ns);
            prop_assert_eq!(part.end_ns, at);
        }
        prop_assert_eq!(at.0, parts.iter().map(|(us, _)| us * 1_000).sum::<u64>());
        let steps: u64 = folded.iter().flat_map(|part| &part.holds).map(|group| group.steps).sum();
        prop_assert_eq!(steps, parts.iter().filter(|(_, did)| matches!(did, Did::Hold(_))).count() as u64);
    }
}
