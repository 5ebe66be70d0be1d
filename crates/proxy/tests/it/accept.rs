//! `--accept`: every connection is accepted, whoever is woken for it, and the modes differ in who
//! that is.

use std::collections::BTreeMap;
use std::thread;

use records::WorkerTotals;
use testkit::{body, pick, skip};

use crate::support::{Proxy, ask, bytes_origin, get, status};

const MODES: [&str; 2] = ["herd", "exclusive"];

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

/// How often eight workers fell asleep (as often they were woken) while [`CONNECTIONS`] connections came one at a
/// time, and how often their poll named a listener at which nobody waited any more.
fn woken(mode: &str) -> [u64; 2] {
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
    [at_all, for_nothing]
}

fn sleeps(pid: u32, tid: i32) -> u64 {
    let path = format!("/proc/{pid}/task/{tid}/status");
    let status = std::fs::read_to_string(path).expect("a worker is a thread");
    let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
    line.and_then(|count| count.trim().parse().ok()).expect("a count")
}

#[test]
fn a_herd_wakes_for_nothing_and_one_alone_does_not() {
    if thread::available_parallelism().is_ok_and(|cpus| cpus.get() < 2) {
        return skip("on one CPU the first that is woken takes all");
    }
    // The kernel looks again before it lets a poll return: only who loses a race comes back for
    // nothing, more or less often as others use the CPUs.
    let mut sums = [[0; 2]; 2];
    for _ in 0..10 {
        for (sum, mode) in sums.iter_mut().zip(MODES) {
            sum.iter_mut().zip(woken(mode)).for_each(|(sum, more)| *sum += more);
        }
        if sums[0][1] >= 500 {
            break;
        }
    }
    println!("{MODES:?}: {sums:?}");
    let [[herd, herd_for_nothing], [exclusive, for_nothing]] = sums;
    assert!(herd_for_nothing > for_nothing && herd > 3 * exclusive);
}
