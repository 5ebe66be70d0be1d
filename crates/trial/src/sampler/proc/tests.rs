use std::sync::mpsc;
use std::thread;

use records::Role;
use testkit::pick;

use super::*;

fn own_thread() -> i32 {
    rustix::thread::gettid().as_raw_nonzero().get()
}

/// What one look brings, of records that `only` takes: there must be no others.
fn looked<T>(at: &mut impl Look, only: impl Fn(Record) -> Option<T>) -> Vec<T> {
    let mut seen = Vec::new();
    at.look(&mut seen);
    seen.into_iter().map(|record| only(record).expect("another record")).collect()
}

fn scheds(threads: &mut Threads) -> Vec<SchedSample> {
    looked(threads, pick!(SchedSample))
}

#[test]
fn a_thread_that_ended_is_forgotten() {
    let ((tell, told), (go, end)) = (mpsc::channel(), mpsc::channel::<()>());
    let thread = thread::spawn(move || {
        tell.send(own_thread()).expect("somebody listens");
        let _ = end.recv();
    });
    let tid = told.recv().expect("its id");
    let mut threads = Threads::default();
    threads.add(Watched::Worker(0), tid);
    assert_eq!(scheds(&mut threads).len(), 1);
    drop(go);
    thread.join().expect("no panic");
    // It is joined somewhat before the kernel has taken it down.
    testkit::until("the end of a thread", || {
        scheds(&mut threads);
        threads.files.is_empty().then_some(())
    });
}

#[test]
fn a_new_process_of_a_role_takes_the_place_of_the_old() {
    let tid = own_thread();
    let mut threads = Threads::default();
    threads.add(Watched::Role(Role::Fast), tid);
    threads.add(Watched::Role(Role::Slow), tid);
    threads.add(Watched::Role(Role::Fast), tid);
    let who: Vec<_> = scheds(&mut threads).into_iter().map(|sample| sample.who).collect();
    assert_eq!(who, [Watched::Role(Role::Slow), Watched::Role(Role::Fast)]);
    threads.add(Watched::Role(Role::Fast), i32::MAX);
    assert_eq!(scheds(&mut threads).len(), 1, "nobody there");
}

#[test]
fn what_the_kernel_does_not_count_is_no_zero() {
    let times = |sum_exec_runtime, run_delay, pcount| {
        counted(Schedstat { sum_exec_runtime, run_delay, pcount })
    };
    assert_eq!(times(0, 0, 0), None);
    assert_eq!(times(0, 0, 1), Some((0, 0)));
    assert_eq!(times(7, 5, 2), Some((7, 5)));
}

#[test]
fn times_and_counters_of_a_thread_grow_with_its_work() {
    let tid = own_thread();
    let mut threads = Threads::default();
    threads.add(Watched::Worker(3), tid);
    // One that is not there leaves the others their numbers.
    let mut workers = Workers::new(&[i32::MAX, tid]);
    let mut look =
        || (scheds(&mut threads)[0], looked(&mut workers, pick!(WorkerSample)).remove(0));
    let (sched, sample) = look();
    assert_eq!((sched.who, sample.worker), (Watched::Worker(3), 1));
    let used = |sample: &WorkerSample| sample.user_ms + sample.system_ms;
    let (mut now, mut spun) = (look(), 0_u64);
    // Until the kernel has counted some of this very loop.
    while now.0.run_ns == sched.run_ns || used(&now.1) == used(&sample) {
        spun = std::hint::black_box(spun + 1);
        now = look();
    }
    assert!(now.0.at_ns > sched.at_ns && now.0.run_wait_ns >= sched.run_wait_ns);
    assert!(now.1.at_ns > sample.at_ns && now.1.run_ns >= sample.run_ns);
}

const STAT: &str = "\
cpu  10 20 30 40 50 60 70 80 0 0
cpu0 1 2 3 4 5 6 7 8 0 0
cpu2 1 2 3 4 5 6 7 18 9 9
cpu3 1 2 3
intr 4567 8 9
ctxt 123 4 5 6 7 8 9 10
";

#[test]
fn each_cpu_has_its_own_number_and_the_sum_has_none() {
    let found: Vec<_> = ticks(STAT).collect();
    // Idle time and waits for a disk are nobody's.
    assert_eq!(found, [(0, 1 + 2 + 3 + 6 + 7, 8), (2, 1 + 2 + 3 + 6 + 7, 18)]);
    assert_eq!(ticks("").count(), 0);
}
