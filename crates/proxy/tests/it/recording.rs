//! Where a worker's time went, as it tells it: without a gap, in sum its totals, and no more than
//! was asked for.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::sync::Mutex;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use records::{Hold, Micros, Record, Session, Stretch, WorkerTotals};
use testkit::origin;

use crate::support::{Proxy, ask, bytes_origin, get, pattern};

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
        &["--workers", "3", "--reuseport"][..],
        &["--workers", "2", "--hold", "20us", "--read-policy", "bytes:64KiB"],
        &["--workers", "1", "--multi-accept", "--read-policy", "reads:1"],
    ] {
        let proxy = Proxy::start(bytes_origin(), args);
        fetch_at_once(&proxy, 20, 2_000_000);
        let told = Told::by(proxy);
        assert_eq!(told.sessions.len(), 20);
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

#[test]
fn stalls_are_told_by_the_side_that_was_waited_for() {
    const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 8000000\r\n\r\n";
    let longer_than_a_stall = || thread::sleep(Duration::from_millis(50));
    let (tell, gate) = channel::<()>();
    let gate = Mutex::new(gate);
    let upstream = origin(move |mut stream, _| {
        let _ = stream.write_all(&[HEAD, &pattern(1_000)].concat());
        let _ = gate.lock().map(|gate| gate.recv());
        let _ = stream.write_all(&pattern(7_999_000));
        let _ = gate.lock().map(|gate| gate.recv());
    });
    let proxy =
        Proxy::start(upstream, &["--workers", "1", "--hold", "1us", "--listen-sndbuf", "16384"]);
    let mut client = proxy.connect();
    client.write_all(&get("/bytes/8000000")).expect("the proxy reads");

    // What the origin has sent is relayed: now the origin is waited for.
    let mut relayed = 0;
    proxy.await_record("all that the origin sent", |record| match record {
        Record::Hold(hold) => {
            relayed += hold.bytes.0;
            (relayed == HEAD.len() as u64 + 1_000).then_some(())
        }
        _ => None,
    });
    longer_than_a_stall();
    tell.send(()).expect("the origin waits");
    // Now the client is.
    proxy.await_full_client();
    longer_than_a_stall();
    let mut answer = Vec::new();
    client.read_to_end(&mut answer).expect("the whole answer");

    let session = proxy.await_session();
    assert!(session.stalled_upstream_us > Micros(0), "{session:?}");
    assert!(session.stalled_client_us > Micros(0), "{session:?}");
    let life = session.closed_ns.micros_since(session.accepted_ns);
    let parts = session.steps_us.0 + session.stalled_upstream_us.0 + session.stalled_client_us.0;
    assert!(parts <= life.0, "{session:?}");
    assert!(session.longest_step_us <= session.steps_us, "{session:?}");
    drop(tell);
}
