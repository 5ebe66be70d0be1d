//! A server whose threads hand work to each other: what keeps its requests waiting is named, with whom its
//! threads ran for.

use analysis::Analysis;
use analysis::report::{Evidence, Explanation};
use records::{Cause, Holder, Phase, Record, RunRecords, Visibility};
use testkit::{is_root, script};

use crate::support::{Runs, in_turn, installed, say, summary};

/// Accepts on one thread, and serves on others what it hands them: `/hold` for 600 ms, asleep or computing,
/// anything else at once. There are two of them, or many and a lock that each request takes and `/hold`
/// keeps for longer than a fetch waits.
const POOL: &str = "\
#!/usr/bin/python3
import contextlib, os, queue, select, socket, sys, threading, time
listener = socket.create_server(('127.0.0.1', int(sys.argv[1])), backlog=64)
def compute():
    until = time.monotonic() + 0.6
    while time.monotonic() < until:
        pass
what, lock = os.environ['HOLD'], threading.Lock()
hold = compute if what == 'compute' else lambda: time.sleep(1.5 if what == 'lock' else 0.6)
def answer(stream):
    with stream:
        asked = stream.recv(65536)
        with lock if what == 'lock' else contextlib.nullcontext():
            if b'GET /hold' in asked:
                hold()
        stream.sendall(b'HTTP/1.1 200 OK\\r\\nContent-Length: 1\\r\\nConnection: close\\r\\n\\r\\nx')
work = queue.SimpleQueue()
def serve():
    while True:
        try:
            answer(work.get())
        except OSError:
            pass
for _ in range(200 if what == 'lock' else 2):
    threading.Thread(target=serve, daemon=True).start()
poll = select.epoll()
poll.register(listener, select.EPOLLIN)
while True:
    poll.poll()
    work.put(listener.accept()[0])
";

/// Runs it with two connections that hold its threads; `None`: not on this host.
fn trial(hold: &str) -> Option<RunRecords> {
    if !installed("python3") || !is_root("a trace") {
        return None;
    }
    let _turn = in_turn();
    let (runs, dir) = (Runs::new(), tempfile::tempdir().expect("a directory"));
    let command = format!("{} {{port}}", script(dir.path(), "pool.py", POOL).display());
    let hold = format!("HOLD={hold}");
    let own = ["--server", &command, "--env", &hold, "--fetch-path=/", "--slow-path=/hold"];
    let run =
        say(runs.trial(&own).args(["--slow=2", "--arrivals=20/s", "--trace=probe", "--json"]));
    let summary = summary(&run.ended_well());
    assert_eq!(summary.visibility, Visibility::Threads);
    Some(runs.records())
}

/// What led, and that little of the late time is unexplained; gives what shows it.
#[track_caller]
fn assert_led_by(records: &RunRecords, cause: Cause) -> Evidence {
    let mut story = Explanation::of(&Analysis::of(records));
    // What else runs on this host may have the CPU meanwhile; of the rest the cause must lead.
    story.causes.retain(|told| told.share.cause != Cause::OffCpuRunnable);
    assert_eq!(story.causes[0].share.cause, cause, "{:?}", story.causes);
    let unexplained = story.unexplained().map_or(0.0, |share| share.share_of_late_time);
    assert!(unexplained < 0.2, "{:?}", story.causes);
    story.causes.swap_remove(0).evidence.expect("what shows it")
}

#[test]
fn a_pool_of_threads_that_sleep_is_used_up() {
    let Some(records) = trial("sleep") else { return };
    let shown = assert_led_by(&records, Cause::PoolUsedUp);
    let Evidence::Threads { slept, .. } = shown else { panic!("{shown:?}") };
    assert!(slept.keys().any(|call| call.contains("nanosleep")), "{slept:?}");
    // The whole life of the process is told, without a gap, and sessions of it.
    let fetched = records.fetches.iter().filter(|fetch| fetch.phase == Phase::Idle).count();
    assert!(records.sessions.len() >= fetched, "{} of {fetched}", records.sessions.len());
    let ends = records.threads.windows(2).all(|pair| pair[0].end_ns == pair[1].start_ns);
    assert!(ends && !records.threads.is_empty(), "{:?}", records.threads.len());
    assert!(records.stretches.is_empty() && records.holds.is_empty(), "no step is one thread's");
    assert_eq!(Record::Threads(records.threads[0].clone()).file(), Some("steps.ndjson"));
}

#[test]
fn threads_that_compute_are_busy_with_those_they_compute_for() {
    let Some(records) = trial("compute") else { return };
    let shown = assert_led_by(&records, Cause::ThreadsBusy);
    let Evidence::Threads { served, .. } = shown else { panic!("{shown:?}") };
    let first = served.first().and_then(|ran| ran.holder);
    assert!(matches!(first, Some(Holder::Download(0 | 1))), "{served:?}");
}

/// A thread waits for the lock after its client has gone, and its session with it.
#[test]
fn threads_behind_a_lock_are_told_with_whom_they_serve() {
    let Some(records) = trial("lock") else { return };
    assert_led_by(&records, Cause::BehindLock);
    let of_fetches = |port: u16| records.fetches.iter().any(|of| of.client_port == Some(port));
    let waits = records.blocked.iter().filter(|sleep| sleep.call == "futex");
    let of_fetches = waits.filter(|sleep| sleep.client_port.is_some_and(of_fetches));
    let outlast = of_fetches.filter(|sleep| sleep.length_us() > records.manifest.arm.fetch.cap);
    assert!(outlast.count() > 0, "{:?}", records.blocked);
}
