use super::*;

fn looked(workers: &mut Workers) -> Vec<WorkerSample> {
    let mut seen = Vec::new();
    workers.look(&mut seen);
    let sample = |record| match record {
        Record::WorkerSample(sample) => sample,
        other => panic!("{other:?}"),
    };
    seen.into_iter().map(sample).collect()
}

#[test]
fn counters_of_a_thread_grow_with_its_work() {
    let tid = rustix::thread::gettid().as_raw_nonzero().get();
    let mut workers = Workers::new(&[tid]);
    let first = looked(&mut workers);
    assert_eq!(first.len(), 1);
    let (mut last, mut spun) = (first.clone(), 0_u64);
    // Until the kernel has counted some of this very loop.
    while last[0].user_ms + last[0].system_ms == first[0].user_ms + first[0].system_ms {
        spun = std::hint::black_box(spun + 1);
        last = looked(&mut workers);
    }
    assert!(last[0].at_ns > first[0].at_ns);
    assert!(last[0].run_ns >= first[0].run_ns);
}

#[test]
fn a_thread_that_is_not_there_leaves_the_others_their_numbers() {
    let tid = rustix::thread::gettid().as_raw_nonzero().get();
    let mut workers = Workers::new(&[i32::MAX, tid]);
    let who: Vec<_> = looked(&mut workers).into_iter().map(|sample| sample.worker).collect();
    assert_eq!(who, [1]);
}
