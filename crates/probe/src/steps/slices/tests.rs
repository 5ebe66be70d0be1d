//! What was busy is told once, without a gap.

use proptest::prelude::*;
use records::Micros;

use super::*;

const MS: u64 = 1_000_000;
/// A thread beside the work.
const TIMER: u32 = 9;

fn busy(tid: u32, from: u64, to: u64, run: u64, client_port: Option<u16>) -> Busy {
    let (from, to, run) = (from * MS, to * MS, run * MS);
    Busy { tid, from, to, run, wait: to - from - run, deep: 0, client_port }
}

fn told(all: &[Busy], start: u64, end: u64) -> Vec<Threads> {
    let mut slices = Slices::default();
    all.iter().for_each(|busy| slices.add(*busy));
    let mut told = Vec::new();
    let span = (MonoNs(start * MS), MonoNs(end * MS));
    slices.tell(7, span, &BTreeSet::from([TIMER]), &mut |record| match record {
        Record::Threads(threads) => told.push(threads),
        other => panic!("{other:?}"),
    });
    told
}

#[test]
fn a_stretch_is_cut_at_the_edges_of_slices_and_rest_is_told_as_one() {
    let beside = busy(TIMER, 1_000, 1_020, 0, None);
    let told = told(
        &[busy(1, 1_005, 1_025, 10, Some(80)), busy(2, 1_010, 1_020, 10, None), beside],
        900,
        1_200,
    );
    let rows: Vec<(u64, u64, u32, u64, u64)> = told
        .iter()
        .map(|of| {
            let ms = |at: MonoNs| at.0 / MS;
            (ms(of.start_ns), ms(of.end_ns), of.ran, of.run_us.0, of.wait_us.0)
        })
        .collect();
    assert_eq!(
        rows,
        [
            (900, 1_000, 0, 0, 0),
            (1_000, 1_010, 1, 2_500, 2_500),
            (1_010, 1_020, 2, 15_000, 5_000),
            (1_020, 1_030, 1, 2_500, 2_500),
            (1_030, 1_200, 0, 0, 0),
        ]
    );
    assert!(told.iter().all(|of| of.worker == 7));
    assert_eq!(told[2].served, [Served { client_port: 80, run_us: Micros(5_000) }]);
}

#[test]
fn those_that_ran_most_are_told_first() {
    let all: Vec<Busy> =
        (1..=6).map(|n| busy(1, 0, 10, n, Some(u16::try_from(n).unwrap_or(0)))).collect();
    let told = told(&all, 0, 10);
    let ports: Vec<u16> = told[0].served.iter().map(|served| served.client_port).collect();
    assert_eq!(ports, [6, 5, 4, 3]);
}

proptest! {
    #[test]
    fn nothing_is_lost_or_told_twice(
        spans in proptest::collection::vec((0_u32..3, 0_u64..500, 1_u64..200, 0_u64..=100), 0..20),
    ) {
        let all: Vec<Busy> = spans
            .iter()
            .map(|&(tid, from, length, percent)| {
                busy(tid, from, from + length, length * percent / 100, None)
            })
            .collect();
        let told = told(&all, 0, 800);
        let sum = |part: fn(&Threads) -> Micros| -> u64 { told.iter().map(|of| part(of).0).sum() };
        let run: u64 = all.iter().map(|busy| busy.run / 1_000).sum();
        let wait: u64 = all.iter().map(|busy| busy.wait / 1_000).sum();
        // Each part is rounded down, once for each slice of each span and once more when told.
        let most = 20 * 21 + 80;
        prop_assert!((run.saturating_sub(most)..=run).contains(&sum(|of| of.run_us)));
        prop_assert!((wait.saturating_sub(most)..=wait).contains(&sum(|of| of.wait_us)));
        let ends: Vec<MonoNs> = told.iter().map(|of| of.end_ns).collect();
        let starts: Vec<MonoNs> = told.iter().map(|of| of.start_ns).skip(1).collect();
        prop_assert_eq!(&ends[..ends.len() - 1], &starts[..]);
        prop_assert_eq!(ends.last(), Some(&MonoNs(800 * MS)));
    }
}
