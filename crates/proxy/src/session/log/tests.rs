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
fn short_gaps_and_gaps_before_the_head_are_no_stalls() {
    use StepEnd as E;
    let short = steps(Some(5), &[(0, 10, E::UpstreamEmpty), (1_009, 1_020, E::Closed)]);
    assert_eq!(short.stalled_upstream_us, Micros(0));
    // The head came in the second step, or never: what was before it was waiting for the head.
    for head in [Some(2_015), None] {
        let waiting = steps(
            head,
            &[
                (0, 10, E::UpstreamEmpty),
                (2_010, 2_020, E::UpstreamEmpty),
                (2_100, 2_110, E::DownstreamFull),
            ],
        );
        assert_eq!(waiting.stalled_upstream_us, Micros(0), "{head:?}");
        assert_eq!(waiting.stalled_client_us, Micros(0), "{head:?}");
    }
}

#[test]
fn stalls_add_up() {
    use StepEnd as E;
    let steps = steps(
        Some(5),
        &[
            (0, 10, E::UpstreamEmpty),
            (3_010, 3_020, E::DownstreamFull),
            (5_020, 5_030, E::UpstreamEmpty),
            (9_030, 9_040, E::Closed),
        ],
    );
    assert_eq!(steps.stalled_upstream_us, Micros(7_000));
    assert_eq!(steps.stalled_client_us, Micros(2_000));
    assert_eq!(steps.steps_us, Micros(40));
}
