//! Steps in sum; which gaps are stalls, and whose.

use super::*;

/// The record of steps (start, end, ended by), in microseconds, after a head that was complete at
/// `head`.
fn steps(head: Option<u64>, given: &[(u64, u64, StepEnd)]) -> records::Session {
    let at = |us: u64| MonoNs(us * 1_000);
    let mut log = Log::new(1, MonoNs(0));
    log.record.head_ns = head.map(at);
    for &(start, end, by) in given {
        log.count_step(at(start), at(end), by);
    }
    log.record(SessionEnd::Completed, MonoNs(0), 0)
}

#[test]
fn steps_are_summed_below_the_microsecond() {
    let mut log = Log::new(1, MonoNs(0));
    for start in 0..1_000 {
        let start = MonoNs(start * 2_000);
        log.count_step(start, MonoNs(start.0 + 1_700), StepEnd::UpstreamEmpty);
    }
    let told = log.record(SessionEnd::Completed, MonoNs(0), 0);
    assert_eq!(
        (told.steps, told.steps_us, told.longest_step_us),
        (1_000, Micros(1_700), Micros(1))
    );
}

#[test]
fn a_stall_is_told_by_what_its_first_step_lacked() {
    use StepEnd as E;
    for (by, upstream, client) in [
        (E::UpstreamEmpty, 1_000, 0),
        (E::ShortRead, 1_000, 0),
        (E::DownstreamFull, 0, 1_000),
        (E::Quota, 0, 0),
        (E::Fionread, 0, 0),
    ] {
        let steps = steps(Some(5), &[(0, 10, by), (1_010, 1_020, E::Closed)]);
        assert_eq!(
            (steps.stalled_upstream_us, steps.stalled_client_us),
            (Micros(upstream), Micros(client)),
            "{by:?}"
        );
    }
}

#[test]
fn stalls_add_up_and_short_gaps_and_gaps_before_the_head_are_none() {
    use StepEnd as E;
    let waits = [
        (0, 10, E::UpstreamEmpty),
        (3_010, 3_020, E::DownstreamFull),
        (5_020, 5_030, E::UpstreamEmpty),
        (6_029, 6_040, E::Closed),
    ];
    // A head that came in the third step, or never: what was before it was waiting for the head.
    for (head, upstream, client) in [(Some(5), 3_000, 2_000), (Some(5_025), 0, 0), (None, 0, 0)] {
        let steps = steps(head, &waits);
        let stalled = (steps.stalled_upstream_us, steps.stalled_client_us);
        assert_eq!(stalled, (Micros(upstream), Micros(client)), "{head:?}");
        assert_eq!(steps.steps_us, Micros(41));
    }
}
