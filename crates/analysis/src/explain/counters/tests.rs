use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

/// 0 at 100, 10 at 200, 10 at 300, 40 at 400.
fn counter() -> Cumulative {
    let readings = [(400, 40), (100, 0), (300, 10), (200, 10)];
    Cumulative::new(readings.map(|(at, value)| (MonoNs(at), value)))
}

fn between(counter: &Cumulative, start: u64, end: u64) -> u64 {
    counter.between(MonoNs(start), MonoNs(end))
}

#[test]
fn it_grows_evenly_between_readings() {
    let counter = counter();
    assert_eq!(between(&counter, 100, 400), 40);
    assert_eq!(between(&counter, 150, 250), 5);
    assert_eq!(between(&counter, 310, 320), 3);
    assert_eq!(between(&counter, 320, 310), 0, "never backwards");
}

#[test]
fn it_stands_still_where_nothing_was_read() {
    let counter = counter();
    assert_eq!((between(&counter, 0, 100), between(&counter, 400, u64::MAX)), (0, 0));
    assert_eq!(between(&counter, 0, u64::MAX), 40);
}

#[test]
fn a_reading_below_an_earlier_one_is_lifted() {
    let counter = Cumulative::new([(1, 10), (2, 5), (3, 12)].map(|(at, n)| (MonoNs(at), n)));
    assert_eq!((between(&counter, 1, 2), between(&counter, 2, 3)), (0, 2));
}

#[test]
fn readings_before_and_after() {
    let counter = counter();
    let before = [0, 100, 199, 200, 399, 400, 500].map(|at| counter.before(MonoNs(at)));
    assert_eq!(before, [0, 0, 0, 10, 10, 40, 40]);
    let after = [0, 100, 101, 200, 201, 301, 400, 500].map(|at| counter.after(MonoNs(at)));
    assert_eq!(after, [0, 0, 10, 10, 10, 40, 40, 40]);
}

#[test]
fn time_outside_its_readings() {
    let unread = |start, end| counter().unread(MonoNs(start), MonoNs(end));
    assert_eq!((unread(100, 400), unread(150, 250)), (0, 0));
    assert_eq!((unread(50, 150), unread(350, 450), unread(0, 500)), (50, 50, 200));
    assert_eq!((unread(0, 90), unread(450, 470), unread(30, 20)), (90, 20, 0));
}

#[test]
fn one_reading_says_nothing() {
    assert!(counter().is_known());
    for readings in [vec![], vec![(MonoNs(7), 9)]] {
        let counter = Cumulative::new(readings);
        assert!(!counter.is_known());
        assert_eq!(between(&counter, 0, u64::MAX), 0);
        assert_eq!(counter.unread(MonoNs(0), MonoNs(10)), 10);
    }
}

fn edge() -> impl Strategy<Value = u64> {
    prop_oneof![0..20_u64, u64::MAX - 20..=u64::MAX, any::<u64>()]
}

proptest! {
    /// Whatever it was made of, its growth in two times is that in both together, and lies between
    /// what was read before and after.
    #[test]
    fn growth_adds_up(readings in vec((edge(), edge()), 0..8), cuts in [edge(), edge(), edge()]) {
        let mut cuts = cuts;
        cuts.sort_unstable();
        let [a, b, c] = cuts;
        let counter = Cumulative::new(readings.into_iter().map(|(at, n)| (MonoNs(at), n)));
        let whole = between(&counter, a, c);
        prop_assert_eq!(between(&counter, a, b) + between(&counter, b, c), whole);
        let (start, end) = (MonoNs(a), MonoNs(c));
        prop_assert!(whole <= counter.after(end) - counter.before(start));
        prop_assert!(counter.before(end).saturating_sub(counter.after(start)) <= whole);
        prop_assert!(counter.unread(start, end) <= c - a);
    }
}
