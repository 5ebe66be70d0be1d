use proptest::prelude::*;

use super::*;

#[test]
fn the_largest_is_the_first_of_equals() {
    let mut shares = Shares::default();
    assert_eq!(shares.largest(), None);
    shares.add(Cause::Unexplained, 7);
    shares.add(Cause::Upstream, 5);
    assert_eq!(shares.largest(), Some(Cause::Unexplained));
    shares.add(Cause::Upstream, 2);
    assert_eq!(shares.largest(), Some(Cause::Upstream));
}

#[test]
fn a_share_that_is_none_is_nothing_or_all() {
    for (share, part) in [(f64::NAN, 0), (f64::INFINITY, 0), (-0.5, 0), (1.5, 10), (0.25, 2)] {
        assert_eq!(part_of(10, share), part, "{share}");
    }
    assert_eq!((part_of(u64::MAX, 1.0), part_of(0, 1.0)), (u64::MAX, 0));
}

proptest! {
    #[test]
    fn nothing_is_left_and_nothing_is_made(
        ns in prop_oneof![0..1_000_u64, any::<u64>(), Just(u64::MAX)],
        first in prop_oneof![0.0..1.0, any::<f64>()],
        second in prop_oneof![0.0..1.0, any::<f64>()],
    ) {
        let mut shares = Shares::default();
        let parts = [(Cause::Upstream, first), (Cause::Client, second)];
        shares.divide(ns, parts, Cause::OwnTransfer);
        prop_assert_eq!(shares.total(), Duration::from_nanos(ns));
    }
}
