use super::*;

fn heights(layout: &Layout) -> u16 {
    layout.rows.iter().map(|(_, height)| height).sum()
}

#[test]
fn no_layout_is_higher_than_its_place() {
    for workers in [0, 1, 2, 8, 256] {
        for height in 0..80 {
            let layout = layout(workers, workers, height);
            assert!(heights(&layout) <= height, "{workers} workers on {height} rows");
            let lanes = layout.rows.iter().filter(|(row, _)| matches!(row, Row::Lane(_))).count();
            assert_eq!(lanes + layout.hidden, workers);
        }
    }
}

#[test]
fn a_screen_of_24_rows_has_everything_of_two_workers() {
    let layout = layout(2, 2, 17);
    for row in [Row::Big, Row::Lane(1), Row::Queue(1), Row::Failed, Row::Axis, Row::Rate] {
        assert!(layout.rows.iter().any(|(there, _)| *there == row), "{row:?}");
    }
}

#[test]
fn counters_stay_longest() {
    assert_eq!(layout(2, 2, 1).rows, [(Row::Small, 1)]);
    assert_eq!(layout(2, 2, 2).rows, [(Row::State, 1), (Row::Small, 1)]);
}
