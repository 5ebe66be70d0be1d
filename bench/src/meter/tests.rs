use super::*;

fn interval(start: u64, end: u64, bytes: &[u64]) -> DownloadInterval {
    DownloadInterval {
        start_ns: MonoNs(start),
        end_ns: MonoNs(end),
        bytes: bytes.iter().copied().map(Bytes).collect(),
    }
}

fn ns(nanos: u64) -> Option<Duration> {
    Some(Duration::from_nanos(nanos))
}

#[test]
fn whole_intervals_add_up_over_all_downloads() {
    let mut meter = Meter::new(MonoNs(100), Bytes(60));
    assert_eq!(meter.take(&interval(100, 200, &[10, 20])), None);
    assert_eq!(meter.moved(), Bytes(30));
    assert_eq!(meter.take(&interval(200, 300, &[30, 0])), ns(200));
}

#[test]
fn both_edges_are_pro_rata() {
    // 75 of 100 ns of the first (30 of 40 bytes), then 10 of 20 bytes of the second.
    let mut meter = Meter::new(MonoNs(125), Bytes(40));
    assert_eq!(meter.take(&interval(100, 200, &[40])), None);
    assert_eq!(meter.moved(), Bytes(30));
    assert_eq!(meter.take(&interval(200, 300, &[20])), ns(125));
}

#[test]
fn start_and_goal_may_lie_in_one_interval() {
    let mut meter = Meter::new(MonoNs(110), Bytes(50));
    assert_eq!(meter.take(&interval(100, 200, &[100])), ns(50));
}

#[test]
fn what_moved_before_the_start_does_not_count() {
    let mut meter = Meter::new(MonoNs(200), Bytes(50));
    assert_eq!(meter.take(&interval(0, 100, &[1_000])), None);
    assert_eq!(meter.take(&interval(100, 200, &[1_000])), None);
    assert_eq!(meter.moved(), Bytes(0));
    assert_eq!(meter.take(&interval(200, 300, &[50])), ns(100));
}

#[test]
fn time_in_which_nothing_moved_counts() {
    let mut meter = Meter::new(MonoNs(0), Bytes(10));
    assert_eq!(meter.take(&interval(0, 100, &[0])), None);
    assert_eq!(meter.take(&interval(100, 200, &[20])), ns(150));
}
