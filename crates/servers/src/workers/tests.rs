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

#[test]
fn threads_are_workers_or_hand_work_on_by_where_they_rest_and_run() {
    use Serving::{HandedOn, Own};
    use Wait::{Accept, Call, Epoll, Futex, Running};
    let beside: &[_] = &[
        ("proxy", false, Futex),
        ("worker0", true, Epoll(4)),
        ("worker1", true, Epoll(5)),
        ("writer", true, Futex),
    ];
    let first: &[_] = &[("loop", true, EPOLL), ("loop", true, Running)];
    let later: &[_] = &[("loop", true, Call(0)), ("loop", true, Epoll(4))];
    // A main thread has the name that its unnamed threads inherit.
    let joins: &[_] = &[("p", false, Futex), ("p", true, EPOLL), ("p", true, Epoll(4))];
    let woken: &[_] = &[("rt", true, EPOLL), ("rt", true, Futex), ("rt", false, Futex)];
    let idle: &[_] = &[("rt", true, EPOLL), ("rt", false, Futex), ("rt", false, Futex)];
    // Its id is that of the process.
    let main: &[_] = &[("rt", true, EPOLL), ("program", true, Futex)];
    let rests: &[_] = &[("rt", true, EPOLL), ("program", false, Futex)];
    let one: &[_] = &[("a", true, EPOLL), ("b", true, Call(0))];
    let other: &[_] = &[("a", true, Call(0)), ("b", true, EPOLL)];
    let out: &[_] = &[("a", true, Futex), ("b", true, Call(0))];
    // As Varnish: the pool's threads wait for what the one in accept(2) took.
    let pool: &[_] = &[
        ("epoll", false, EPOLL),
        ("pool", true, Accept),
        ("pool", true, Futex),
        ("pool", false, Futex),
    ];
    // As Traffic Server: loops of their own are given it.
    let given: &[_] = &[("ET_NET 0", true, EPOLL), ("ACCEPT 0", true, Accept)];
    let alone: &[_] = &[("p", true, Accept)];
    let metrics: &[_] = &[("loop", true, EPOLL), ("metrics", false, Accept)];
    let cases: [(&str, &[&[_]], &[i32], Serving); 14] = [
        ("loops of their own beside a writer", &[beside; 3], &[1, 2], Own),
        ("one that was running at the first look", &[first, later], &[0, 1], Own),
        ("one that only waits for the others to end", &[joins; 4], &[1, 2], Own),
        ("woken by the poll, in half of the rounds", &[woken, woken, idle], &[0], HandedOn),
        ("in a third of them", &[idle, woken, idle, idle], &[0], Own),
        ("nothing was asked yet", &[woken], &[0], Own),
        ("a first thread that is woken for each request", &[main; 3], &[0], HandedOn),
        ("or for one of three", &[rests, rests, main, rests], &[0], Own),
        ("one epoll, two threads", &[one, other], &[0, 1], HandedOn),
        ("in the poll and not", &[one, out], &[0], HandedOn),
        ("one accepts, a pool serves", &[pool; 3], &[0], HandedOn),
        ("one accepts, a loop serves", &[given; 3], &[0], HandedOn),
        ("one accepts and serves", &[alone; 3], &[], Own),
        ("one accepts that nobody asked", &[metrics; 3], &[0], Own),
    ];
    for (what, looks, workers, serving) in cases {
        let known = program(looks);
        let tids: Vec<i32> = known.workers().iter().map(|worker| worker.tid).collect();
        assert_eq!((tids.as_slice(), known.serving()), (workers, serving), "{what}");
    }
}
