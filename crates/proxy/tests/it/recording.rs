//! Where a worker's time went, as it tells it: without a gap, in sum its totals, and no more than
//! was asked for.

use std::collections::BTreeMap;
use std::thread;

use records::{Hold, Record, Session, Stretch, WorkerTotals};

use crate::support::{Proxy, ask, bytes_origin, get};

/// What one proxy has told from its ready line to its end, by worker.
#[derive(Default)]
struct Told {
    stretches: BTreeMap<u32, Vec<Stretch>>,
    totals: BTreeMap<u32, WorkerTotals>,
    holds: Vec<Hold>,
    sessions: Vec<Session>,
}

impl Told {
    fn by(proxy: Proxy) -> Self {
        let mut told = Self::default();
        for record in proxy.stop() {
            match record {
                Record::Stretch(stretch) => {
                    told.stretches.entry(stretch.worker).or_default().push(stretch);
                }
                Record::WorkerTotals(totals) => {
                    told.totals.insert(totals.worker, totals);
                }
                Record::Hold(hold) => told.holds.push(hold),
                Record::Session(session) => told.sessions.push(session),
                Record::Accepted(_) | Record::LoopTurn(_) => {}
                other => panic!("a proxy does not tell {other:?}"),
            }
        }
        told
    }

    /// Every worker's stretches follow each other and sum to its totals.
    fn check_stretches(&self) {
        assert_eq!(
            self.stretches.keys().collect::<Vec<_>>(),
            self.totals.keys().collect::<Vec<_>>(),
            "every worker tells both"
        );
        for (worker, stretches) in &self.stretches {
            for pair in stretches.windows(2) {
                assert_eq!(pair[0].end_ns, pair[1].start_ns, "worker {worker}: a gap");
            }
            for stretch in stretches {
                assert!(stretch.start_ns <= stretch.end_ns, "{stretch:?}");
                assert!(stretch.poll_us <= stretch.length_us(), "{stretch:?}");
            }
            let totals = &self.totals[worker];
            let sum =
                |of: fn(&Stretch) -> u32| -> u64 { stretches.iter().map(of).map(u64::from).sum() };
            assert_eq!(sum(|s| s.turns), totals.turns, "worker {worker}: turns");
            assert_eq!(sum(|s| s.steps), totals.steps, "worker {worker}: steps");
            assert_eq!(sum(|s| s.accepts), totals.sessions, "worker {worker}: accepts");
            assert_eq!(stretches.last().map(|s| s.end_ns), Some(totals.at_ns), "up to its end");
        }
    }
}

/// Asks for `size` bytes on `count` connections at a time.
fn fetch_at_once(proxy: &Proxy, count: usize, size: usize) {
    let addr = proxy.addr();
    thread::scope(|scope| {
        for _ in 0..count {
            scope.spawn(move || ask(addr, &get(&format!("/bytes/{size}"))));
        }
    });
}

#[test]
fn stretches_leave_no_gap_and_sum_to_the_totals() {
    for args in [
        &["--workers", "4", "--reuseport"][..],
        &["--workers", "1", "--hold", "20us", "--read-policy", "bytes:64KiB"],
        &["--workers", "1", "--multi-accept", "--read-policy", "reads:1"],
    ] {
        let proxy = Proxy::start(bytes_origin(), args);
        fetch_at_once(&proxy, 40, 1_000_000);
        let told = Told::by(proxy);
        assert_eq!(told.sessions.len(), 40);
        assert!(told.sessions.iter().all(|session| session.status == 200));
        let serving = told.totals.values().filter(|totals| totals.sessions > 0).count();
        assert_eq!(serving > 1, args.contains(&"--reuseport"), "the kernel hashes connections");
        assert_eq!(told.totals.values().map(|totals| totals.records_lost).sum::<u64>(), 0);
        told.check_stretches();
        let cpu: u64 = told.stretches.values().flatten().map(|stretch| stretch.cpu_us.0).sum();
        assert!(cpu > 0, "40 MB are not relayed without a CPU");
        for hold in &told.holds {
            let ends = told.stretches[&hold.worker].iter().any(|s| s.end_ns == hold.end_ns);
            assert!(ends, "no stretch ends with {hold:?}");
        }
    }
}
