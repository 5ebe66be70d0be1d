//! The forms of the files, as the manual pages have them; absences made of looks; a thread of this process,
//! looked at.

use std::sync::Arc;
use std::sync::mpsc::channel;

use proptest::prelude::*;

use super::*;

#[test]
fn what_a_thread_does_is_read_of_its_files() {
    let doing =
        |call: &str| by_syscall(&format!("{call} 0x6 0x55 0x200 0x0 0x0 0x0 0x7ffc 0x7f1b\n"));
    assert_eq!((doing("232"), doing("18")), (Doing::Polling, Doing::Blocked));
    assert_eq!(by_syscall("running\n"), Doing::Ready);
    // Outside of a call and not running: a page is being fetched.
    assert_eq!(by_syscall("-1 0x7ffc 0x7f1b\n"), Doing::Blocked);

    assert_eq!(by_stat("7 (a) S (x) R 1 7 7"), Some(Doing::Ready));
    assert_eq!(by_stat("7 (nginx) S 1 7 7"), Some(Doing::Polling));
    assert_eq!(by_stat("7 (nginx) D 1 7 7"), Some(Doing::Blocked));
    assert_eq!(by_stat("7 (nginx) Z 1 7 7"), None);
    assert_eq!(by_stat("garbage"), None);

    assert_eq!(parse_times("120 7 3\n"), Some(Times { ran: 120, waited: 7 }));
    assert_eq!(parse_times("120\n"), None);
}

const MS: u64 = 1_000_000;

fn at(ms: u64) -> MonoNs {
    MonoNs(ms * MS)
}

#[test]
fn a_worker_away_for_long_is_told_once_it_is_back_or_at_the_end() {
    let mut absences = Absences::of(3, Micros(20_000));
    for ms in 0..30 {
        let doing = if ms < 20 { Doing::Ready } else { Doing::Blocked };
        let told = absences.looked(at(ms), Some(doing), Times::default);
        assert_eq!(told, None);
    }
    let times = || Times { ran: 15 * MS, waited: 5 * MS };
    let told = absences.looked(at(30), Some(Doing::Polling), times).expect("30 ms");
    assert_eq!((told.start_ns, told.end_ns, told.worker), (at(0), at(30), 3));
    assert_eq!((told.looks, told.running, told.waiting, told.blocked), (30, 15, 5, 10));
    assert_eq!(absences.looked(at(31), Some(Doing::Polling), times), None);
    for ms in 40..61 {
        absences.looked(at(ms), Some(Doing::Ready), Times::default);
    }
    let told = absences.finish(at(61), Times::default).expect("21 ms");
    assert_eq!((told.looks, told.running), (21, 21));
    assert_eq!(absences.finish(at(62), Times::default), None);
}

proptest! {
    #[test]
    fn no_look_is_lost_and_none_is_told_twice(
        looks in proptest::collection::vec((0..3_u8, 1..40_u64), 1..200),
        ran in 0..u64::MAX,
        waited in 0..u64::MAX,
    ) {
        let mut absences = Absences::of(0, Micros(20_000));
        let mut now = 0;
        let mut told = Vec::new();
        for (look, passed) in looks {
            now += passed;
            let doing = match look {
                0 => Doing::Polling,
                1 => Doing::Ready,
                _ => Doing::Blocked,
            };
            told.extend(absences.looked(at(now), Some(doing), || Times { ran, waited }));
        }
        told.extend(absences.finish(at(now + 1), || Times { ran, waited }));
        for pair in told.windows(2) {
            prop_assert!(pair[0].end_ns <= pair[1].start_ns);
        }
        for absence in told {
            prop_assert!(absence.length_us() >= Micros(20_000));
            prop_assert_eq!(absence.looks, absence.running + absence.waiting + absence.blocked);
            prop_assert!(absence.looks > 0);
        }
    }
}

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
    let take = move |record| drop(records.send(record));
    let began = net::clock::now();
    let mut sampler = start(&targets, Micros(10_000), take).expect("they run");
    thread::sleep(Duration::from_millis(200));
    sampler.end().expect("it looked");
    let looked = began..=net::clock::now();
    go_on.store(false, Ordering::Relaxed);
    for thread in threads {
        thread.join().expect("no panic");
    }
    let absences: Option<Vec<Absence>> = seen.iter().map(testkit::pick!(Absence)).collect();
    let absences = absences.expect("a sampler tells nothing else");
    let of_busy: u64 =
        absences.iter().filter(|told| told.worker == 0).map(|told| told.length_us().0).sum();
    assert!(of_busy >= 100_000, "{absences:?}");
    let within = |told: &Absence| looked.contains(&told.start_ns) && looked.contains(&told.end_ns);
    assert!(absences.iter().all(|told| told.worker == 0 && within(told)), "{absences:?}");
}
