//! When fetches start, and that none is lost.

use std::collections::BTreeSet;
use std::io::Write;
use std::net::TcpStream;
use std::os::unix::process::ExitStatusExt;
use std::sync::mpsc;

use records::{Fetch, Micros, Outcome};
use testkit::{Process, Signal, is_gone, until};

use crate::support::{Run, command, fetch, ok, saying, server, wait_for_end};

#[test]
fn an_open_loop_keeps_its_schedule_though_every_fetch_times_out() {
    let server = server(wait_for_end);
    for (args, arrivals, gap_ns, burst) in [
        // Each fetch outlives five arrivals.
        (["50/s", "--duration", "1s", "--cap", "100ms", "--burst", "1"], 50, 20_000_000, 1),
        // Fifty are intended at one time, and under way together.
        (["5/s", "--duration", "600ms", "--cap", "1s", "--burst", "50"], 3, 200_000_000, 50),
    ] {
        let mut run = Run::of(server, &[&["--arrivals"], &args[..]].concat());
        assert!(run.all_are(Outcome::TimeoutNoByte), "{}", run.said);
        assert_eq!(run.fetches.len(), arrivals * burst);
        run.fetches.sort_by_key(|fetch| fetch.fetch);
        let numbers = run.fetches.iter().map(|fetch| fetch.fetch);
        assert!(numbers.eq(0..run.fetches.len() as u64), "no number is lost");
        let first = run.fetches[0].intended_ns.0;
        for (arrival, together) in (0..).zip(run.fetches.chunks(burst)) {
            let last = together.iter().map(|fetch| fetch.start_ns).max();
            for fetch in together {
                let intended = first + arrival * gap_ns;
                assert_eq!(fetch.intended_ns.0, intended, "the schedule is the clock's");
                assert!(fetch.start_ns >= fetch.intended_ns);
                let end = fetch.start_ns + fetch.total_us.as_duration();
                assert!(Some(end) > last, "none ends before all run");
            }
        }
        // A loop that waits for its fetches could not start more than ten in a second.
        let last = run.fetches.last().map_or(0, |fetch| fetch.start_ns.0);
        assert!(last - first < 3_000_000_000, "the starts took {} ns", last - first);
    }
}

#[test]
fn a_closed_loop_starts_the_next_when_the_last_has_ended() {
    let args =
        ["--arrivals", "closed", "--duration", "60ms", "--fetch-size", "1000", "--cap", "9s"];
    let run = Run::of(saying(ok(1000)), &args);
    assert!(run.fetches.len() > 1 && run.all_are(Outcome::Ok));
    for (fetch, next) in run.fetches.iter().zip(&run.fetches[1..]) {
        assert_eq!(next.intended_ns, next.start_ns, "never late");
        assert!(next.start_ns >= fetch.start_ns + fetch.total_us.as_duration());
        assert_eq!(next.fetch, fetch.fetch + 1);
    }
}

#[test]
fn a_closed_loop_of_many_keeps_them_all_under_way() {
    let args = ["--arrivals", "closed:20", "--duration", "500ms", "--cap", "200ms"];
    let mut run = Run::of(server(wait_for_end), &args);
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
        (server(times(usize::MAX)), 1..=1),
        // It says nothing and closes after ten: no fetch fails by that.
        (server(times(9)), 2..=usize::MAX),
    ] {
        // Fewer than a closed loop tells one by one, also where a fetch takes 40 us.
        let run = Run::of(server, &[&args[..], &["--duration", "30ms"]].concat());
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
        let args = ["closed", "--keep-alive", "--fetch-size", "4", "--duration", "50ms"];
        let run = Run::of(saying(answer), &[&["--arrivals"], &args[..]].concat());
        assert!(run.all_are(Outcome::Ok), "{answer:?} {}", run.said);
        assert!(run.fetches.iter().all(|fetch| fetch.connect_us > Some(Micros(0))), "{answer:?}");
    }
}

#[test]
fn a_signal_stops_the_arrivals_and_waits_for_the_rest() {
    let server = server(wait_for_end);
    for signal in [Signal::TERM, Signal::INT] {
        let args = ["--arrivals", "20/s", "--duration", "1h", "--cap", "500ms"];
        let client = Process::start(&mut command(server, &args));
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
    let server = server(move |stream| {
        let _ = sender.send(());
        wait_for_end(stream);
    });
    let args = ["--arrivals", "1000/s", "--duration", "1h", "--cap", "1m"];
    let client = Process::start(&mut command(server, &args));
    asked.recv().expect("a fetch under way");
    // What comes soon after the first is that one, sent twice.
    until("its end", || {
        client.signal(Signal::TERM);
        is_gone(client.id()).then_some(())
    });
    assert_eq!(Run::rest_of(client).status.signal(), Some(Signal::TERM.as_raw()));
}
