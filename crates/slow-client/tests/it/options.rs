//! Bad options and hosts that cannot carry the load: what to do about it is said.

use std::process::Command;

fn run(program: &str, args: &[&str]) -> (Option<i32>, String) {
    let output = Command::new(program).args(args).output().expect("it starts");
    assert!(output.stdout.is_empty(), "stdout is for records");
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn bad_options_are_usage_errors() {
    for (args, says) in [
        ("", "TARGET"),
        ("localhost", "write it as 127.0.0.1:8000"),
        ("127.0.0.1:1 --slow many", "invalid"),
        ("127.0.0.1:1 --slow 100001", "100000"),
        ("127.0.0.1:1 --slow-size lots", "is not a size"),
        ("127.0.0.1:1 --slow-size 0", "1 byte or more"),
        ("127.0.0.1:1 --sink hole", "trunc or copy"),
        ("127.0.0.1:1 --read-rate 0", "a rate above zero"),
        ("127.0.0.1:1 --interval 0s", "1ms or more"),
        ("127.0.0.1:1 --duration soon", "is not a duration"),
        ("127.0.0.1:1 --gather 1s", "at most 20ms"),
        ("127.0.0.1:1 --hold", "--orders"),
    ] {
        let args: Vec<&str> = args.split_whitespace().collect();
        let (code, stderr) = run(env!("CARGO_BIN_EXE_slow-client"), &args);
        assert_eq!(code, Some(2), "{args:?}: {stderr}");
        assert!(stderr.contains(says), "{args:?}: {stderr}");
    }
}

#[test]
fn another_host_needs_consent() {
    let (code, stderr) = run(env!("CARGO_BIN_EXE_slow-client"), &["192.0.2.1:80"]);
    assert_eq!(code, Some(2), "a matter of usage: {stderr}");
    assert!(stderr.contains("192.0.2.1:80 is not on this host: add --allow-remote"), "{stderr}");
}

#[test]
fn too_few_descriptors_are_named() {
    let script = "ulimit -n 64 && exec \"$0\" 127.0.0.1:1 --slow 1000";
    let (code, stderr) = run("sh", &["-c", script, env!("CARGO_BIN_EXE_slow-client")]);
    assert_eq!(code, Some(1));
    assert!(stderr.contains("needs 1016 descriptors, the limit is 64"), "{stderr}");
    assert!(stderr.contains("ulimit -n"), "{stderr}");
}

#[test]
fn a_parent_that_has_gone_ends_it() {
    let args = ["127.0.0.1:1", "--parent-pid", "2147483646"];
    let (code, stderr) = run(env!("CARGO_BIN_EXE_slow-client"), &args);
    assert_eq!(code, Some(1));
    assert!(stderr.contains("the process that started this one has ended"), "{stderr}");
}
