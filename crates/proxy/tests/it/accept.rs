//! `--accept`: every connection is accepted, whoever is woken for it, and the modes differ in who
//! that is.

use std::collections::BTreeMap;
use std::thread;

use records::WorkerTotals;
use testkit::{body, pick, skip};

use crate::inline_log::{FullFifo, ask_without_close, inline};
use crate::support::{Proxy, ask, bytes_origin, get, status};

const MODES: [&str; 3] = ["herd", "exclusive", "mutex"];

/// The last totals of every worker.
fn totals(proxy: Proxy) -> Vec<WorkerTotals> {
    let last: BTreeMap<u32, WorkerTotals> = proxy
        .stop()
        .into_iter()
        .filter_map(pick!(WorkerTotals))
        .map(|totals| (totals.worker, totals))
        .collect();
    last.into_values().collect()
}

#[test]
fn every_connection_is_accepted_in_every_mode() {
    for mode in MODES {
        for workers in ["1", "2", "8"] {
            for batch in [&[][..], &["--multi-accept"]] {
                let args = [&["--workers", workers, "--accept", mode][..], batch].concat();
                let proxy = Proxy::start(bytes_origin(), &args);
                let addr = proxy.addr();
                thread::scope(|scope| {
                    for _ in 0..4 {
                        scope.spawn(move || {
                            for _ in 0..25 {
                                let answer = ask(addr, &get("/bytes/1000"));
                                assert_eq!((status(&answer), body(&answer).len()), (200, 1000));
                            }
                        });
                    }
                });
                let sessions: u64 = totals(proxy).iter().map(|totals| totals.sessions).sum();
                assert_eq!(sessions, 100, "{mode} {workers} {batch:?}");
            }
        }
    }
}

/// In one round of the herd's test.
const CONNECTIONS: u64 = 1_000;

/// What eight workers did for [`CONNECTIONS`] connections that came one at a time.
#[derive(Clone, Copy, Debug, Default)]
struct Woken {
    /// Times that they fell asleep: as often they were woken.
    at_all: u64,
    /// Times that their poll named a listener at which nobody waited any more.
    for_nothing: u64,
}

fn woken(mode: &str) -> Woken {
    let cpus = net::cpu::allowed().expect("CPUs");
    let pin = format!("{},{}", cpus[0], cpus[1]);
    let args = ["--workers", "8", "--accept", mode, "--pin", &pin];
    let proxy = Proxy::start(bytes_origin(), &args);
    for _ in 0..CONNECTIONS {
        // Soon done: the workers sleep when the next one comes.
        assert_eq!(status(&proxy.ask(b"?\r\n\r\n")), 400);
    }
    let at_all = proxy.ready.worker_tids.iter().map(|tid| sleeps(proxy.id(), *tid)).sum();
    let for_nothing = totals(proxy).iter().map(|totals| totals.empty_wakeups).sum();
    Woken { at_all, for_nothing }
}

fn sleeps(pid: u32, tid: i32) -> u64 {
    let path = format!("/proc/{pid}/task/{tid}/status");
    let status = std::fs::read_to_string(path).expect("a worker is a thread");
    let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
    line.and_then(|count| count.trim().parse().ok()).expect("a count")
}

#[test]
fn a_herd_wakes_for_nothing_and_the_others_do_not() {
    if thread::available_parallelism().is_ok_and(|cpus| cpus.get() < 2) {
        return skip("on one CPU the first that is woken takes all");
    }
    // The kernel looks again before it lets a poll return: only who loses a race comes back for
    // nothing, more or less often as others use the CPUs.
    let mut sums = [Woken::default(); 3];
    for _ in 0..10 {
        for (sum, mode) in sums.iter_mut().zip(MODES) {
            let round = woken(mode);
            sum.at_all += round.at_all;
            sum.for_nothing += round.for_nothing;
        }
        if sums[0].for_nothing >= 500 {
            break;
        }
    }
    println!("{MODES:?}: {sums:?}");
    let [herd, exclusive, mutex] = sums;
    assert!(herd.for_nothing > exclusive.for_nothing && exclusive.for_nothing >= mutex.for_nothing);
    assert!(herd.at_all > 3 * exclusive.at_all && herd.at_all > 3 * mutex.at_all);
}

/// Its log holds up the first worker for good; it has given the lock up before that.
#[test]
fn a_worker_that_is_stuck_leaves_the_accept_mutex_to_others() {
    let fifo = FullFifo::new();
    let args = inline(fifo.path(), &["--workers", "2", "--accept", "mutex"]);
    let proxy = Proxy::start(bytes_origin(), &args);
    ask_without_close(&proxy);
    let first = proxy.await_accept();
    proxy.await_session();
    ask_without_close(&proxy);
    assert_eq!(proxy.await_accept(), 1 - first);
}

/// As in nginx, one that is full and watches goes on accepting, and turns clients away, until the
/// others try for the lock: it sits out its own tries, so that none of them can fail.
#[test]
fn workers_that_are_full_leave_connections_to_others_when_they_come_for_the_lock() {
    const ROOM: u32 = 16;
    let room = ROOM.to_string();
    let args = ["--workers", "4", "--accept", "mutex", "--worker-connections", &room];
    let proxy = Proxy::start(bytes_origin(), &args);
    let (mut open, mut turned_away) = (Vec::new(), 0);
    let mut by_worker = BTreeMap::new();
    while by_worker.len() < 4 {
        let client = proxy.connect();
        let held = by_worker.entry(proxy.await_accept()).or_insert(0);
        if *held < ROOM {
            *held += 1;
            open.push(client);
        } else {
            turned_away += 1;
        }
    }
    println!("4 workers of {ROOM}: {by_worker:?}, {turned_away} turned away");
    let told: u64 = totals(proxy).iter().map(|totals| totals.accept_pauses).sum();
    assert_eq!(told, turned_away);
}
