//! Nothing is left, however a lab ends.

use std::fs;
use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};

use netlab::{LabPlan, Program};
use rustix::process::Signal;

use crate::support::{
    NETLAB, Nets, Owner, line, orphan_in, own_links, send, send_group, up, wait_for_the_end_of,
};

/// Ends the owner with `end` while a process is inside, and looks for what is left.
fn nothing_is_left_after(end: impl FnOnce(&mut Owner)) {
    let before = own_links();
    let Some(mut owner) = Owner::up() else { return };
    assert_eq!(own_links(), before, "a lab is not to be seen outside");
    let mut orphan = owner.orphan();
    let holders = [owner.holders(), vec![owner.switch()]].concat();
    assert!(owner.nets.inhabited());

    end(&mut owner);

    owner.process.wait().expect("our child");
    let ended = orphan.wait().expect("our child");
    assert_eq!(ended.signal(), Some(9), "the holder ends what is inside");
    wait_for_the_end_of(&holders);
    assert!(!owner.nets.inhabited());
    assert_eq!(own_links(), before);
}

#[test]
fn nothing_is_left_after_a_kill() {
    nothing_is_left_after(|owner| send(owner.process.id(), Signal::KILL));
}

#[test]
fn nothing_is_left_after_a_sigterm() {
    nothing_is_left_after(|owner| send(owner.process.id(), Signal::TERM));
}

#[test]
fn nothing_is_left_after_ctrl_c() {
    // As from a terminal: to all of the owner's process group.
    nothing_is_left_after(|owner| send_group(owner.process.id(), Signal::INT));
}

#[test]
fn nothing_is_left_after_a_hang_up() {
    nothing_is_left_after(|owner| send(owner.process.id(), Signal::HUP));
}

#[test]
fn nothing_is_left_after_the_end_and_the_owner_says_what_was_inside() {
    nothing_is_left_after(|owner| {
        drop(owner.process.stdin.take());
        assert!(owner.process.wait().expect("our child").success());
        let mut said = String::new();
        owner.process.stderr.take().expect("a pipe").read_to_string(&mut said).expect("text");
        assert!(said.starts_with("netlab: ended ") && said.contains(" on host a"), "{said:?}");
    });
}

#[test]
fn a_holder_stays_when_it_is_told_to_go_by_others_than_its_lab() {
    nothing_is_left_after(|owner| {
        let holder = owner.holders()[0];
        for signal in [Signal::HUP, Signal::INT, Signal::TERM] {
            send(holder, signal);
        }
        // A program that is started after the signals finds it there.
        let mut late = owner.orphan();
        drop(owner.process.stdin.take());
        assert!(owner.process.wait().expect("our child").success());
        assert_eq!(late.wait().expect("our child").signal(), Some(9));
    });
}

#[test]
fn nothing_is_left_when_a_holder_was_killed_first() {
    nothing_is_left_after(|owner| {
        let holder = owner.holders()[0];
        send(holder, Signal::KILL);
        wait_for_the_end_of(&[holder]);
        drop(owner.process.stdin.take());
        assert!(owner.process.wait().expect("our child").success());
    });
}

#[test]
fn a_lab_that_is_dropped_has_ended() {
    let before = own_links();
    let Some(lab) = up(&LabPlan::of(["a", "b"])) else { return };
    let nets = Nets::of(&lab.read_back().expect("it is up"));
    let holders: Vec<_> = lab.hosts().iter().map(netlab::Host::pid).collect();
    assert!(nets.inhabited());
    drop(lab);
    // No waiting here: a drop has waited.
    assert!(!nets.inhabited());
    let there = |pid: &u32| std::path::Path::new(&format!("/proc/{pid}")).exists();
    assert!(!holders.iter().any(there), "they are collected, too");
    assert_eq!(own_links(), before);
}

/// What the next start says, after it has cleaned up.
fn cleaned() -> String {
    let cleaned = Command::new(NETLAB).arg("clean").output().expect("our own program");
    let said = String::from_utf8_lossy(&cleaned.stderr).into_owned();
    assert!(cleaned.status.success(), "{said}");
    said
}

#[test]
fn the_next_start_ends_what_an_earlier_one_left_and_says_so() {
    let Some(mut owner) = Owner::up() else { return };
    let in_use = up(&LabPlan::of(["a", "b"])).expect("one could be built just now");

    // A holder that was stopped before its owner died: the kernel wakes it if the process that it is
    // handed to is of another session. Else it is found.
    let mut orphan = owner.orphan();
    let [stopped, other] = owner.holders()[..] else { panic!("two hosts") };
    send(stopped, Signal::STOP);
    while !state(stopped).contains("stopped") {
        std::thread::yield_now();
    }
    send(owner.process.id(), Signal::KILL);
    owner.process.wait().expect("our child");
    wait_for_the_end_of(&[other]);
    cleaned();
    wait_for_the_end_of(&[stopped]);
    assert_eq!(orphan.wait().expect("our child").signal(), Some(9));
    assert!(!owner.nets.inhabited());

    // One whose parent is not the owner that it was started for.
    let mut left = Command::new(NETLAB)
        .args([Program::HOLD, "--name", "lost", "--owner", "1"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("our own program");
    assert!(line(left.stdout.as_mut().expect("a pipe")).contains("ready"));
    let mut orphan = orphan_in(left.id());
    let said = cleaned();
    let expected = format!("ended holder {} of host lost, left by 1", left.id());
    assert!(said.contains(&expected), "{said}");
    assert!(said.contains(&format!("ended {} (", orphan.id())), "{said}");
    assert_eq!(left.wait().expect("our child").signal(), Some(9));
    assert_eq!(orphan.wait().expect("our child").signal(), Some(9));

    // Those of a lab that is up are let alone.
    for host in in_use.hosts() {
        assert!(!said.contains(&format!("holder {} ", host.pid())), "{said}");
    }
    in_use.read_back().expect("it is still up");
}

fn state(pid: u32) -> String {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("it is there");
    status.lines().find(|line| line.starts_with("State:")).unwrap_or_default().to_owned()
}
