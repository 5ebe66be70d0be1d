use super::*;

const TIMEOUT: Duration = Duration::from_secs(5);

#[test]
fn every_signal_makes_it_faster() {
    let now = Instant::now();
    let orderly = Pace::Orderly;
    assert_eq!(orderly.deadline(now, TIMEOUT), now + TIMEOUT);
    let hasty = orderly.hurried(now);
    assert_eq!(hasty, Pace::Hasty(now + HASTE));
    assert_eq!(hasty.deadline(now, TIMEOUT), now + HASTE);
    // Each further child has what is left of the same time.
    let later = now + HASTE / 2;
    assert_eq!(hasty.deadline(later, TIMEOUT), now + HASTE);
    let at_once = hasty.hurried(later);
    assert_eq!(at_once, Pace::Now);
    assert_eq!(at_once.deadline(later, TIMEOUT), later);
    assert_eq!(at_once.hurried(later), Pace::Now);
}

#[test]
fn in_order_everybody_has_the_time_that_it_may_take() {
    let now = Instant::now();
    let long = Duration::from_secs(45);
    assert_eq!(Pace::Orderly.deadline(now, long), now + long);
    assert_eq!(Pace::Orderly.hurried(now).deadline(now, long), now + HASTE);
}
