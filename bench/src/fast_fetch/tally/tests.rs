use records::{Bytes, LogTimes, Phase, SessionEnd};

use super::*;

const MS: u64 = 1_000_000;

/// Fetch `number` from port `10_000 + number`, started `number` times 100 ms after zero.
fn fetch(number: u16, total_ms: u64, outcome: Outcome) -> Fetch {
    let start_ns = MonoNs(u64::from(number) * 100 * MS);
    Fetch {
        fetch: number.into(),
        phase: Phase::Measure,
        intended_ns: start_ns,
        start_ns,
        client_port: Some(10_000 + number),
        connect_us: Some(Micros(50)),
        first_byte_us: None,
        total_us: Micros(total_ms * 1_000),
        response_us: Micros(total_ms * 1_000),
        bytes: Bytes(0),
        status: None,
        outcome,
    }
}

fn session(client_port: u16, accepted_ms: u64, status: u16) -> Session {
    Session {
        worker: 0,
        session: 0,
        client_port,
        upstream_port: None,
        request: String::new(),
        status,
        end: SessionEnd::ClientClosed,
        body_bytes: Bytes(0),
        accepted_ns: MonoNs(accepted_ms * MS),
        request_ns: None,
        connected_ns: None,
        head_ns: None,
        closed_ns: MonoNs(accepted_ms * MS),
        log: LogTimes::default(),
        steps: 1,
        longest_step_us: Micros(0),
        steps_us: Micros(0),
        stalled_upstream_us: Micros(0),
        stalled_client_us: Micros(0),
    }
}

fn tally(fetches: impl IntoIterator<Item = Fetch>) -> Tally {
    let mut tally = Tally::default();
    fetches.into_iter().for_each(|fetch| tally.fetch(fetch).unwrap());
    tally
}

#[test]
fn fetches_come_in_the_order_of_their_starts() {
    let mut in_order = InOrder::default();
    for number in [1, 2, 0, 4] {
        in_order.put(fetch(number, 1, Outcome::Ok));
    }
    let out: Vec<u64> = std::iter::from_fn(|| in_order.take()).map(|fetch| fetch.fetch).collect();
    assert_eq!(out, [0, 1, 2]); // 3 is under way: 4 waits for it.
}

#[test]
fn a_capped_fetch_counts_at_its_age() {
    let capped = fetch(3, 1_004, Outcome::TimeoutNoByte);
    let tally = tally((0..3).map(|number| fetch(number, 10, Outcome::Ok)).chain([capped]));
    let latency = tally.latency();
    assert_eq!((latency.min, latency.max), (10_000, 1_004_000));
    assert_eq!(latency.p99, 1_004_000);
    assert_eq!(latency.mean, (3 * 10_000 + 1_004_000) / 4);
    assert!(latency.p50.abs_diff(10_000) <= 10, "{latency:?}");
    assert_eq!(tally.outcomes().failed(), 1);
}

#[test]
fn a_fetch_that_ended_by_neither_is_no_measurement() {
    for outcome in Outcome::ALL {
        let counts = outcome == Outcome::Ok || outcome.is_censored();
        let taken = Tally::default().fetch(fetch(0, 0, outcome));
        assert_eq!(taken.is_ok(), counts, "{outcome}");
    }
}

#[test]
fn early_closes_are_those_that_the_proxy_recorded_for_a_fetch() {
    let mut tally = tally([
        fetch(0, 1_000, Outcome::TimeoutNoByte),
        fetch(1, 1_000, Outcome::TimeoutPartial),
        fetch(2, 20, Outcome::Ok),
    ]);
    assert_eq!((tally.early_closes(), tally.untold()), (0, 3));
    tally.session(&session(10_000, 2_500, 499)); // Accepted long after it had given up.
    tally.session(&session(10_001, 150, 200));
    tally.session(&session(10_002, 205, 200));
    tally.session(&session(20_000, 0, 499)); // A download that was dialled again.
    assert_eq!((tally.early_closes(), tally.untold()), (1, 0));
}

#[test]
fn a_port_that_was_used_before_or_again_is_not_mistaken() {
    let mut tally = tally([fetch(1, 20, Outcome::Ok)]);
    tally.session(&session(10_001, 50, 499)); // Before the fetch began.
    assert_eq!(tally.untold(), 1);
    tally.session(&session(10_001, 9_000, 499)); // Another's, after it.
    tally.session(&session(10_001, 101, 200));
    assert_eq!((tally.early_closes(), tally.untold()), (0, 0));
}

#[test]
fn who_was_never_connected_is_not_missed() {
    let unconnected = Fetch { connect_us: None, ..fetch(0, 1_000, Outcome::TimeoutConnect) };
    assert_eq!(tally([unconnected]).untold(), 0);
}

#[test]
fn starts_are_late_from_a_tenth_of_the_cap_on() {
    let late = |ms| {
        let on_time = fetch(5, 10, Outcome::Ok);
        Fetch { start_ns: on_time.intended_ns + std::time::Duration::from_millis(ms), ..on_time }
    };
    let tally = tally([late(0), late(100), late(101)]);
    assert_eq!(tally.late_starts(Micros(1_000_000)), 1);
}

#[test]
fn no_fetch_has_no_figures() {
    assert_eq!(Tally::default().latency(), LatencyUs::default());
    assert_eq!(Tally::default().outcomes().attempts(), 0);
}
