//! The seeded bootstrap over rounds: how the mean would vary with other rounds.
//!
//! Invariant: negated values give the negated interval, bit by bit, with the same seed.

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

use crate::tail::{normal_above, t_critical};
use crate::{Interval, Seed};

/// The expanded percentile interval of the mean (Hesterberg 2015): percentiles of
/// the bootstrap means, so far out that the interval of normal values is Student's. `None` of fewer
/// than two values.
pub(crate) fn expanded_percentile(
    values: &[f64],
    alpha: f64,
    resamples: usize,
    seed: Seed,
) -> Option<Interval> {
    let n = values.len();
    if n < 2 {
        return None;
    }
    let mut means = resampled_means(values, resamples, seed);
    means.sort_by(f64::total_cmp);
    // A bootstrap mean varies by sqrt((n-1)/n) too little, and its tails are the normal's.
    let stretch = (n as f64 / (n - 1) as f64).sqrt();
    let each_side = normal_above(stretch * t_critical(alpha, n - 1));
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a share below one half of a length"
    )]
    let cut = (each_side * means.len() as f64).floor() as usize;
    let low = means.get(cut)?;
    let high = means.get(means.len().checked_sub(cut + 1)?)?;
    Some(Interval { low: *low, high: *high })
}

/// Means of as many values, drawn with replacement.
pub(crate) fn resampled_means(values: &[f64], resamples: usize, seed: Seed) -> Vec<f64> {
    let Ok(n @ 1..) = u32::try_from(values.len()) else { return Vec::new() };
    let mut chance = ChaCha8Rng::seed_from_u64(seed.0);
    (0..resamples)
        .map(|_| {
            let sum: f64 =
                (0..n).filter_map(|_| values.get(chance.random_range(0..n) as usize)).sum();
            sum / f64::from(n)
        })
        .collect()
}
