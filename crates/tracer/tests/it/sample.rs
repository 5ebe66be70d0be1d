//! Looking at the mirror's workers, as a program: `--trace sample`.

use std::process::Command;
use std::time::Duration;

use records::Record;
use testkit::{Process, in_turn, pick};

use crate::support::{download, proxy, role};

#[test]
fn a_worker_that_is_held_is_absent() {
    let _turn = in_turn();
    let origin = role("origin", &[]);
    let mut proxy = proxy(&origin, &["--workers", "1", "--rcvbuf", "4MiB"]);
    let tid = proxy.ready.worker_tids[0].to_string();
    let mut command = Command::new(env!("CARGO_BIN_EXE_tracer"));
    command.args(["--worker", &tid, "--trace", "sample"]);
    command.args(["--parent-pid", &std::process::id().to_string()]);
    let mut tracer = Process::start(&mut command);
    download(proxy.addr(), 3, Duration::from_secs(2));
    let absences: Vec<_> = tracer
        .stop()
        .records()
        .into_iter()
        .map(|record| match record {
            Record::Absence(absence) => absence,
            other => panic!("who looks does not tell {other:?}"),
        })
        .collect();
    let longest_hold = proxy
        .stop()
        .records()
        .into_iter()
        .filter_map(pick!(Hold))
        .max_by_key(records::Hold::length_us)
        .expect("a worker that drains is held");
    let within = absences.iter().any(|told| {
        told.length_us().0 * 2 > longest_hold.length_us().0
            && told.start_ns < longest_hold.end_ns
            && longest_hold.start_ns < told.end_ns
    });
    assert!(within, "{longest_hold:?} is not among {absences:?}");
}
