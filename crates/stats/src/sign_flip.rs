//! The sign-flip test: could chance have dealt the arms' names this way?
//!
//! The order of the arms within a round is left to chance, so if they do not differ, each round's
//! difference could as well have had the other sign. The test counts the assignments of signs
//! whose sum is as far from zero as the one seen (Fisher 1935, The Design of Experiments, III.21).

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

use crate::Seed;

#[cfg(test)]
mod tests;

/// Up to so many differences all assignments are counted: 4096 at most.
const COUNTED: usize = 12;

/// Beyond them, so many are drawn.
const DRAWN: u32 = 10_000;

/// Two-sided probability of a sum as far from zero, if every sign were as likely as its opposite;
/// `None` of nothing. Never below `2 / 2^n`: of 5 rounds 0.0625. What is not finite counts as zero.
///
/// Exact up to 12 differences; from then on drawn with `seed`, where the assignment seen counts as
/// one of those drawn (Phipson and Smyth 2010), so that it is never zero.
pub fn sign_flip(differences: &[f64], seed: Seed) -> Option<f64> {
    if differences.is_empty() {
        return None;
    }
    let finite: Vec<f64> =
        differences.iter().map(|d| if d.is_finite() { *d } else { 0.0 }).collect();
    let sizes: Vec<f64> = finite.iter().map(|d| d.abs()).collect();
    // Sums of the same numbers in another order differ in their last bits: those are ties.
    let reached = finite.iter().sum::<f64>().abs() - 1e-12 * sizes.iter().sum::<f64>();
    if sizes.len() <= COUNTED {
        let all = 1_u64 << sizes.len();
        let far = (0..all).filter(|signs| signed_sum(&sizes, *signs).abs() >= reached).count();
        return Some(far as f64 / all as f64);
    }
    let mut chance = ChaCha8Rng::seed_from_u64(seed.0);
    let far = (0..DRAWN)
        .filter(|_| {
            let sum: f64 = sizes.chunks(64).map(|part| signed_sum(part, chance.random())).sum();
            sum.abs() >= reached
        })
        .count();
    Some((far as f64 + 1.0) / (f64::from(DRAWN) + 1.0))
}

/// The smallest value that [`sign_flip`] can have of so many differences.
pub(crate) fn smallest(n: usize) -> f64 {
    0.5_f64.powi(i32::try_from(n).unwrap_or(i32::MAX).saturating_sub(1))
}

/// The sum of up to 64 sizes, each with the sign that its bit says.
fn signed_sum(sizes: &[f64], signs: u64) -> f64 {
    sizes
        .iter()
        .enumerate()
        .map(|(bit, size)| f64::from_bits(size.to_bits() ^ (((signs >> bit) & 1) << 63)))
        .sum()
}
