//! Looking at the mirror's workers: `--trace sample`.

use std::sync::mpsc::channel;
use std::time::Duration;

use probe::{Means, Tracer, targets};
use records::{Micros, Record};
use testkit::{in_turn, pick};

use crate::support::{download, proxy, role};

#[test]
fn a_worker_that_is_held_is_absent() {
    let _turn = in_turn();
    let origin = role("origin", &[]);
    let mut proxy = proxy(&origin, &["--workers", "1", "--rcvbuf", "4MiB"]);
    let tid = u32::try_from(proxy.ready.worker_tids[0]).expect("a tid");
    let workers = targets(&[tid]).expect("it runs");
    let (tell, seen) = channel();
    let take = move |record| drop(tell.send(record));
    let tracer = Tracer::attach(&workers, Means::Sample, Micros(10_000), take).expect("it runs");
    download(proxy.addr(), 3, Duration::from_secs(2));
    tracer.stop().expect("it looked");
    let absences: Vec<_> = seen
        .iter()
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
