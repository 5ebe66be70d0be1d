//! A thread of this process, looked at.

use std::sync::Arc;
use std::sync::mpsc::channel;

use super::*;

#[test]
fn a_thread_that_computes_is_absent_and_one_that_polls_is_not() {
    let (tell, told) = channel();
    let go_on = Arc::new(AtomicBool::new(true));
    let threads: Vec<_> = [Doing::Ready, Doing::Polling]
        .into_iter()
        .map(|doing| {
            let (tell, go_on) = (tell.clone(), Arc::clone(&go_on));
            thread::spawn(move || {
                let tid = rustix::thread::gettid().as_raw_nonzero().get();
                tell.send((doing, u32::try_from(tid).expect("a tid"))).expect("the test waits");
                while go_on.load(Ordering::Relaxed) {
                    if doing == Doing::Polling {
                        let patience = rustix::event::Timespec { tv_sec: 0, tv_nsec: 300_000_000 };
                        let _ = rustix::event::poll(&mut [], Some(&patience));
                    }
                }
            })
        })
        .collect();
    let mut targets: Vec<Target> = Vec::new();
    for _ in 0..2 {
        let (doing, tid) = told.recv().expect("two threads");
        let worker = u32::from(doing == Doing::Polling);
        targets.push(Target { worker, pid: std::process::id(), tid });
    }
    let (records, seen) = channel();
    let take = Box::new(move |record| drop(records.send(record)));
    let mut sampler = start(&targets, Micros(10_000), take).expect("they run");
    thread::sleep(Duration::from_millis(200));
    sampler.end().expect("it looked");
    go_on.store(false, Ordering::Relaxed);
    for thread in threads {
        thread.join().expect("no panic");
    }
    let absences: Vec<_> = seen
        .iter()
        .map(|record| match record {
            Record::Absence(absence) => absence,
            other => panic!("a sampler does not tell {other:?}"),
        })
        .collect();
    let of_busy: u64 =
        absences.iter().filter(|told| told.worker == 0).map(|told| told.length_us().0).sum();
    assert!(of_busy >= 100_000, "{absences:?}");
    assert!(absences.iter().all(|told| told.worker == 0), "{absences:?}");
}
