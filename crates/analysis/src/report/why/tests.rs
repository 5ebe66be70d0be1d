use proptest::prelude::*;
use records::{Outcome, Phase, ReadPolicy};

use super::*;
use crate::summarise;
use testkit::fixture::Run;

fn share(cause: Cause, part: f64) -> CauseShare {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small, positive")]
    let time_us = Micros((part * 1e6) as u64);
    CauseShare { cause, share_of_late_time: part, time_us, fetches: 1 }
}

fn causes(shares: &[CauseShare]) -> Vec<Cause> {
    shares.iter().map(|share| share.cause).collect()
}

#[test]
fn small_causes_are_told_together_but_for_unexplained() {
    let all = vec![
        share(Cause::HeldByStep, 0.99),
        share(Cause::Client, 0.004),
        share(Cause::Convoy, 0.003),
        share(Cause::Unexplained, 0.002),
        share(Cause::Upstream, 0.001),
    ];
    let (shown, others) = fold(all, 10);
    assert_eq!(causes(&shown), [Cause::HeldByStep, Cause::Unexplained]);
    let others = others.expect("three small ones");
    assert_eq!((others.causes, others.fetches, others.time_us), (3, 3, Micros(8_000)));
    assert!((others.share_of_late_time - 0.008).abs() < 1e-9);
}

#[test]
fn one_small_cause_keeps_its_name() {
    let all = vec![
        share(Cause::HeldByStep, 0.997),
        share(Cause::Client, 0.002),
        share(Cause::Unexplained, 0.001),
    ];
    let (shown, others) = fold(all.clone(), 10);
    assert_eq!((causes(&shown), others), (causes(&all), None));
    // Unless there is no room for it.
    let (shown, others) = fold(all, 2);
    assert_eq!(causes(&shown), [Cause::HeldByStep, Cause::Unexplained]);
    assert_eq!(others.map(|others| others.causes), Some(1));
}

proptest! {
    #[test]
    fn nothing_is_lost_in_folding(parts in prop::collection::vec(0.0_f64..1.0, 10), most in 2_usize..12) {
        let mut all: Vec<CauseShare> = Cause::ALL
            .into_iter()
            .zip(parts)
            .filter(|(_, part)| *part > 0.1)
            .map(|(cause, part)| share(cause, part * part * part))
            .collect();
        all.sort_by_key(|share| std::cmp::Reverse(share.time_us));
        let all: Vec<CauseShare> = with_unexplained(&all).collect();
        let (shown, others) = fold(all.clone(), most);
        prop_assert!(shown.len() <= most, "{shown:?}");
        prop_assert!(causes(&shown).contains(&Cause::Unexplained));
        let time = |shares: &[CauseShare]| shares.iter().map(|share| share.time_us.0).sum::<u64>();
        let folded = others.map_or(0, |others| others.time_us.0);
        prop_assert_eq!(time(&shown) + folded, time(&all));
        prop_assert_eq!(shown.len() + others.map_or(0, |others| others.causes), all.len());
        let large = shown.iter().filter(|share| share.share_of_late_time >= SMALL).count();
        let all_large = all.iter().filter(|share| share.share_of_late_time >= SMALL).count();
        prop_assert!(large == all_large || shown.len() == most, "a large cause went missing");
    }
}

#[test]
fn when_nothing_was_late_no_cause_is_told_and_none_is_hidden() {
    let mut run = Run::good();
    assert_eq!(Why::of(&summarise(&run.records), 10), None, "no fetch");
    run.fetches(Phase::Measure, 40, Outcome::Ok, 5_000);
    let why = Why::of(&summarise(&run.records), 10).expect("fetches");
    assert_eq!((why.late, why.causes.len(), why.others), (0, 0, None));
    assert_eq!((why.worst, why.hidden.len(), why.log), (None, 0, None));
    assert_eq!(why.limit_us, Some(Micros(15_000)));
}

#[test]
fn hidden_causes_are_named_by_reason() {
    let why = Why::of(&summarise(&Run::starved().records), 10).expect("fetches");
    let groups: Vec<(usize, &str)> =
        why.hidden.iter().map(|group| (group.causes.len(), group.reason.as_str())).collect();
    assert_eq!(
        groups,
        [
            (5, "the workers told nothing of their time"),
            (2, "the kernel shows no schedstat of the workers"),
            (1, "the kernel shows no netstat counters"),
        ]
    );
}

#[test]
fn a_median_that_met_the_cap_is_no_measurement() {
    let law = |run: &Run| ModelReport::of(&summarise(&run.records)).map(|law| law.median);
    let mut run = Run::held();
    assert_eq!(law(&run), None, "a step that drains has no bound");
    run.arm().proxy.read_policy = ReadPolicy::Fionread;
    assert_eq!(law(&run), Some(Median::Censored));
    run.arm().fetch.cap = Micros(5_000_000);
    assert_eq!(law(&run), Some(Median::Measured));
    run.records.fetches.retain(|fetch| fetch.phase == Phase::Idle);
    assert_eq!(law(&run), None, "nothing to compare with");
}
