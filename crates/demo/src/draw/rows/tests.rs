use super::*;

/// An arm with so many workers, a queue each: what a screen of this height has of it.
fn fitted(workers: usize, height: u16) -> (Vec<Row<'static>>, usize) {
    use Rank::*;
    let row = |rank| Row::text(rank, "");
    let mut rows = vec![row(State), Row { height: 3, ..row(Big) }];
    rows.extend([Counts, Aside, Gap].map(row));
    rows.extend((0..workers).flat_map(|_| [Lane, Queue].map(row)));
    rows.extend([Gap, Good, Failed, Aside, Longest, Aside].map(row));
    let hidden = fit(&mut rows, height);
    (rows, hidden)
}

#[test]
fn no_arm_is_higher_than_its_place() {
    for workers in [0, 1, 2, 8, 80] {
        for height in 0..80 {
            let (rows, hidden) = fitted(workers, height);
            assert!(used(&rows) <= height, "{workers} workers on {height} rows");
            let lanes = rows.iter().filter(|row| row.rank == Rank::Lane).count();
            assert_eq!(lanes + hidden, workers);
        }
    }
}

#[test]
fn a_screen_of_24_rows_has_everything_of_two_workers() {
    assert_eq!(fitted(2, 17).0.len(), fitted(2, 80).0.len());
}

#[test]
fn what_is_left_goes_to_lanes_and_queues_alike() {
    for (height, each) in [(17, 1), (20, 1), (21, 2), (25, 3), (29, 4), (80, 4)] {
        for row in fitted(2, height).0 {
            let grows = matches!(row.rank, Rank::Lane | Rank::Queue);
            assert!(!grows || row.height == each, "{:?} of {height}: {}", row.rank, row.height);
        }
    }
}

#[test]
fn counters_stay_longest() {
    let ranks = |height| fitted(2, height).0.iter().map(|row| row.rank).collect::<Vec<_>>();
    assert_eq!(ranks(1), [Rank::Counts]);
    assert_eq!(ranks(2), [Rank::State, Rank::Counts]);
}
