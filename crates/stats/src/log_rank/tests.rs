use super::*;
use crate::survival::tests::{placebo, six_mp};

/// Kleinbaum and Klein, Survival Analysis, chapter 2, and R's `survdiff`: 9 against 19.25, chi-squared 16.79.
#[test]
fn the_published_test() {
    let (a, b) = (six_mp(), placebo());
    let test = log_rank(&[Stratum { a: &a, b: &b }]);
    assert_eq!(test.observed_a, 9.0);
    assert!((test.expected_a - 19.25).abs() < 5e-3, "{test:?}");
    assert!((test.chi_squared - 16.79).abs() < 5e-3, "{test:?}");
    assert!((test.p_fetches - 4.17e-5).abs() < 1e-7, "{test:?}");
    assert_eq!(test.p_rounds, None);
}

#[test]
fn strata_add_up() {
    let (a, b) = (six_mp(), placebo());
    let one = log_rank(&[Stratum { a: &a, b: &b }]);
    let three = log_rank(&[Stratum { a: &a, b: &b }; 3]);
    assert!((three.chi_squared - 3.0 * one.chi_squared).abs() < 1e-9);
    assert!((three.expected_a - 3.0 * one.expected_a).abs() < 1e-9);
}

#[test]
fn rounds_of_different_hosts_are_not_mixed() {
    // B is as fast as A in each round; pooled, the slow round has more of B.
    let fetch = |age| Observation { age: Micros(age), ending: Ending::Completed };
    let (slow, fast) = (vec![fetch(100); 40], vec![fetch(1); 40]);
    let rounds = [Stratum { a: &slow[..10], b: &slow }, Stratum { a: &fast, b: &fast[..10] }];
    assert!(log_rank(&rounds).p_fetches > 0.99);
    let pooled_a = [&slow[..10], &fast].concat();
    let pooled_b = [&slow[..], &fast[..10]].concat();
    assert!(log_rank(&[Stratum { a: &pooled_a, b: &pooled_b }]).p_fetches < 1e-6);
}

#[test]
fn rounds_that_differ_do_not_count_as_many_fetches() {
    // A is done sooner in two rounds of four, B in the others, by eighty fetches each.
    let fetch = |age| Observation { age: Micros(age), ending: Ending::Completed };
    let quick: Vec<Observation> = (1..=80).map(fetch).collect();
    let late: Vec<Observation> = (41..=120).map(fetch).collect();
    let (a, b) = (Stratum { a: &quick, b: &late }, Stratum { a: &late, b: &quick });
    let test = log_rank(&[a, a, a, b]);
    assert!(test.p_fetches < 1e-6, "{test:?}");
    assert!(test.p_rounds.unwrap() > 0.3, "{test:?}");
}

#[test]
fn nothing_to_compare() {
    let a = six_mp();
    for rounds in [vec![], vec![Stratum { a: &a, b: &[] }], vec![Stratum { a: &[], b: &[] }]] {
        let test = log_rank(&rounds);
        assert_eq!((test.chi_squared, test.p_fetches), (0.0, 1.0));
    }
}
