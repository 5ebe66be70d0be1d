use super::*;

fn at(ages: &[u64], ending: Ending) -> Vec<Observation> {
    ages.iter().map(|age| Observation { age: Micros(*age), ending }).collect()
}

/// Weeks in remission with 6-mercaptopurine (Freireich et al. 1963; Gehan 1965).
pub(crate) fn six_mp() -> Vec<Observation> {
    let mut all = at(&[6, 6, 6, 7, 10, 13, 16, 22, 23], Ending::Completed);
    all.extend(at(&[6, 9, 10, 11, 17, 19, 20, 25, 32, 32, 34, 35], Ending::Censored));
    all
}

/// The same with a placebo.
pub(crate) fn placebo() -> Vec<Observation> {
    let weeks = [1, 1, 2, 2, 3, 4, 4, 5, 5, 8, 8, 8, 8, 11, 11, 12, 12, 15, 17, 22, 23];
    at(&weeks, Ending::Completed)
}

#[test]
fn the_published_curve() {
    let curve = Curve::new(&six_mp());
    let published = [
        (6, 21, 3, 0.857),
        (7, 17, 1, 0.807),
        (10, 15, 1, 0.753),
        (13, 12, 1, 0.690),
        (16, 11, 1, 0.627),
        (22, 7, 1, 0.538),
        (23, 6, 1, 0.448),
    ];
    assert_eq!(curve.steps.len(), published.len());
    for (step, (week, waiting, completed, remaining)) in curve.steps.iter().zip(published) {
        assert_eq!((step.at, step.waiting, step.completed), (Micros(week), waiting, completed));
        assert!((step.remaining - remaining).abs() < 5e-4, "{step:?}");
    }
    assert_eq!(curve.quantile(500), Quantile::At(Micros(23)));
    assert_eq!(curve.quantile(900), Quantile::Beyond(Micros(35)));
    assert_eq!(Curve::new(&placebo()).quantile(500), Quantile::At(Micros(8)));
    assert!((curve.remaining(Micros(12)) - 0.753).abs() < 5e-4);
    assert_eq!(curve.remaining(Micros(5)), 1.0);
}

#[test]
fn without_censoring_it_is_the_share_still_waiting() {
    let ages: Vec<u64> = (1..=100).collect();
    let curve = Curve::new(&at(&ages, Ending::Completed));
    for (per_mille, age) in [(500, 50), (900, 90), (990, 99), (1000, 100), (2000, 100)] {
        assert_eq!(curve.quantile(per_mille), Quantile::At(Micros(age)), "{per_mille}");
    }
}

#[test]
fn a_quick_failure_is_not_a_quick_fetch() {
    let mut fetches = at(&[10, 20, 30], Ending::Completed);
    let honest = Curve::new(&fetches).quantile(500);
    fetches.extend(at(&[1; 7], Ending::Failed));
    let curve = Curve::new(&fetches);
    assert_eq!(honest, Quantile::At(Micros(20)));
    assert_eq!(curve.quantile(500), Quantile::Beyond(Micros(30)));
    assert!((curve.remaining(Micros(30)) - 0.7).abs() < 1e-12);
}

#[test]
fn all_beyond_the_cap_and_nothing_at_all() {
    let curve = Curve::new(&at(&[1001, 1002], Ending::Censored));
    assert_eq!(curve.quantile(500), Quantile::Beyond(Micros(1002)));
    let empty = Curve::new(&[]);
    assert_eq!(empty.quantile(500), Quantile::Beyond(Micros(0)));
    assert_eq!(empty.remaining(Micros(5)), 1.0);
}
