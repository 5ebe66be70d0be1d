use std::collections::BTreeMap;

use records::{Outcome, Phase};

use super::*;
use testkit::fixture::{Run, at_ms};

/// A run with a listener per worker and two fetches, at 50 and 147 ms of the measure phase: the
/// first at worker 0, the second at worker 1.
fn run() -> Run {
    let mut run = Run::good();
    run.arm().proxy.reuseport = true;
    let idle = run.records.fetches.len() as u64;
    assert_eq!(idle % 2, 0, "the next fetch is worker 0's");
    run.fetches(Phase::Measure, 2, Outcome::Ok, 5_000);
    run
}

fn queues(run: &Run) -> Queues {
    Queues::of(&run.records, &Join::of(&run.records), &BTreeMap::new())
}

#[test]
fn a_worker_that_accepted_what_came_later_did_not_have_it() {
    let queues = queues(&run());
    let between = at_ms(5_100);
    assert!(queues.may_have(0, between), "its last accept came before");
    assert!(!queues.may_have(1, between), "it accepted one that came later");
    assert!(queues.may_have(7, between), "of this one nothing is known");
}

/// A command that makes a listener for each of its workers by itself.
#[test]
fn a_worker_whose_queue_was_empty_later_did_not_have_it() {
    let mut run = Run::good();
    run.arm().proxy.reuseport = false;
    run.records.manifest.listeners = vec![1, 2];
    run.listener(5_000, 0);
    run.listener(5_050, 3);
    let two = queues(&run);
    assert!(!two.may_have(0, at_ms(4_999)), "its queue was empty at 5 s");
    assert!(two.may_have(0, at_ms(5_000)) && two.may_have(1, at_ms(4_999)));

    run.records.manifest.listeners = vec![1];
    assert!(queues(&run).may_have(0, at_ms(4_999)), "a shared one says nothing of who took it");
}

#[test]
fn a_shared_queue_is_everybodys() {
    let mut run = run();
    run.arm().proxy.reuseport = false;
    assert!(queues(&run).may_have(1, at_ms(5_100)));
}
