use proptest::prelude::*;

use super::*;

const INTERVAL: Duration = Duration::from_millis(25);
const LONGEST: Duration = Duration::from_secs(1);

fn pace(start: Instant) -> Pace {
    Pace::new(INTERVAL, LONGEST, start)
}

#[test]
fn a_late_look_does_not_move_the_grid() {
    let start = Instant::now();
    let mut pace = pace(start);
    assert_eq!(pace.due(), start, "the first is due at once");
    pace.looked(start + Duration::from_millis(9), Duration::ZERO, 0);
    assert_eq!(pace.due(), start + INTERVAL);
    // Three intervals were missed: they are not made up for.
    pace.looked(start + Duration::from_millis(110), Duration::ZERO, 0);
    assert_eq!(pace.due(), start + 5 * INTERVAL);
}

#[test]
fn one_look_that_cost_much_is_no_reason_to_look_away() {
    let start = Instant::now();
    let mut pace = pace(start);
    pace.looked(start, Duration::from_millis(2), 0);
    assert!(pace.due() <= start + 4 * INTERVAL);
    for _ in 0..20 {
        pace.looked(pace.due(), Duration::from_micros(10), 0);
    }
    let due = pace.due();
    pace.looked(due, Duration::from_micros(10), 0);
    assert_eq!(pace.due(), due + INTERVAL);
}

proptest! {
    /// Whatever looking costs on this host.
    #[test]
    fn looking_takes_its_share_of_a_cpu_at_most(us in 0_u64..3_900, records in 0_usize..50) {
        let start = Instant::now();
        let mut pace = pace(start);
        let cost = Duration::from_micros(us) + FILING * u32::try_from(records).expect("few");
        // Until the mean has settled.
        for _ in 0..100 {
            pace.looked(pace.due(), Duration::from_micros(us), records);
        }
        let (from, mut spent) = (pace.due(), Duration::ZERO);
        for _ in 0..50 {
            pace.looked(pace.due(), Duration::from_micros(us), records);
            spent += cost;
        }
        let elapsed = pace.due() - from;
        prop_assert!(elapsed >= 50 * INTERVAL && elapsed <= 50 * (LONGEST + INTERVAL));
        let rounding = Duration::from_micros(1) * 50 * SHARE;
        prop_assert!(
            elapsed + rounding >= (spent * SHARE).min(50 * LONGEST),
            "{spent:?} in {elapsed:?}"
        );
    }
}
