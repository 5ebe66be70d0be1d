//! Programs of several kinds, as looks at their threads show them.

use super::*;

const EPOLL: Wait = Wait::Epoll(3);

/// What was seen in a look before the first round, and after each round that followed: name, whether
/// it ran since the look before, and where it rests, thread by thread.
fn program(rounds: &[&[(&str, bool, Wait)]]) -> Discovery {
    let mut known = Discovery::default();
    let mut switches = [0_u64; 8];
    for threads in rounds {
        for ((tid, count), &(name, ran, wait)) in (0..).zip(&mut switches).zip(*threads) {
            *count += u64::from(ran);
            known.seen((1, tid), name.to_owned(), *count, Some(wait));
        }
        known.rounds += 1;
    }
    known
}

fn tids(known: &Discovery) -> Vec<i32> {
    known.workers().iter().map(|worker| worker.tid).collect()
}

#[test]
fn loops_of_their_own_beside_a_writer_are_workers() {
    let look: &[_] = &[
        ("proxy", false, Wait::Futex),
        ("worker0", true, Wait::Epoll(4)),
        ("worker1", true, Wait::Epoll(5)),
        ("writer", true, Wait::Futex),
    ];
    let known = program(&[look, look, look]);
    assert_eq!(tids(&known), [1, 2]);
    assert_eq!(known.serving(), Serving::Own);
}

#[test]
fn a_loop_that_was_running_at_the_first_look_is_found_at_a_later_one() {
    let first: &[_] = &[("loop", true, EPOLL), ("loop", true, Wait::Running)];
    let second: &[_] = &[("loop", true, Wait::Call(0)), ("loop", true, Wait::Epoll(4))];
    let known = program(&[first, second]);
    assert_eq!((tids(&known).as_slice(), known.serving()), ([0, 1].as_slice(), Serving::Own));
}

#[test]
fn a_thread_that_only_waits_for_the_others_to_end_is_none_of_them() {
    // A main thread has the name that its unnamed threads inherit.
    let look: &[_] = &[("p", false, Wait::Futex), ("p", true, EPOLL), ("p", true, Wait::Epoll(4))];
    let known = program(&[look, look, look, look]);
    assert_eq!((tids(&known).as_slice(), known.serving()), ([1, 2].as_slice(), Serving::Own));
}

#[test]
fn workers_that_are_woken_by_the_one_in_the_poll_hand_work_on() {
    let look: &[_] = &[("rt", true, EPOLL), ("rt", true, Wait::Futex), ("rt", false, Wait::Futex)];
    let idle: &[_] = &[("rt", true, EPOLL), ("rt", false, Wait::Futex), ("rt", false, Wait::Futex)];
    assert_eq!(program(&[look, look, idle]).serving(), Serving::HandedOn, "in half of the rounds");
    assert_eq!(program(&[idle, look, idle, idle]).serving(), Serving::Own, "in a third of them");
    assert_eq!(program(&[look]).serving(), Serving::Own, "nothing was asked yet");
}

#[test]
fn a_first_thread_that_is_woken_for_each_request_hands_work_on() {
    // Its id is that of the process.
    let look: &[_] = &[("rt", true, EPOLL), ("program", true, Wait::Futex)];
    assert_eq!(program(&[look, look, look]).serving(), Serving::HandedOn);
    let idle: &[_] = &[("rt", true, EPOLL), ("program", false, Wait::Futex)];
    assert_eq!(program(&[idle, idle, look, idle]).serving(), Serving::Own);
}

#[test]
fn a_poll_that_goes_from_hand_to_hand_is_seen() {
    let one: &[_] = &[("a", true, EPOLL), ("b", true, Wait::Call(0))];
    let other: &[_] = &[("a", true, Wait::Call(0)), ("b", true, EPOLL)];
    assert_eq!(program(&[one, other]).serving(), Serving::HandedOn, "one epoll, two threads");
    let woken: &[_] = &[("a", true, Wait::Futex), ("b", true, Wait::Call(0))];
    assert_eq!(program(&[one, woken]).serving(), Serving::HandedOn, "in the poll and not");
}

#[test]
fn what_one_accepts_and_others_serve_is_handed_on() {
    // As Varnish: the pool's threads wait for what the one in accept(2) took.
    let pool: &[_] = &[
        ("epoll", false, EPOLL),
        ("pool", true, Wait::Accept),
        ("pool", true, Wait::Futex),
        ("pool", false, Wait::Futex),
    ];
    // As Traffic Server: loops of their own are given it.
    let given: &[_] = &[("ET_NET 0", true, EPOLL), ("ACCEPT 0", true, Wait::Accept)];
    for look in [pool, given] {
        assert_eq!(program(&[look, look, look]).serving(), Serving::HandedOn);
    }
    let alone: &[_] = &[("p", true, Wait::Accept)];
    assert_eq!(program(&[alone, alone, alone]).serving(), Serving::Own, "it serves itself");
    let beside: &[_] = &[("loop", true, EPOLL), ("metrics", false, Wait::Accept)];
    assert_eq!(program(&[beside, beside, beside]).serving(), Serving::Own, "nobody asked it");
}
