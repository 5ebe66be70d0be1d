use std::process;

use zerocopy::FromZeros;

use super::*;

#[inline(never)]
fn one() {}

#[inline(never)]
fn other() {
    std::hint::black_box(1);
}

const TID: u32 = 7;

/// This process in a function; `slept` in ms.
fn sample(began: u64, at: u64, slept: u64, function: fn()) -> StackSample {
    StackSample::of((TID, process::id()), began, at, slept * 1_000_000, function as usize as u64)
}

/// In the turn that began at 10.
fn thread() -> Thread {
    let mut thread = Thread::new_zeroed();
    (thread.tid, thread.began) = (TID, 10);
    thread
}

/// Times in ms, with functions.
fn shown(stacks: &[Stack]) -> Vec<(u64, &str)> {
    let name = |stack: &'_ Stack| {
        let name = &stack.frames.first().expect("a frame").function;
        if name.contains("other") { "other" } else { "one" }
    };
    stacks.iter().map(|stack| (stack.time_us.0 / 1_000, name(stack))).collect()
}

#[test]
fn equal_stacks_are_one_and_those_with_most_time_come_first() {
    let mut stacks = Stacks::default();
    for sample in [
        sample(10, 20, 0, one),
        sample(10, 30, 0, one),
        sample(10, 40, 100, other),
        // Of the next turn.
        sample(200_000_000, 200_000_010, 0, one),
    ] {
        stacks.take(&sample);
    }
    assert_eq!(shown(&stacks.closed(TID + 1, 10, 150_000_000)), []);
    let ended = stacks.closed(TID, 10, 150_000_000);
    assert_eq!(shown(&ended), [(100, "other"), (40, "one")]);
    let own = ended.iter().flat_map(|stack| &stack.frames);
    assert!(own.clone().all(|frame| matches!(frame.module, Module::File(_))), "{ended:?}");
    assert_eq!(shown(&stacks.closed(TID, 10, 150_000_000)), [], "they are told once");
    assert_eq!(shown(&stacks.closed(TID, 200_000_000, 300_000_000)), [(20, "one")]);
}

#[test]
fn a_sleep_that_lasts_counts_as_far_as_it_came_and_only_at_that_look() {
    let mut stacks = Stacks::default();
    stacks.take(&sample(10, 20, 0, one));
    let thread = thread();
    let asleep = sample(10, 1_000_000, 0, other);
    for (now, slept) in [(51_000_000, 50), (101_000_000, 100)] {
        let open = stacks.open(&thread, Some(&asleep), now);
        assert_eq!(shown(&open), [(slept, "other"), (20, "one")]);
    }
    assert_eq!(shown(&stacks.open(&thread, None, 200)), [(20, "one")]);
}

#[test]
fn a_turn_that_was_no_hold_is_forgotten_and_one_that_lasts_is_not() {
    let mut stacks = Stacks::default();
    stacks.take(&sample(10, 20, 0, one));
    let lasts = [(0, thread())];
    let later = MonoNs(20 + FORGOTTEN_NS);
    stacks.forget(&lasts, later);
    assert_eq!(shown(&stacks.open(&lasts[0].1, None, later.0)), [(20, "one")]);
    stacks.forget(&[], MonoNs(later.0 - 1));
    assert_eq!(stacks.turns.len(), 1, "its end may be told at the next look");
    stacks.forget(&[], later);
    assert_eq!(stacks.turns.len(), 0);
}

#[test]
fn what_nothing_names_has_no_stack() {
    let mut stacks = Stacks::default();
    let nowhere = StackSample::of((TID, process::id()), 10, 20, 0, 8);
    let mut nobody = sample(10, 20, 0, one);
    nobody.pid = u32::MAX >> 1;
    for sample in [nowhere, nobody] {
        stacks.take(&sample);
    }
    assert_eq!(stacks.closed(TID, 10, 30), []);
}
