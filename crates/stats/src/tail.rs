//! Tails of Student's t and of the normal distribution, over `statrs`.
//!
//! Not for: anything else of statrs. Invariant: finite in, finite out.

use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

/// The point of Student's t that is exceeded with probability `alpha / 2`; 0 without a degree of
/// freedom.
pub(crate) fn t_critical(alpha: f64, degrees: f64) -> f64 {
    student(degrees).map_or(0.0, |t| t.inverse_cdf(1.0 - alpha / 2.0))
}

/// Probability of a |t| as large; 1 without a degree of freedom.
pub(crate) fn t_two_sided(t: f64, degrees: f64) -> f64 {
    student(degrees).map_or(1.0, |dist| (2.0 * dist.sf(t.abs())).min(1.0))
}

fn student(degrees: f64) -> Option<StudentsT> {
    StudentsT::new(0.0, 1.0, degrees).ok()
}

/// Probability that a standard normal exceeds `z`.
pub(crate) fn normal_above(z: f64) -> f64 {
    Normal::standard().sf(z)
}

/// The point of the standard normal that is exceeded with probability `alpha / 2`.
pub(crate) fn z_critical(alpha: f64) -> f64 {
    Normal::standard().inverse_cdf(1.0 - alpha / 2.0)
}
