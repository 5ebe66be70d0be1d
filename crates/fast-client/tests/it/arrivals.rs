//! When fetches start, and that none is lost.

use std::collections::BTreeSet;
use std::io::Write;
use std::net::TcpStream;
use std::sync::mpsc;

use records::{Fetch, Micros, Outcome};
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
        ["--arrivals", "closed", "--duration", "60ms", "--fetch-size", "1000", "--cap", "9s"];
    let run = Run::of(server.addr, &args);
    assert!(run.fetches.len() > 1 && run.all_are(Outcome::Ok));
    for (fetch, next) in run.fetches.iter().zip(&run.fetches[1..]) {
        assert_eq!(next.intended_ns, next.start_ns, "never late");
        assert!(next.start_ns >= fetch.start_ns + fetch.total_us.as_duration());
        assert_eq!(next.fetch, fetch.fetch + 1);
    }
}

#[test]
fn a_closed_loop_of_many_keeps_them_all_under_way() {
    let server = Server::start(wait_for_end);
    let args = ["--arrivals", "closed:20", "--duration", "500ms", "--cap", "200ms"];
    let mut run = Run::of(server.addr, &args);
    assert!(run.all_are(Outcome::TimeoutNoByte), "{}", run.said);
    run.fetches.sort_by_key(|fetch| fetch.start_ns);
    let first = run.fetches[0].start_ns + run.fetches[0].total_us.as_duration();
    let together = run.fetches.iter().filter(|fetch| fetch.start_ns < first).count();
    assert_eq!(together, 20);
    assert!(run.fetches.len() > 40, "each is followed by the next: {}", run.fetches.len());
}

#[test]
fn connections_are_kept_where_the_server_keeps_them() {
    let times = |count: usize| {
        move |mut stream: TcpStream| {
            for _ in 0..count {
                // A client that has gone is no failure of the server's.
                let _ = stream.write_all(&ok(1000));
                if testkit::read_head(&stream).is_empty() {
                    return;
                }
            }
            let _ = stream.write_all(&ok(1000));
        }
    };
    let args = ["--arrivals", "closed", "--keep-alive", "--fetch-size", "1000", "--cap", "9s"];
    for (server, connections) in [
        (Server::start(times(usize::MAX)), 1..=1),
        // It says nothing and closes after ten: no fetch fails by that.
        (Server::start(times(9)), 2..=usize::MAX),
    ] {
        // Fewer than a closed loop tells one by one, also where a fetch takes 40 us.
        let run = Run::of(server.addr, &[&args[..], &["--duration", "30ms"]].concat());
        assert!(run.all_are(Outcome::Ok), "{}", run.said);
        let dialled = |fetch: &&Fetch| fetch.connect_us != Some(Micros(0));
        let dialled: Vec<_> = run.fetches.iter().filter(dialled).collect();
        assert!(connections.contains(&dialled.len()), "{}", dialled.len());
        assert!(run.fetches.len() > 2 * dialled.len(), "{}", run.fetches.len());
        let ports: BTreeSet<_> = run.fetches.iter().map(|fetch| fetch.client_port).collect();
        assert_eq!(ports.len(), dialled.len(), "a kept connection has its port");
    }
}

#[test]
fn a_connection_that_the_server_wants_closed_is_not_used_again() {
    let close = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: x, Close\r\n\r\nxxxx";
    let old = "HTTP/1.0 200 OK\r\nContent-Length: 4\r\n\r\nxxxx";
    let more = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nxxxxHTTP";
    for answer in [close, old, more] {
        let server = Server::hanging_after(answer);
        let args = ["--arrivals", "closed", "--keep-alive", "--fetch-size", "4"];
        let run = Run::of(server.addr, &[&args[..], &["--duration", "50ms"]].concat());
        assert!(run.all_are(Outcome::Ok), "{answer:?} {}", run.said);
        assert!(run.fetches.iter().all(|fetch| fetch.connect_us > Some(Micros(0))), "{answer:?}");
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
    let (sender, asked) = mpsc::channel();
    let server = Server::start(move |stream| {
        let _ = sender.send(());
        wait_for_end(stream);
    });
    let args = ["--arrivals", "1000/s", "--duration", "1h", "--cap", "1m"];
    let client = Process::start(&mut command(server.addr, &args));
    asked.recv().expect("a fetch under way");
    // Signals of one kind merge while they wait: send until it has seen two.
    until("its end", || {
        client.signal(Signal::TERM);
        is_gone(client.id()).then_some(())
    });
    let run = Run::rest_of(client);
    assert_eq!(run.status.code(), Some(1));
    assert!(run.said.contains("have no record"), "{}", run.said);
}
