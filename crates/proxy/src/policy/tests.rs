//! Each policy ends a step where its nginx did, and nowhere else.

use std::io;
use std::ops::ControlFlow::{self, Break, Continue};

use records::{Bytes, Micros, MonoNs, ReadPolicy, StepEnd};

use super::{ReadDone, ReadLimit, Stop};

const PAGE: usize = 4096;

fn limit(policy: ReadPolicy) -> ReadLimit {
    let mut limit = ReadLimit::new(policy);
    limit.begin_step(MonoNs(0));
    limit
}

/// A read of `got` bytes; `unread` is what FIONREAD sees if it is asked, which without it must not be.
fn read(limit: &mut ReadLimit, got: usize, unread: Option<u64>) -> ControlFlow<Stop> {
    let unread = || Ok(unread.expect("a policy that has a use for FIONREAD"));
    limit.after_read(ReadDone { got, offered: PAGE }, unread, || MonoNs(0))
}

#[test]
fn full_reads_end_no_step_and_a_short_one_does_by_its_policy() {
    for (policy, ends) in [
        // nginx before 1.11 read on after a short read.
        (ReadPolicy::Drain, Continue(())),
        (ReadPolicy::ShortRead, Break(Stop::Blocked(StepEnd::ShortRead))),
    ] {
        let mut limit = limit(policy);
        for _ in 0..100_000 {
            assert_eq!(read(&mut limit, PAGE, None), Continue(()));
        }
        assert_eq!(read(&mut limit, PAGE - 1, None), ends, "{policy}");
    }
}

/// Full reads, each with what FIONREAD sees if it is asked: `None` means that it must not be.
#[test]
fn fionread_reads_what_it_saw_and_no_more() {
    const EMPTY: ControlFlow<Stop> = Break(Stop::Blocked(StepEnd::UpstreamEmpty));
    const OVERTAKEN: ControlFlow<Stop> = Break(Stop::Blocked(StepEnd::Fionread));
    const ON: ControlFlow<Stop> = Continue(());
    const PAGES: u64 = PAGE as u64;
    for reads in [
        // The first asks: three pages are waiting. An exact hit is EAGAIN without a call.
        &[(Some(3 * PAGES), ON), (None, ON), (None, ON), (None, EMPTY)][..],
        &[(Some(0), EMPTY)],
        // More came than it saw: an event is due.
        &[(Some(100), ON), (None, OVERTAKEN)],
    ] {
        let mut limit = limit(ReadPolicy::Fionread);
        for (at, &(unread, goes)) in reads.iter().enumerate() {
            assert_eq!(read(&mut limit, PAGE, unread), goes, "read {at} of {reads:?}");
        }
    }
}

#[test]
fn fionread_keeps_its_count_over_steps_until_an_event_or_a_failure() {
    let mut limit = limit(ReadPolicy::Fionread);
    assert_eq!(read(&mut limit, PAGE, Some(2 * PAGE as u64)), Continue(()));
    limit.begin_step(MonoNs(1));
    assert_eq!(read(&mut limit, PAGE, None), Continue(()));
    limit.on_readable();
    let (failing, done) = (|| Err(io::Error::other("no")), ReadDone { got: PAGE, offered: PAGE });
    assert_eq!(limit.after_read(done, failing, || MonoNs(0)), Continue(()));
    assert_eq!(read(&mut limit, PAGE, Some(100)), Continue(()), "it asks again");
    assert_eq!(read(&mut limit, PAGE, None), Break(Stop::Blocked(StepEnd::Fionread)));
}

#[test]
fn quotas_yield_and_are_fresh_in_the_next_step() {
    for policy in [ReadPolicy::Bytes(Bytes::kib(12)), ReadPolicy::Reads(3)] {
        let mut limit = limit(policy);
        for _ in 0..5 {
            assert_eq!(read(&mut limit, PAGE, None), Continue(()));
            assert_eq!(read(&mut limit, PAGE, None), Continue(()));
            assert_eq!(read(&mut limit, PAGE, None), Break(Stop::Yield), "{policy}");
            limit.begin_step(MonoNs(0));
        }
    }
}

#[test]
fn a_time_quota_asks_the_clock() {
    let mut limit = ReadLimit::new(ReadPolicy::Time(Micros(2_000)));
    limit.begin_step(MonoNs(1_000_000));
    let done = ReadDone { got: PAGE, offered: PAGE };
    let unasked = || Ok(0);
    assert_eq!(limit.after_read(done, unasked, || MonoNs(2_999_999)), Continue(()));
    assert_eq!(limit.after_read(done, unasked, || MonoNs(3_000_000)), Break(Stop::Yield));
}
