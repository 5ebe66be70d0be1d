use std::sync::mpsc;
use std::thread;

use records::Role;

use super::*;

fn own_thread() -> i32 {
    rustix::thread::gettid().as_raw_nonzero().get()
}

fn looked(threads: &mut Threads) -> Vec<SchedSample> {
    let mut seen = Vec::new();
    threads.look(&mut seen);
    let sample = |record| match record {
        Record::SchedSample(sample) => sample,
        other => panic!("{other:?}"),
    };
    seen.into_iter().map(sample).collect()
}

#[test]
fn time_on_a_cpu_grows_with_work() {
    let tid = own_thread();
    let mut threads = Threads::default();
    threads.add(Watched::Worker(3), tid);
    let first = looked(&mut threads)[0];
    assert_eq!(first.who, Watched::Worker(3));
    let (mut last, mut spun) = (first, 0_u64);
    // Until the kernel has counted some of this very loop.
    while last.run_ns == first.run_ns {
        spun = std::hint::black_box(spun + 1);
        last = looked(&mut threads)[0];
    }
    assert!(last.at_ns > first.at_ns && last.run_ns > first.run_ns);
    assert!(last.run_wait_ns >= first.run_wait_ns);
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
    assert_eq!(looked(&mut threads).len(), 1);
    drop(go);
    thread.join().expect("no panic");
    // It is joined somewhat before the kernel has taken it down.
    testkit::until("the end of a thread", || {
        looked(&mut threads);
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
    let who: Vec<_> = looked(&mut threads).into_iter().map(|sample| sample.who).collect();
    assert_eq!(who, [Watched::Role(Role::Slow), Watched::Role(Role::Fast)]);
    threads.add(Watched::Role(Role::Fast), i32::MAX);
    assert_eq!(looked(&mut threads).len(), 1, "nobody there");
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
