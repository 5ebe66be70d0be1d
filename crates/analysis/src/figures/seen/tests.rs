use records::{Absence, Blocked, CallTotal, CallTotals, Micros, MonoNs, RunRecords};

use super::{absences, blocked, calls};
use crate::window::Window;
use testkit::fixture::Run;

fn run() -> RunRecords {
    Run::new().records
}

fn ms(ms: u64) -> MonoNs {
    MonoNs(ms * 1_000_000)
}

fn totals(worker: u32, at: u64, count: u64) -> CallTotals {
    let call = CallTotal { count, time_us: Micros(count * 10), ..CallTotal::default() };
    CallTotals { worker, at_ns: ms(at), calls: [("readv".to_owned(), call)].into() }
}

#[test]
fn calls_are_the_last_of_each_worker_together() {
    let mut run = run();
    run.calls = vec![totals(0, 2, 50), totals(0, 1, 20), totals(1, 1, 5)];
    let all = calls(&run);
    assert_eq!(all["readv"].count, 55);
    assert_eq!(all["readv"].time_us, Micros(550));
}

#[test]
fn sleeps_outside_the_load_do_not_count() {
    let mut run = run();
    let sleep = |start, end, call: &str| Blocked {
        worker: 0,
        start_ns: ms(start),
        end_ns: ms(end),
        call: call.to_owned(),
        client_port: None,
    };
    run.blocked = vec![
        sleep(1, 8, "close"),
        sleep(20, 60, "pwritev"),
        sleep(70, 80, "pwritev"),
        sleep(90, 99, ""),
    ];
    let by_call = blocked(&run, Window::new(ms(10), ms(100)));
    assert_eq!(by_call.len(), 2);
    assert_eq!(by_call["pwritev"].sleeps, 2);
    assert_eq!(by_call["pwritev"].time_us, Micros(50_000));
    assert_eq!(by_call["pwritev"].longest_us, Micros(40_000));
    assert_eq!(by_call["a page fault"].sleeps, 1);
}

#[test]
fn the_longest_absence_has_its_worker() {
    let mut run = run();
    assert_eq!(absences(&run, Window::new(ms(0), ms(9))), None);
    let absence = |worker, start, end, running| Absence {
        worker,
        start_ns: ms(start),
        end_ns: ms(end),
        looks: running + 1,
        running,
        waiting: 1,
        blocked: 0,
    };
    run.absences = vec![absence(0, 0, 30, 29), absence(1, 5, 1_005, 900)];
    let all = absences(&run, Window::new(ms(0), ms(2_000))).unwrap();
    assert_eq!((all.absences, all.longest_worker), (2, 1));
    assert_eq!((all.longest_us, all.time_us), (Micros(1_000_000), Micros(1_030_000)));
    assert_eq!((all.looks, all.running, all.waiting), (931, 929, 2));
}
