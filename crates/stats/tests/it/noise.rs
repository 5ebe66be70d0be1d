//! Noise with a seed.

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

pub(crate) fn chance(seed: u64) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(seed)
}

/// A standard normal, by Box and Muller.
pub(crate) fn normal(chance: &mut ChaCha8Rng) -> f64 {
    let radius = (-2.0 * (1.0 - chance.random::<f64>()).ln()).sqrt();
    radius * (std::f64::consts::TAU * chance.random::<f64>()).cos()
}
