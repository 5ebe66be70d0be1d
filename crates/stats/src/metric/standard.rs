//! The figures that every trial has, and the changes of them that count.
//!
//! The floors are those that `docs/statistics.md` derives and that the simulations were made with.

use super::{Direction, Metric, Said, Scale, WIDEST_FACTOR, WIDEST_FLOORS, Weight};

impl Metric {
    /// What a pair of arms is judged by, with the floors that were simulated: `failed_share` (a
    /// share); `p50`, `p90`, `p99` and `longest_step` (us); `slow_bytes_per_sec`.
    pub fn of_a_trial() -> Vec<Self> {
        let lower = Direction::LowerIsBetter;
        vec![
            known("failed_share", "share", lower, Scale::Difference, 0.0, 0.05)
                .with_weight(Weight::Failures),
            known("p50", "us", lower, Scale::Ratio, 0.25, 5_000.0),
            known("p90", "us", lower, Scale::Ratio, 0.25, 5_000.0),
            known("p99", "us", lower, Scale::Ratio, 0.25, 5_000.0),
            known("longest_step", "us", lower, Scale::Ratio, 0.50, 10_000.0)
                .with_weight(Weight::Proxy),
            known(
                "slow_bytes_per_sec",
                "bytes_per_sec",
                Direction::HigherIsBetter,
                Scale::Ratio,
                0.15,
                10e6,
            )
            .with_weight(Weight::Price),
        ]
    }

    /// The control: `idle_p50` (us), the median fetch without load. It moves from half as much
    /// again and 1 ms on.
    pub fn idle_p50() -> Self {
        known("idle_p50", "us", Direction::LowerIsBetter, Scale::Ratio, 0.50, 1_000.0)
    }
}

fn known(
    name: &str,
    unit: &str,
    direction: Direction,
    scale: Scale,
    relative_floor: f64,
    absolute_floor: f64,
) -> Metric {
    let widest = match scale {
        Scale::Difference => WIDEST_FLOORS * absolute_floor,
        Scale::Ratio => WIDEST_FACTOR,
    };
    // Of a run's longest step only an order of magnitude is steady.
    let widest = if name == "longest_step" { 10.0 } else { widest };
    Metric {
        said: Said {
            name: name.to_owned(),
            unit: unit.to_owned(),
            direction,
            scale,
            relative_floor,
            absolute_floor,
            widest,
            weight: Weight::default(),
        },
    }
}
