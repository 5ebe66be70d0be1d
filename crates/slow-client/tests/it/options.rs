//! Bad options and hosts that cannot carry the load: what to do about it is said.

use testkit::{say, with_open_files};

use crate::support::command;

#[test]
fn bad_options_are_usage_errors() {
    for (args, says) in [
        ("", "TARGET"),
        ("localhost", "write it as 127.0.0.1:8000"),
        ("127.0.0.1:1 --slow many", "invalid"),
        ("127.0.0.1:1 --slow 100001", "100000"),
        ("127.0.0.1:1 --slow-size lots", "is not a size"),
        ("127.0.0.1:1 --slow-size 0", "1 byte or more"),
        ("127.0.0.1:1 --sink hole", "trunc, copy"),
        ("127.0.0.1:1 --read-rate 0", "a rate above zero"),
        ("127.0.0.1:1 --interval 0s", "1ms or more"),
        ("127.0.0.1:1 --duration soon", "is not a duration"),
        ("127.0.0.1:1 --gather 1s", "at most 20ms"),
        ("127.0.0.1:1 --hold", "--orders"),
    ] {
        let stderr = say(&mut command(args)).refused(2);
        assert!(stderr.contains(says), "{args:?}: {stderr}");
    }
}

#[test]
fn another_host_needs_consent() {
    let stderr = say(&mut command("192.0.2.1:80")).refused(2);
    assert!(stderr.contains("192.0.2.1:80 is not on this host: add --allow-remote"), "{stderr}");
}

#[test]
fn too_few_descriptors_are_named() {
    let crowd = command("127.0.0.1:1 --slow 1000");
    let stderr = say(&mut with_open_files(64, &crowd)).refused(1);
    assert!(stderr.contains("needs 1016 descriptors, the limit is 64"), "{stderr}");
    assert!(stderr.contains("ulimit -n"), "{stderr}");
}

#[test]
fn a_parent_that_has_gone_ends_it() {
    let stderr = say(&mut command("127.0.0.1:1 --parent-pid 2147483646")).refused(1);
    assert!(stderr.contains("the process that started this one has ended"), "{stderr}");
}
