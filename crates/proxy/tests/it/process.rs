//! The process: what it says when it is ready, how it ends, what it refuses, and what a session costs
//! it in memory while nothing is asked of it; where a worker's time went, as it tells it: without a gap, and
//! in sum its totals.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::thread;

use records::{Bytes, Micros, Record, Role, Session, SessionEnd, Stretch};
use testkit::{listen, pick, say};

use crate::support::{Proxy, ask, bytes_origin, command, get, resident_kib};

#[test]
fn ready_tells_listeners_workers_and_buffers() {
    for (mode, listeners) in [(&["--reuseport"][..], 3), (&[], 1)] {
        let args = ["--workers", "3", "--rcvbuf", "40960", "--pin", "0"];
        let proxy = Proxy::start(bytes_origin(), &[&args, mode].concat());
        let ready = &proxy.ready;
        assert_eq!((ready.role, ready.worker_tids.len()), (Role::Proxy, 3));
        for tid in &ready.worker_tids {
            let task = format!("/proc/{}/task/{tid}/comm", proxy.id());
            let name = std::fs::read_to_string(task).expect("a worker is a thread");
            assert!(name.starts_with("proxy-worker"), "{name}");
        }
        assert_eq!(ready.effective.cpus, [0]);
        let rcvbuf = ready.effective.sockets.iter().find(|s| s.name == "upstream SO_RCVBUF");
        let rcvbuf = rcvbuf.expect("it is read back");
        assert_eq!((rcvbuf.requested, rcvbuf.effective), (Some(Bytes(40960)), Bytes(81920)));

        assert_eq!(ready.listeners.len(), listeners);
        let fds = std::fs::read_dir(format!("/proc/{}/fd", proxy.id())).expect("ours");
        let sockets: Vec<String> = fds
            .filter_map(|fd| std::fs::read_link(fd.ok()?.path()).ok())
            .map(|target| target.to_string_lossy().into_owned())
            .collect();
        for inode in &ready.listeners {
            let socket = format!("socket:[{inode}]");
            assert_eq!(sockets.iter().filter(|fd| **fd == socket).count(), 1, "{socket}");
        }
    }
}

#[test]
fn sigterm_ends_it_cleanly_with_its_totals() {
    let proxy = Proxy::start(bytes_origin(), &["--workers", "2"]);
    proxy.ask(&get("/bytes/100000"));
    proxy.await_session();
    let open = proxy.connect();
    proxy.await_accept();
    let rest = proxy.stop();
    let totals: Vec<_> = rest.iter().filter_map(pick!(WorkerTotals)).collect();
    assert_eq!(totals.len(), 2, "each worker tells its totals");
    assert_eq!(totals.iter().map(|totals| totals.sessions).sum::<u64>(), 2);
    let bytes: u64 = totals.iter().map(|totals| totals.bytes.0).sum();
    assert!((100_000..101_000).contains(&bytes), "{bytes} bytes: body and head");
    let counted: u64 = totals.iter().flat_map(|totals| &totals.step_lengths.0).sum();
    assert_eq!(counted, totals.iter().map(|totals| totals.steps).sum::<u64>());
    assert!(rest.iter().any(|record| matches!(record, Record::Session(s) if s.status == 0)));
    drop(open);
}

/// nginx would not hear of it before its step ends; who ends the mirror loses nothing of it.
#[test]
fn sigterm_ends_a_step_that_has_no_end_with_all_that_it_did() {
    let endless = testkit::origin(|mut stream, _| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n");
        while stream.write_all(&[0; 1 << 16]).is_ok() {}
    });
    // By so few bytes at a time that the origin is always ahead, and the client always empty.
    let proxy = Proxy::start(endless, &["--workers", "1", "--buffer", "16"]);
    let mut client = proxy.connect();
    client.write_all(&get("/")).expect("the proxy reads");
    let mut first = vec![0; 100_000];
    client.read_exact(&mut first).expect("it flows");
    let reader = thread::spawn(move || std::io::copy(&mut client, &mut std::io::sink()));
    let rest = proxy.stop();
    let session = rest.iter().find_map(pick!(Session)).expect("its session");
    assert_eq!((session.status, session.end), (200, SessionEnd::Shutdown));
    let totals = rest.iter().filter_map(pick!(WorkerTotals)).next_back().expect("its totals");
    assert_eq!(totals.steps, session.steps);
    assert!(totals.bytes >= session.body_bytes && session.body_bytes.0 > 90_000, "{session:?}");
    let holds = rest.iter().filter_map(pick!(Hold));
    let held: u64 = holds.map(|hold| hold.length_us().0).max().expect("a step that was a hold");
    assert!(Micros(held) == session.longest_step_us, "{held} {session:?}");
    let _ = reader.join();
}

#[test]
fn what_cannot_be_is_refused_with_what_to_do() {
    let (_taken, busy) = listen();
    let busy = busy.to_string();
    let first = Proxy::start(bytes_origin(), &["--reuseport", "--accept", "exclusive"]);
    let shared = first.addr().to_string();
    let inline = ["--access-log", "/nowhere/access.log", "--log-mode", "inline"];
    for (args, code, says) in [
        (&["--pin", "x"][..], 2, "is not a list of CPUs"),
        (&["--recording", "some"], 2, "full, minimal"),
        (&["--log-mode", "inline"], 2, "--access-log"),
        (&["--reuseport", "--accept", "herd"], 2, "--accept herd"),
        (&["--listen", &busy], 1, "choose another port"),
        (&["--listen", &busy, "--reuseport"], 1, &busy),
        // The port of another proxy that shares it is not shared by mistake.
        (&["--listen", &shared, "--reuseport"], 1, &shared),
        (&inline[..2], 1, "/nowhere/access.log"),
        (&inline, 1, "/nowhere/access.log"),
        (&["--buffering", "on", "--spool", "/nowhere/spool"], 1, "--spool"),
        (&["--buffering", "on", "--spool", "/proc"], 1, "/proc"),
        (&["--buffering", "on", "--spool", "/dev/null"], 1, "/dev/null"),
        (&["--worker-connections", "1000000", "--workers", "256"], 1, "ulimit -n"),
    ] {
        let message = say(&mut command(first.addr(), args)).refused(code);
        assert!(message.contains(says), "{args:?}: {message}");
    }
}

/// Connections that are accepted and then say nothing.
const IDLE: usize = 2_000;

#[test]
fn an_idle_session_costs_less_than_two_kib_of_our_memory() {
    net::role::raise_open_files();
    let proxy = Proxy::start(bytes_origin(), &["--workers", "1"]);
    let open = |count: usize| {
        let open: Vec<_> = (0..count).map(|_| proxy.connect()).collect();
        for _ in 0..count {
            proxy.await_accept();
        }
        open
    };
    // What is made once (rings, the slab's first room) is made by now.
    let first = open(100);
    let before = resident_kib(proxy.id());
    let idle = open(IDLE);
    let cost = (resident_kib(proxy.id()).saturating_sub(before)) * 1024 / IDLE as u64;
    println!("an idle session costs {cost} bytes of resident memory");
    assert!(cost < 2048, "{cost} bytes a session");
    drop((first, idle));
}

#[test]
fn stretches_leave_no_gap_and_sum_to_the_totals() {
    for args in [
        &["--workers", "4", "--reuseport"][..],
        &["--workers", "1", "--hold", "20us", "--read-policy", "bytes:64KiB"],
        &["--workers", "1", "--multi-accept", "--read-policy", "reads:1"],
    ] {
        let proxy = Proxy::start(bytes_origin(), args);
        let addr = proxy.addr();
        thread::scope(|scope| {
            for _ in 0..40 {
                scope.spawn(move || ask(addr, &get("/bytes/1000000")));
            }
        });
        let told = proxy.stop();
        let sessions: Vec<&Session> = told.iter().filter_map(pick!(Session)).collect();
        assert_eq!(sessions.iter().filter(|session| session.status == 200).count(), 40);
        let mut by_worker: BTreeMap<u32, Vec<&Stretch>> = BTreeMap::new();
        for stretch in told.iter().filter_map(pick!(Stretch)) {
            by_worker.entry(stretch.worker).or_default().push(stretch);
        }
        let totals = told.iter().filter_map(pick!(WorkerTotals));
        let totals: BTreeMap<u32, _> = totals.map(|totals| (totals.worker, totals)).collect();
        assert!(totals.keys().eq(by_worker.keys()), "every worker tells both");
        let serving = totals.values().filter(|totals| totals.sessions > 0).count();
        assert_eq!(serving > 1, args.contains(&"--reuseport"), "the kernel hashes connections");
        for (worker, stretches) in &by_worker {
            let (totals, last) = (totals[worker], stretches.last().map(|last| last.end_ns));
            assert!(stretches.windows(2).all(|pair| pair[0].end_ns == pair[1].start_ns), "a gap");
            let sum =
                |of: fn(&Stretch) -> u32| stretches.iter().map(|s| u64::from(of(s))).sum::<u64>();
            let sums = [sum(|s| s.turns), sum(|s| s.steps), sum(|s| s.accepts)];
            assert_eq!(sums, [totals.turns, totals.steps, totals.sessions], "worker {worker}");
            assert_eq!((last, totals.records_lost), (Some(totals.at_ns), 0), "up to its end");
        }
        let cpu: u64 = by_worker.values().flatten().map(|stretch| stretch.cpu_us.0).sum();
        assert!(cpu > 0, "40 MB are not relayed without a CPU");
        for hold in told.iter().filter_map(pick!(Hold)) {
            let ends = by_worker[&hold.worker].iter().any(|s| s.end_ns == hold.end_ns);
            assert!(ends, "no stretch ends with {hold:?}");
        }
    }
}
