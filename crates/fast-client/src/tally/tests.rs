use super::*;
use crate::fetch::tests::fetch;

/// Fetches that end within a second, after one in which as many did: the numbers of those that are told, and
/// what is counted of the rest.
fn second_of(arrivals: Arrivals, count: u64, outcome: Outcome) -> (Vec<u64>, Vec<FetchTotals>) {
    let mut tally = Tally::new(arrivals, MonoNs(0));
    let second = |tally: &mut Tally| -> Vec<u64> {
        (0..count).filter(|n| tally.record(fetch(outcome, 1_000 + n)).is_some()).collect()
    };
    second(&mut tally);
    tally.take_totals(MonoNs(1_000_000_000)).for_each(drop);
    let told = second(&mut tally);
    (told, tally.take_totals(MonoNs(2_000_000_000)).collect())
}

#[test]
fn an_open_loop_tells_every_fetch() {
    let (told, totals) = second_of(Arrivals::PerSecond(20_000.0), 20_000, Outcome::Ok);
    assert_eq!((told.len(), totals), (20_000, Vec::new()));
}

#[test]
fn a_closed_loop_tells_a_thousand_in_a_second_and_counts_the_rest() {
    for outcome in [Outcome::Ok, Outcome::Refused] {
        let (told, totals) = second_of(Arrivals::Closed(500), 20_000, outcome);
        assert_eq!(told.len(), 1_000);
        assert_eq!(told.iter().filter(|number| **number < 10_000).count(), 500, "spread evenly");
        let [totals] = totals.as_slice() else { panic!("{totals:?}") };
        assert_eq!((totals.outcome, totals.fetches()), (outcome, 19_000));
        assert!(totals.times_us.len() < 5_000, "{}", totals.times_us.len());
    }
}

#[test]
fn a_slow_closed_loop_tells_every_fetch() {
    let (told, totals) = second_of(Arrivals::Closed(1), 1_000, Outcome::Ok);
    assert_eq!((told.len(), totals), (1_000, Vec::new()));
}

#[test]
fn what_is_counted_is_told_once() {
    let mut tally = Tally::new(Arrivals::Closed(2), MonoNs(0));
    let told = (0..1_004).filter_map(|_| tally.record(fetch(Outcome::Ok, 7))).count();
    let counted: u64 = tally.take_totals(MonoNs(2)).map(|totals| totals.fetches()).sum();
    assert_eq!((told, counted, tally.take_totals(MonoNs(3)).count()), (1_000, 4, 0));
}

#[test]
fn a_time_is_told_to_a_thousandth_and_never_too_short() {
    for time in [0, 1, 999, 1_000, 1_025, 2_049, 123_456, 60_000_000, 3_600_000_000] {
        let Micros(rounded) = rounded(Micros(time));
        assert!((time..=time + time / 1_000).contains(&rounded), "{time} {rounded}");
    }
}
