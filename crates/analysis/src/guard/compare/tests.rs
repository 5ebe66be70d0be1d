use records::Outcome;
use stats::{Change, Ending, Settings};

use super::{Comparison, Told, observations};
use crate::guard::Gate;
use crate::summarise;
use testkit::fixture::Run;

/// An arm of `count` trials of which a share fails, a little different each.
fn arm(name: &str, count: u32, failed: u64, us: u64) -> (String, Vec<Told>) {
    let told = |round: u32| {
        let failed = failed + u64::from(round % 2) * u64::from(failed > 0);
        let us = us + 500 * u64::from(round % 3);
        let run = Run::loaded(&[
            (80 - failed, Outcome::Ok, us),
            (failed, Outcome::TimeoutNoByte, 1_000_500),
        ]);
        let fetches = observations(&run.records.fetches);
        Told { round, summary: summarise(&run.records), fetches, proxy_fault: None }
    };
    (name.to_owned(), (0..count).map(told).collect())
}

fn compared(arms: &[(String, Vec<Told>)]) -> Comparison {
    Comparison::of(arms, &Settings::default())
}

#[test]
fn a_cure_improves_and_the_disease_regresses() {
    let (sick, cured) = (arm("drain", 5, 40, 400_000), arm("fionread", 5, 0, 80_000));
    let better = compared(&[sick.clone(), cured.clone()]);
    let judgement = &better.pairs[0].judgement;
    assert_eq!(judgement.change, Change::Improved, "{:?}", judgement.reasons);
    assert_eq!(better.gate(), Gate::Passed);
    let worse = compared(&[cured, sick]);
    assert_eq!(worse.pairs[0].judgement.change, Change::Regressed);
    assert_eq!(worse.gate(), Gate::Breached);
}

#[test]
fn the_same_twice_is_no_change() {
    let arms = [arm("a", 6, 0, 80_000), arm("b", 6, 0, 80_000)];
    let comparison = compared(&arms);
    assert_eq!(comparison.pairs[0].judgement.change, Change::NoChange);
    assert_eq!(comparison.gate(), Gate::Passed);
}

#[test]
fn the_worst_pair_decides() {
    let [good, bad] = [("good", 0), ("bad", 40)].map(|(name, failed)| arm(name, 5, failed, 80_000));
    let few = arm("few", 1, 0, 80_000);
    assert_eq!(compared(&[good.clone(), few.clone()]).gate(), Gate::Inconclusive);
    assert_eq!(compared(&[good, few, bad]).gate(), Gate::Breached);
}

#[test]
fn an_arm_whose_proxy_dies_is_breached() {
    let (a, mut b) = (arm("a", 6, 0, 80_000), arm("b", 6, 0, 80_000));
    b.1[3].proxy_fault = Some("the proxy role ended unasked".to_owned());
    let down = compared(&[a.clone(), b.clone()]);
    assert_eq!(down.gate(), Gate::Breached);
    assert_eq!(down.pairs[0].doubts(), ["b, round 4: the proxy role ended unasked"]);
    // What is compared against is not what the gate is about.
    assert_eq!(compared(&[b, a]).gate(), Gate::Passed);
}

#[test]
fn rounds_that_only_one_arm_has_do_not_count() {
    let (a, mut b) = (arm("a", 6, 0, 80_000), arm("b", 6, 0, 80_000));
    b.1.truncate(1);
    let comparison = compared(&[a, b]);
    assert_eq!(comparison.pairs[0].judgement.rounds, 1);
    assert_eq!(comparison.gate(), Gate::Inconclusive);
    assert_eq!(compared(&[]).gate(), Gate::Inconclusive);
}

#[test]
fn what_was_given_up_is_not_called_done() {
    let run = Run::loaded(&[
        (3, Outcome::Ok, 10_000),
        (2, Outcome::TimeoutPartial, 1_000_000),
        (1, Outcome::Reset, 5_000),
    ]);
    let endings: Vec<Ending> =
        observations(&run.records.fetches).iter().map(|fetch| fetch.ending).collect();
    let count = |ending| endings.iter().filter(|e| **e == ending).count();
    assert_eq!(count(Ending::Completed), 3);
    assert_eq!(count(Ending::Censored), 2);
    assert_eq!(count(Ending::Failed), 1);
}
