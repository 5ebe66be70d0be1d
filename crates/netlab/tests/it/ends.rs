//! Nothing is left, however a lab ends.

use std::os::unix::process::ExitStatusExt;

use netlab::LabPlan;
use testkit::{Signal, await_gone};

use crate::support::{Nets, Owner, orphan_in, own_links, send_group, up};

/// Ends the owner with `end` while a process is inside, and looks for what is left.
fn nothing_is_left_after(end: impl FnOnce(&mut Owner)) {
    let before = own_links();
    let Some(mut owner) = Owner::up() else { return };
    assert_eq!(own_links(), before, "a lab is not to be seen outside");
    let mut orphan = owner.orphan();
    assert!(owner.nets.inhabited());

    end(&mut owner);

    await_gone([owner.process.id()]);
    assert_eq!(orphan.finish().status.signal(), Some(9), "a lab ends what is inside");
    assert!(!owner.nets.inhabited());
    assert_eq!(own_links(), before);
}

/// Sends the owner a signal and looks that it dies by it, so that whoever waits for it is told.
fn nothing_is_left_after_a(signal: Signal, send: impl FnOnce(&Owner)) {
    nothing_is_left_after(|owner| {
        send(owner);
        assert_eq!(owner.process.finish().status.signal(), Some(signal.as_raw()));
    });
}

#[test]
fn nothing_is_left_after_a_sigterm() {
    nothing_is_left_after_a(Signal::TERM, |owner| owner.process.signal(Signal::TERM));
}

#[test]
fn nothing_is_left_after_ctrl_c() {
    nothing_is_left_after_a(Signal::INT, |owner| send_group(owner.process.id(), Signal::INT));
}

#[test]
fn nothing_is_left_after_a_hang_up() {
    nothing_is_left_after_a(Signal::HUP, |owner| owner.process.signal(Signal::HUP));
}

#[test]
fn nothing_is_left_after_the_end_and_the_owner_says_what_was_inside() {
    nothing_is_left_after(|owner| {
        owner.process.stdin = None;
        let said = owner.process.finish().ended_well().stderr;
        assert!(said.starts_with("netlab: ended ") && said.contains(" on host a"), "{said:?}");
    });
}

#[test]
fn a_lab_that_is_dropped_has_ended() {
    let before = own_links();
    let Some(lab) = up(&LabPlan::of(["a", "b"])) else { return };
    let nets = Nets::of(&lab.read_back().expect("it is up"));
    let mut orphan = orphan_in(&lab.hosts()[1].net_path());
    assert!(nets.inhabited());
    drop(lab);
    // No waiting here: a drop has waited.
    assert!(!nets.inhabited());
    assert_eq!(orphan.finish().status.signal(), Some(9));
    assert_eq!(own_links(), before);
}

#[test]
fn a_lab_whose_owner_was_killed_is_gone_with_it() {
    let before = own_links();
    let Some(mut owner) = Owner::up() else { return };
    let path = owner.lab.hosts[0].net_path.clone();
    assert!(path.exists());
    owner.process.signal(Signal::KILL);
    await_gone([owner.process.id()]);
    owner.process.finish();
    assert!(!path.exists(), "an open file was all that kept it");
    assert!(!owner.nets.inhabited());
    assert_eq!(own_links(), before);
}
