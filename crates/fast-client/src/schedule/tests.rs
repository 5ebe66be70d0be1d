//! An open loop keeps its schedule, a closed one follows its fetches.

use super::*;

const START: MonoNs = MonoNs(5_000_000_000);
const SECOND: Duration = Duration::from_secs(1);

fn schedule(arrivals: Arrivals, least_gap: Duration) -> Schedule {
    Schedule::new(arrivals, START, SECOND, least_gap)
}

fn all(mut schedule: Schedule, now: impl Fn(MonoNs) -> MonoNs) -> Vec<u64> {
    let mut intended = Vec::new();
    // Thousands run: an open loop does not care.
    while let Some(due) = schedule.due(now(START), 1_000) {
        assert_eq!(schedule.started(now(due)), Some(due));
        intended.push((due.0 - START.0) / 1_000_000);
    }
    intended
}

#[test]
fn open_starts_stand_on_the_clock_however_late_the_client_is() {
    let ten: Vec<u64> = (0..10).map(|i| i * 100).collect();
    let late = |due: MonoNs| due + Duration::from_secs(30);
    assert_eq!(all(schedule(Arrivals::PerSecond(10.0), Duration::ZERO), |due| due), ten);
    assert_eq!(all(schedule(Arrivals::PerSecond(10.0), Duration::ZERO), late), ten);
}

#[test]
fn odd_rates_do_not_drift() {
    let hour = SECOND * 3_600;
    let mut thirds = Schedule::new(Arrivals::PerSecond(3.0), START, hour, Duration::ZERO);
    let mut count = 0;
    while let Some(due) = thirds.due(START, 0) {
        thirds.started(due);
        count += 1;
    }
    assert!((10_800..=10_801).contains(&count), "{count}");
}

#[test]
fn a_least_gap_slows_both_loops() {
    let hundred = Duration::from_millis(100);
    assert_eq!(all(schedule(Arrivals::PerSecond(1_000.0), hundred), |due| due).len(), 10);
    let mut closed = schedule(Arrivals::Closed(1), hundred);
    closed.started(START);
    assert_eq!(closed.due(START + Duration::from_millis(7), 0), Some(START + hundred));
}

#[test]
fn a_closed_loop_waits_for_its_fetch_and_is_never_late() {
    let mut closed = schedule(Arrivals::Closed(1), Duration::ZERO);
    assert_eq!(closed.due(START, 0), Some(START));
    assert_eq!(closed.started(START), None, "intended is the real start");
    let later = START + Duration::from_millis(700);
    assert_eq!(closed.due(later, 1), None);
    assert!(!closed.is_over(later), "it only waits");
    assert_eq!(closed.due(later, 0), Some(later));
    assert!(closed.is_over(START + SECOND));
}
