//! When fetches start, and that none is lost.

use records::{Fetch, Outcome, Phase};
use testkit::{Process, Signal, is_gone, until};

use crate::support::{Run, Server, command, fetch, ok, wait_for_end};

#[test]
fn an_open_loop_keeps_its_schedule_though_every_fetch_times_out() {
    let server = Server::start(wait_for_end);
    // Each fetch outlives five arrivals.
    let args = ["--arrivals", "50/s", "--duration", "1s", "--cap", "100ms"];
    let mut run = Run::of(server.addr, &args);
    assert!(run.all_are(Outcome::TimeoutNoByte));
    assert_eq!(run.fetches.len(), 50);
    run.fetches.sort_by_key(|fetch| fetch.fetch);
    let first = run.fetches[0].intended_ns.0;
    for (index, fetch) in (0..).zip(&run.fetches) {
        assert_eq!(fetch.fetch, index, "no number is lost");
        assert_eq!(fetch.intended_ns.0, first + index * 20_000_000, "the schedule is the clock's");
        assert!(fetch.start_ns >= fetch.intended_ns);
    }
    // A loop that waits for its fetches could not start more than ten in a second.
    let last = run.fetches.last().map_or(0, |fetch| fetch.start_ns.0);
    assert!(last - first < 3_000_000_000, "fifty starts took {} ns", last - first);
}

#[test]
fn a_fast_open_loop_loses_nothing() {
    let server = Server::saying(ok(10));
    let args =
        ["--arrivals", "2000/s", "--duration", "200ms", "--fetch-size", "10", "--cap", "20s"];
    let run = Run::of(server.addr, &args);
    assert_eq!(run.fetches.len(), 400);
    assert!(run.all_are(Outcome::Ok), "{:?}", run.said);
}

#[test]
fn fetches_of_a_burst_are_under_way_together_and_intended_at_one_time() {
    const BURST: usize = 50;
    let server = Server::start(wait_for_end);
    let args = ["--arrivals", "5/s", "--burst", "50", "--duration", "600ms", "--cap", "1s"];
    let mut run = Run::of(server.addr, &args);
    assert!(run.all_are(Outcome::TimeoutNoByte), "{}", run.said);
    assert_eq!(run.fetches.len(), 3 * BURST);
    run.fetches.sort_by_key(|fetch| fetch.fetch);
    assert!((0..).zip(&run.fetches).all(|(number, fetch)| fetch.fetch == number));
    let first = run.fetches[0].intended_ns.0;
    for (arrival, burst) in (0..).zip(run.fetches.chunks(BURST)) {
        let intended = first + arrival * 200_000_000;
        assert!(burst.iter().all(|fetch| fetch.intended_ns.0 == intended));
        let last = burst.iter().map(|fetch| fetch.start_ns).max().expect("fifty");
        let ended = |fetch: &Fetch| fetch.start_ns + fetch.total_us.as_duration();
        assert!(burst.iter().all(|fetch| ended(fetch) > last), "none ends before all run");
    }
}

#[test]
fn a_closed_loop_starts_the_next_when_the_last_has_ended() {
    let server = Server::saying(ok(1000));
    let args =
        ["--arrivals", "closed", "--duration", "300ms", "--fetch-size", "1000", "--cap", "9s"];
    let run = Run::of(server.addr, &args);
    assert!(run.fetches.len() > 1 && run.all_are(Outcome::Ok));
    for (fetch, next) in run.fetches.iter().zip(&run.fetches[1..]) {
        assert_eq!(next.intended_ns, next.start_ns, "never late");
        assert!(next.start_ns >= fetch.start_ns + fetch.total_us.as_duration());
        assert_eq!(next.fetch, fetch.fetch + 1);
    }
}

#[test]
fn records_carry_their_phase() {
    let server = Server::saying(ok(1));
    for (args, phase) in [(&["--phase", "idle"][..], Phase::Idle), (&[], Phase::Measure)] {
        let mut all = vec!["--duration", "1ms", "--fetch-size", "1"];
        all.extend(args);
        assert!(Run::of(server.addr, &all).fetches.iter().all(|fetch| fetch.phase == phase));
    }
}

#[test]
fn a_signal_stops_the_arrivals_and_waits_for_the_rest() {
    let server = Server::start(wait_for_end);
    for signal in [Signal::TERM, Signal::INT] {
        let args = ["--arrivals", "20/s", "--duration", "1h", "--cap", "500ms"];
        let client = Process::start(&mut command(server.addr, &args));
        let first =
            client.await_record("the first that hits its cap", |record| Some(fetch(record)));
        // By now some ten others are under way.
        client.signal(signal);
        let run = Run::rest_of(client);
        assert_eq!(run.status.code(), Some(0), "{signal:?}: {}", run.said);
        let mut numbers: Vec<u64> = run.fetches.iter().map(|fetch| fetch.fetch).collect();
        numbers.push(first.fetch);
        numbers.sort_unstable();
        assert!(numbers.len() > 1, "others were under way");
        assert!(numbers.iter().copied().eq(0..numbers.len() as u64), "none is lost: {numbers:?}");
        assert!(run.all_are(Outcome::TimeoutNoByte));
    }
}

#[test]
fn a_second_signal_ends_it_at_once() {
    let server = Server::start(wait_for_end);
    let args = ["--arrivals", "1000/s", "--duration", "1h", "--cap", "1m"];
    let client = Process::start(&mut command(server.addr, &args));
    // Signals of one kind merge while they wait: send until it has seen two.
    until("its end", || {
        client.signal(Signal::TERM);
        is_gone(client.id()).then_some(())
    });
    let run = Run::rest_of(client);
    assert_eq!(run.status.code(), Some(1));
    assert!(run.said.contains("have no record"), "{}", run.said);
}
