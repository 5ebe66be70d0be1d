use super::*;

const SECOND: u64 = 1_000_000_000;

fn interval(start_s: u64, bytes: &[u64]) -> DownloadInterval {
    DownloadInterval {
        start_ns: MonoNs(start_s * SECOND),
        end_ns: MonoNs((start_s + 1) * SECOND),
        bytes: bytes.iter().copied().map(Bytes).collect(),
    }
}

fn of_two_workers() -> Standing {
    Standing::new(MonoNs(10 * SECOND), vec![Some(0), Some(1), Some(1), Some(0)])
}

#[test]
fn it_moves_when_every_download_has_received_something() {
    let mut standing = of_two_workers();
    assert_eq!(standing.take(&interval(10, &[1, 1, 0, 1])), Ok(()));
    assert!(!standing.all_move());
    assert_eq!(standing.take(&interval(11, &[0, 0, 5, 0])), Ok(()));
    assert!(standing.all_move());
    assert_eq!(standing.rate(), Some(BytesPerSec(4)));
}

#[test]
fn what_was_before_does_not_count() {
    let mut standing = of_two_workers();
    assert_eq!(standing.take(&interval(9, &[7, 7, 7, 7])), Ok(()));
    assert!(!standing.all_move());
    assert_eq!(standing.rate(), None);
}

#[test]
fn a_download_may_wait_for_long_behind_another_of_its_worker() {
    let mut standing = of_two_workers();
    for second in 10..60 {
        assert_eq!(standing.take(&interval(second, &[9, 9, 0, 0])), Ok(()));
    }
}

#[test]
fn a_worker_whose_downloads_all_stand_still_is_an_error() {
    let mut standing = of_two_workers();
    assert_eq!(standing.take(&interval(10, &[9, 0, 0, 9])), Ok(()));
    assert!(!standing.all_workers_move());
    for second in 11..14 {
        assert_eq!(standing.take(&interval(second, &[9, 0, 0, 9])), Ok(()));
    }
    assert_eq!(standing.longest_standstill(), Duration::from_secs(4));
    assert_eq!(standing.take(&interval(14, &[9, 0, 0, 9])), Err(StandsStill::Worker(1)));
}

#[test]
fn a_load_that_stops_after_a_good_start_is_an_error_too() {
    let mut standing = of_two_workers();
    assert_eq!(standing.take(&interval(10, &[9, 9, 9, 9])), Ok(()));
    let stopped = (11..60).find_map(|second| standing.take(&interval(second, &[0; 4])).err());
    assert_eq!(stopped, Some(StandsStill::Worker(0)));
}

#[test]
fn downloads_of_unknown_workers_are_watched_as_well() {
    let mut standing = Standing::new(MonoNs(0), vec![Some(0), None]);
    let stopped = (0..60).find_map(|second| standing.take(&interval(second, &[9, 0])).err());
    assert_eq!(stopped, Some(StandsStill::Unknown));
}

#[test]
fn a_slow_client_that_says_nothing_is_no_load() {
    let mut standing = of_two_workers();
    assert_eq!(standing.take(&interval(10, &[9, 0, 9, 0])), Ok(()));
    assert!(standing.all_workers_move());
    assert_eq!(standing.heard(MonoNs(14 * SECOND)), Ok(()));
    assert_eq!(standing.longest_standstill(), Duration::from_secs(3));
    assert_eq!(standing.heard(MonoNs(16 * SECOND)), Err(StandsStill::Silent));
}
