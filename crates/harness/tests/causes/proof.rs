//! How many trials say what one may say by chance.

/// What trials of one fault prove.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Proof {
    /// The explanation names it.
    Named,
    /// It does not.
    NotNamed,
    /// Nothing yet.
    Open,
}

/// Four right answers and no wrong one are enough, or eight and one; a second wrong one is too many.
///
/// An explanation that is right in half of its trials passes with a fault once in 14 times; one that is
/// right in 199 of 200 passes in 9,992 of 10,000, and so with twelve faults in 99 of 100. Nine trials
/// of a fault decide at the latest.
pub(crate) fn proof(right: usize, wrong: usize) -> Proof {
    match (right, wrong) {
        (_, 2..) => Proof::NotNamed,
        (4.., 0) | (8.., 1) => Proof::Named,
        _ => Proof::Open,
    }
}

/// How often who is right with this probability passes, and after how many trials at the latest.
fn passes(share: f64, right: usize, wrong: usize) -> (f64, usize) {
    match proof(right, wrong) {
        Proof::Named => (1.0, right + wrong),
        Proof::NotNamed => (0.0, right + wrong),
        Proof::Open => {
            let (after_right, after_wrong) =
                (passes(share, right + 1, wrong), passes(share, right, wrong + 1));
            let chance = share * after_right.0 + (1.0 - share) * after_wrong.0;
            (chance, after_right.1.max(after_wrong.1))
        }
    }
}

#[test]
fn a_coin_fails_and_a_good_explanation_passes() {
    let (coin, most) = passes(0.5, 0, 0);
    assert!(coin < 1.0 / 14.0, "{coin}");
    assert_eq!(most, 9);
    let (good, _) = passes(0.995, 0, 0);
    assert!(good > 0.9992 && good.powi(12) > 0.989, "{good}");
    assert_eq!(passes(0.0, 0, 0).0, 0.0);
}
