//! The tracer inside a PID namespace, as in a container: its numbers are not the host's.

use std::process::{Command, Stdio};

use crate::support::{alone, can_trace, skip};

/// A command of its own PID namespace, which ends with it.
fn unshared(program: &str) -> Command {
    let mut command = Command::new("unshare");
    command.args(["--pid", "--fork", "--kill-child", "--mount-proc", "--", program]);
    command.stdin(Stdio::null());
    command
}

#[test]
fn holds_are_those_the_mirror_tells_in_a_namespace_of_its_own() {
    let _alone = alone();
    let test = "holds_are_those_the_mirror_tells_in_a_namespace_of_its_own";
    if !can_trace(test) {
        return;
    }
    let tried = unshared("true").output().expect("unshare runs");
    if !tried.status.success() {
        skip(test, &String::from_utf8_lossy(&tried.stderr));
        return;
    }
    // The test of the first namespace, once more inside.
    let own = std::env::current_exe().expect("this program");
    let inside = unshared(own.to_str().expect("a plain path"))
        .args(["--exact", "mirror::holds_are_those_the_mirror_tells", "--nocapture"])
        .output()
        .expect("unshare runs");
    let said = String::from_utf8_lossy(&inside.stdout);
    let complained = String::from_utf8_lossy(&inside.stderr);
    assert!(inside.status.success(), "{said}\n{complained}");
    assert!(said.contains("1 passed"), "it was run: {said}");
    assert!(said.contains("drain: ") && !said.contains("skipped"), "it could trace: {said}");
}
