//! The tracer inside a PID namespace, as in a container: its numbers are not the host's.

use std::process::Command;

use testkit::{PATIENCE, Running, in_turn, say, skip};

use crate::support::can_probe;

/// A command of its own PID namespace, which ends with it.
fn unshared(program: &str) -> Command {
    let mut command = Command::new("unshare");
    command.args(["--pid", "--fork", "--kill-child", "--mount-proc", "--", program]);
    command
}

#[test]
fn holds_are_those_the_mirror_tells_in_a_namespace_of_its_own() {
    let turn = in_turn();
    if !can_probe() {
        return;
    }
    let tried = say(&mut unshared("true"));
    if !tried.status.success() {
        return skip(tried.stderr);
    }
    // The test of the first namespace, once more inside.
    let own = std::env::current_exe().expect("this program");
    let mut inside = unshared(own.to_str().expect("a plain path"));
    inside.args(["--exact", "mirror::holds_are_those_the_mirror_tells", "--nocapture"]);
    turn.lend(&mut inside);
    let said = Running::start(&mut inside).finish_within(4 * PATIENCE).ended_well().all();
    assert!(said.contains("1 passed"), "it was run: {said}");
    assert!(said.contains("drain: ") && !said.contains("skipped"), "it could trace: {said}");
}
