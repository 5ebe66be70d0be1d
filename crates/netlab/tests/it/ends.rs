//! Nothing is left, however a lab ends.

use std::os::unix::process::ExitStatusExt;
use std::process::Command;

use netlab::{LabPlan, Program};
use testkit::{Running, Signal, await_gone, kill, say, state, until};

use crate::support::{NETLAB, Nets, Owner, orphan_in, own_links, send_group, up};

/// Ends the owner with `end` while a process is inside, and looks for what is left.
fn nothing_is_left_after(end: impl FnOnce(&mut Owner)) {
    let before = own_links();
    let Some(mut owner) = Owner::up() else { return };
    assert_eq!(own_links(), before, "a lab is not to be seen outside");
    let mut orphan = owner.orphan();
    let holders = [owner.holders(), vec![owner.switch()]].concat();
    assert!(owner.nets.inhabited());

    end(&mut owner);

    await_gone([owner.process.id()]);
    assert_eq!(orphan.finish().status.signal(), Some(9), "the holder ends what is inside");
    await_gone(holders);
    assert!(!owner.nets.inhabited());
    assert_eq!(own_links(), before);
}

#[test]
fn nothing_is_left_after_a_kill() {
    nothing_is_left_after(|owner| owner.process.signal(Signal::KILL));
}

#[test]
fn nothing_is_left_after_a_sigterm() {
    nothing_is_left_after(|owner| owner.process.signal(Signal::TERM));
}

#[test]
fn nothing_is_left_after_ctrl_c() {
    nothing_is_left_after(|owner| send_group(owner.process.id(), Signal::INT));
}

#[test]
fn nothing_is_left_after_a_hang_up() {
    nothing_is_left_after(|owner| owner.process.signal(Signal::HUP));
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
fn a_holder_stays_when_it_is_told_to_go_by_others_than_its_lab() {
    nothing_is_left_after(|owner| {
        let holder = owner.holders()[0];
        for signal in [Signal::HUP, Signal::INT, Signal::TERM] {
            kill(holder, signal);
        }
        // A program that is started after the signals finds it there.
        let mut late = owner.orphan();
        owner.process.stdin = None;
        owner.process.finish().ended_well();
        assert_eq!(late.finish().status.signal(), Some(9));
    });
}

#[test]
fn nothing_is_left_when_a_holder_was_killed_first() {
    nothing_is_left_after(|owner| {
        let holder = owner.holders()[0];
        kill(holder, Signal::KILL);
        await_gone([holder]);
        owner.process.stdin = None;
        owner.process.finish().ended_well();
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
    assert!(holders.iter().all(|pid| state(*pid).is_none()), "they are collected, too");
    assert_eq!(own_links(), before);
}

/// What the next start says, after it has cleaned up.
fn cleaned() -> String {
    say(Command::new(NETLAB).arg("clean")).ended_well().stderr
}

#[test]
fn the_next_start_ends_what_an_earlier_one_left_and_says_so() {
    let Some(owner) = Owner::up() else { return };
    let in_use = up(&LabPlan::of(["a", "b"])).expect("one could be built just now");

    // A holder that was stopped before its owner died: the kernel wakes it if the process that it is
    // handed to is of another session. Else it is found.
    let mut orphan = owner.orphan();
    let [stopped, other] = owner.holders()[..] else { panic!("two hosts") };
    kill(stopped, Signal::STOP);
    until("a holder that is stopped", || (state(stopped) == Some('T')).then_some(()));
    owner.process.signal(Signal::KILL);
    await_gone([owner.process.id(), other]);
    cleaned();
    await_gone([stopped]);
    assert_eq!(orphan.finish().status.signal(), Some(9));
    assert!(!owner.nets.inhabited());

    // One whose parent is not the owner that it was started for.
    let words = [Program::HOLD, "--name", "lost", "--owner", "1"];
    let mut left = Running::with_stdin(Command::new(NETLAB).args(words));
    assert!(left.line().is_some_and(|line| line.contains("ready")));
    let mut orphan = orphan_in(left.id());
    let said = cleaned();
    let expected = format!("ended holder {} of host lost, left by 1", left.id());
    assert!(said.contains(&expected), "{said}");
    assert!(said.contains(&format!("ended {} (", orphan.id())), "{said}");
    assert_eq!(left.finish().status.signal(), Some(9));
    assert_eq!(orphan.finish().status.signal(), Some(9));

    // Those of a lab that is up are let alone.
    for host in in_use.hosts() {
        assert!(!said.contains(&format!("holder {} ", host.pid())), "{said}");
    }
    in_use.read_back().expect("it is still up");
}
