//! The files' forms, as the manual pages have them.

use super::*;

#[test]
fn a_call_is_known_by_its_number() {
    let epoll = "232 0x6 0x55 0x200 0xffffffffffffffff 0x0 0x0 0x7ffc 0x7f1b\n";
    assert_eq!(by_syscall(epoll), Some(Doing::Polling));
    assert_eq!(by_syscall("18 0x6 0x55 0x200 0x0 0x0 0x0 0x7ffc 0x7f1b\n"), Some(Doing::Blocked));
    assert_eq!(by_syscall("running\n"), Some(Doing::Ready));
    // Outside of a call and not running: a page is being fetched.
    assert_eq!(by_syscall("-1 0x7ffc 0x7f1b\n"), Some(Doing::Blocked));
    assert_eq!(by_syscall(""), None);
}

#[test]
fn a_sleep_is_known_by_its_function() {
    assert_eq!(by_wchan("ep_poll"), Some(Doing::Polling));
    assert_eq!(by_wchan("poll_schedule_timeout.constprop.0"), Some(Doing::Polling));
    assert_eq!(by_wchan("folio_wait_bit_common"), Some(Doing::Blocked));
    assert_eq!(by_wchan("0"), None, "awake, or not for us to know");
}

#[test]
fn a_state_is_found_behind_any_name() {
    assert_eq!(by_stat("7 (a) S (x) R 1 7 7"), Some(Doing::Ready));
    assert_eq!(by_stat("7 (nginx) S 1 7 7"), Some(Doing::Polling));
    assert_eq!(by_stat("7 (nginx) D 1 7 7"), Some(Doing::Blocked));
    assert_eq!(by_stat("7 (nginx) Z 1 7 7"), None);
    assert_eq!(by_stat("garbage"), None);
}

#[test]
fn times_are_the_first_two_fields() {
    assert_eq!(parse_times("120 7 3\n"), Some(Times { ran: 120, waited: 7 }));
    assert_eq!(parse_times("120\n"), None);
}

#[test]
fn this_thread_is_running_while_it_looks() {
    let pid = std::process::id();
    let tid = u32::try_from(rustix::thread::gettid().as_raw_nonzero().get()).expect("a tid");
    let mut watched = Watched::open(&Target { worker: 0, pid, tid }).expect("it runs");
    // Its own `syscall` shows the read of it, in kernels that look at running threads.
    assert!(matches!(watched.look(), Some(Doing::Ready | Doing::Blocked)));
}
