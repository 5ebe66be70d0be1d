//! Asking for a size must never give less than not asking.

use super::*;

#[test]
fn a_small_limit_is_left_to_the_tuning_and_a_large_one_is_used() {
    for (wmem_max, tcp_wmem, asked) in [
        ("212992\n", "4096\t16384\t4194304\n", None),
        ("4194304", "4194304", Some(UNKNOWN)),
        // Without proc it asks.
        ("what?", "", Some(UNKNOWN)),
    ] {
        assert_eq!(choose(wmem_max, tcp_wmem), asked, "{wmem_max:?}");
    }
}
