//! Asking for a size must never give less than not asking.

use super::*;

#[test]
fn a_small_limit_is_left_to_the_tuning() {
    let usual = (last_number("212992\n"), last_number("4096\t16384\t4194304\n"));
    assert_eq!(choose(usual.0, usual.1), None);
}

#[test]
fn a_large_limit_is_used() {
    assert_eq!(choose(Some(Bytes::mib(4)), Some(Bytes::mib(4))), Some(Bytes::mib(4)));
}

#[test]
fn without_proc_it_asks() {
    assert_eq!(last_number("what?"), None);
    assert_eq!(choose(None, None), Some(Bytes::mib(4)));
}
