use super::*;

fn ms(ms: u64) -> MonoNs {
    MonoNs(ms * 1_000_000)
}

fn worker(spans: &[(u64, u64, SpanKind)]) -> Worker {
    let mut worker = Worker::default();
    for &(start, end, kind) in spans {
        worker.told(Span { start: ms(start), end: ms(end), kind });
    }
    worker
}

const SECOND: Window =
    Window { start: MonoNs(1_000_000_000), end: MonoNs(2_000_000_000), extent: Extent::Lately };
const HOLD: SpanKind = SpanKind::Hold(Holder::Download(1));

#[test]
fn a_step_fills_the_cells_it_lasts_for() {
    let worker = worker(&[
        (900, 1_300, SpanKind::Turning),
        (1_300, 1_800, SpanKind::Turning),
        (1_300, 1_800, HOLD),
        (1_800, 2_000, SpanKind::Asleep),
    ]);
    let cells = worker.cells(SECOND, 10, ms(2_000));
    let held = Cell::Held(Holder::Download(1));
    assert_eq!(cells[..3], [Cell::Turning; 3]);
    assert_eq!(cells[3..8], [held; 5]);
    assert_eq!(cells[8..], [Cell::Asleep; 2]);
}

#[test]
fn many_steps_are_not_one() {
    let spans: Vec<_> = (0..10).map(|n| (1_000 + n * 10, 1_009 + n * 10, HOLD)).collect();
    let cells = worker(&spans).cells(SECOND, 10, ms(1_100));
    assert_eq!(cells[0], Cell::Steps(Holder::Download(1)));
}

#[test]
fn silence_is_silence_until_it_is_told() {
    let mut worker = worker(&[(1_000, 1_200, SpanKind::Turning)]);
    assert_eq!(worker.silence(ms(1_250)), None);
    assert_eq!(worker.silence(ms(1_900)), Some((Duration::from_millis(700), Silence::Unseen)));
    for n in 0..40 {
        worker.watched(ms(1_000 + n * 25), n * 20_000_000);
    }
    let cells = worker.cells(SECOND, 10, ms(1_900));
    assert_eq!(cells[..2], [Cell::Turning; 2]);
    assert_eq!(cells[2..9], [Cell::Silent(Silence::Busy); 7]);
    assert_eq!(cells[9], Cell::Blank);
    worker.told(Span { start: ms(1_200), end: ms(1_900), kind: HOLD });
    let cells = worker.cells(SECOND, 10, ms(1_900));
    assert_eq!(cells[2..9], [Cell::Held(Holder::Download(1)); 7]);
}

#[test]
fn a_worker_asleep_is_seen_to_be() {
    let mut worker = worker(&[(1_000, 1_200, SpanKind::Asleep)]);
    for n in 0..40 {
        worker.watched(ms(1_000 + n * 25), 7);
    }
    assert_eq!(worker.silence(ms(1_900)).map(|(_, seen)| seen), Some(Silence::Asleep));
}

#[test]
fn nobody_who_never_spoke_is_silent() {
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
    assert_eq!(SECOND.index(ms(999), 10), None);
    assert_eq!(SECOND.index(ms(1_000), 10), Some(0));
    assert_eq!(SECOND.index(ms(1_999), 10), Some(9));
    assert_eq!(SECOND.index(ms(2_000), 10), None);
    assert_eq!(SECOND.index(ms(1_500), 0), None);
}
