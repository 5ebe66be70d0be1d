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
fn it_grows_evenly_between_readings_and_stands_still_outside() {
    for (start, end, grown, unread) in [
        (100, 400, 40, 0),
        (150, 250, 5, 0),
        (310, 320, 3, 0),
        (50, 150, 5, 50),
        (350, 450, 15, 50),
        (0, 500, 40, 200),
        (0, 90, 0, 90),
        (450, 470, 0, 20),
        // Never backwards.
        (320, 310, 0, 0),
        (30, 20, 0, 0),
    ] {
        assert_eq!(between(&counter(), start, end), grown, "{start} to {end}");
        assert_eq!(counter().unread(MonoNs(start), MonoNs(end)), unread, "{start} to {end}");
    }
    let lifted = Cumulative::new([(1, 10), (2, 5), (3, 12)].map(|(at, n)| (MonoNs(at), n)));
    assert_eq!((between(&lifted, 1, 2), between(&lifted, 2, 3)), (0, 2), "5 is below 10");
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
