//! What is read, and what is asked.

use super::*;

#[test]
fn numbers_are_read_as_they_are_printed() {
    assert_eq!(pair("31337 7"), Some((7, 31_337)));
    assert_eq!(pair("Attaching 1 probe..."), None);
    assert_eq!(version("bpftrace v0.17.0\n"), Some((0, 17)));
    assert_eq!(version("bpftrace v0.23.5-dirty"), Some((0, 23)));
    assert_eq!(version("nothing"), None);
}

#[test]
fn a_worker_is_known_by_the_hosts_numbers_or_not_at_all() {
    let target = Target { worker: 3, pid: 7, tid: 8 };
    assert_eq!(Numbers::Same.of_target(&target).ok(), Some(target));
    let learnt = Numbers::Learnt(BTreeMap::from([(7, 107), (8, 108)]));
    let known = Target { worker: 3, pid: 107, tid: 108 };
    assert_eq!(learnt.of_target(&target).ok(), Some(known));
    let other = Target { worker: 3, pid: 7, tid: 9 };
    assert!(matches!(learnt.of_target(&other), Err(TracerError::Gone { tid: 9, .. })));
}

#[test]
fn one_place_is_left() {
    let script = without_comments(SCRIPT);
    assert!(!script.contains("/*") && script.starts_with("\ntracepoint:"), "{script}");
    assert_eq!(script.matches("@@").count(), 2, "one place");
}

#[test]
fn where_numbers_are_the_hosts_nothing_is_learnt() {
    let first = fs::read_link("/proc/self/ns/pid").is_ok_and(|name| name.as_os_str() == FIRST);
    if first {
        assert_eq!(Numbers::learn(&[]), Ok(Numbers::Same));
    }
}
