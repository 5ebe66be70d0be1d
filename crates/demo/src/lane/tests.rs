use super::*;

fn ms(ms: u64) -> MonoNs {
    MonoNs(ms * 1_000_000)
}

fn worker(spans: &[(u64, u64, Cell)]) -> Worker {
    let mut worker = Worker::default();
    spans.iter().for_each(|&(start, end, what)| worker.told(ms(start), ms(end), what));
    worker
}

const SECOND: Window =
    Window { start: MonoNs(1_000_000_000), end: MonoNs(2_000_000_000), extent: Extent::Lately };
const HELD: Cell = Cell::Held(Holder::Download(1));

#[test]
fn a_step_fills_the_cells_it_lasts_for() {
    let worker = worker(&[
        (1_300, 1_800, HELD),
        (900, 1_300, Cell::Turning),
        (1_300, 1_800, Cell::Turning),
        (1_800, 2_000, Cell::Asleep),
    ]);
    let cells = worker.cells(SECOND, 10, ms(2_000));
    assert_eq!(cells[..3], [Cell::Turning; 3]);
    assert_eq!(cells[3..8], [HELD; 5]);
    assert_eq!(cells[8..], [Cell::Asleep; 2]);
}

#[test]
fn silence_is_silence_until_it_is_told() {
    let mut worker = worker(&[(1_000, 1_200, Cell::Turning)]);
    assert_eq!(worker.silence(ms(1_900)), None, "nobody looked");
    for n in 0..40 {
        worker.watched(ms(1_000 + n * 25), n * 20_000_000);
    }
    assert_eq!(worker.silence(ms(1_250)), None, "it has not been long");
    let cells = worker.cells(SECOND, 10, ms(1_900));
    assert_eq!(cells[..2], [Cell::Turning; 2]);
    assert_eq!(cells[2..9], [Cell::Silent; 7]);
    assert_eq!(cells[9], Cell::Blank);
    assert_eq!(worker.silence(ms(1_900)), Some(Duration::from_millis(700)));
    let whole = Window { extent: Extent::Load, ..SECOND };
    assert_eq!(worker.cells(whole, 10, ms(1_900))[2..], [Cell::Blank; 8], "it is over");
    worker.told(ms(1_200), ms(1_900), HELD);
    assert_eq!(worker.cells(SECOND, 10, ms(1_900))[2..9], [HELD; 7]);
}

#[test]
fn nobody_who_sleeps_or_never_spoke_is_silent() {
    let mut asleep = worker(&[(1_000, 1_200, Cell::Asleep)]);
    (0..40).for_each(|n| asleep.watched(ms(1_000 + n * 25), 7));
    assert_eq!(asleep.silence(ms(1_900)), None);
    assert_eq!(Worker::default().silence(ms(5_000)), None);
    assert_eq!(Worker::default().cells(SECOND, 3, ms(5_000)), [Cell::Blank; 3]);
}

#[test]
fn cells_stay_where_they_are_in_time() {
    let window = |now| Window::before(ms(now), Duration::from_secs(9), 30);
    assert_eq!(window(100_000), window(100_100));
    let later = window(100_300);
    assert_eq!(later.start.since(window(100_000).start), Duration::from_millis(300));
    assert_eq!(later.end.since(later.start), Duration::from_secs(9));
}

#[test]
fn times_outside_of_a_window_have_no_cell() {
    for (at, count, cell) in [
        (999, 10, None),
        (1_000, 10, Some(0)),
        (1_999, 10, Some(9)),
        (2_000, 10, None),
        (1_500, 0, None),
    ] {
        assert_eq!(SECOND.index(ms(at), count), cell, "{at} of {count}");
    }
}
