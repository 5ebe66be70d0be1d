use syscalls::Sysno;

use super::*;

#[test]
fn calls_count_by_their_size_and_those_in_a_row_by_their_mean() {
    let mut calls = Calls::default();
    // One of 4096 bytes, three in a row, one that moved nothing, one large, and one of an odd size.
    for (moved, other, bytes) in
        [(1, 0, 4_096), (3, 1, 12_288), (0, 1, 0), (1, 0, 93_184), (1, 0, 100_001)]
    {
        calls.moved(0, (moved, other), bytes);
    }
    let total = &calls.0[&0];
    assert_eq!((total.count, total.bytes), (8, Bytes(209_569)));
    let sizes: Vec<(u64, u64)> = total.sizes.clone().into_iter().collect();
    assert_eq!(sizes, [(4_096, 4), (93_184, 1), (99_840, 1)]);
}

#[test]
fn a_thread_that_sleeps_by_a_timer_now_and_then_is_told_from_others() {
    let count = |count| CallTotal { count, ..CallTotal::default() };
    let call = |name| Call::of(Sysno::id(&name).cast_unsigned());
    let counts = CallCounts(vec![
        (1, call(Sysno::nanosleep), count(10)),
        (1, call(Sysno::futex), count(20)),
        (2, call(Sysno::clock_nanosleep), count(1)),
        (2, call(Sysno::futex), count(20)),
        (3, call(Sysno::futex), count(5)),
    ]);
    assert_eq!(counts.timed(), BTreeSet::from([1]));
}
