use super::*;

#[test]
fn every_signal_makes_it_faster() {
    let now = Instant::now();
    let orderly = Pace::Orderly;
    assert_eq!(orderly.deadline(now), now + PATIENCE);
    let hasty = orderly.hurried(now);
    assert_eq!(hasty, Pace::Hasty(now + HASTE));
    assert_eq!(hasty.deadline(now), now + HASTE);
    // Each further child has what is left of the same time.
    let later = now + HASTE / 2;
    assert_eq!(hasty.deadline(later), now + HASTE);
    let at_once = hasty.hurried(later);
    assert_eq!(at_once, Pace::Now);
    assert_eq!(at_once.deadline(later), later);
    assert_eq!(at_once.hurried(later), Pace::Now);
}
