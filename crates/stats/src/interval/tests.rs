use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

use super::*;
use crate::bootstrap::resampled_means;
use crate::difference::median;

/// Extra hours of sleep by two drugs, the differences of ten patients (Student 1908, as R's
/// `sleep`).
const SLEEP: [f64; 10] = [1.2, 2.4, 1.3, 1.3, 0.0, 1.0, 1.8, 0.8, 4.6, 1.4];

#[test]
fn students_interval_of_students_data() {
    let interval = student(&SLEEP, 0.05).unwrap();
    assert!((interval.low - 0.700_114_2).abs() < 1e-6, "{interval:?}");
    assert!((interval.high - 2.459_885_8).abs() < 1e-6, "{interval:?}");
}

#[test]
fn the_bootstrap_sees_the_skew_that_student_does_not() {
    let bootstrap = expanded_percentile(&SLEEP, 0.05, 20_000, Seed(1)).unwrap();
    let (below, above) = (1.58 - bootstrap.low, bootstrap.high - 1.58);
    assert!(above > 1.1 * below, "{bootstrap:?}");
}

#[test]
fn fewer_than_two_rounds_have_no_interval() {
    assert_eq!(over_rounds(&[], &Settings::default(), Seed(1)), None);
    assert_eq!(over_rounds(&[1.0], &Settings::default(), Seed(1)), None);
}

/// What could have been chosen, by the share of 95 % intervals that hold the true mean.
#[test]
fn coverage() {
    let times = 400;
    println!("| differences | rounds | percentile | BCa | expanded | Student | hull |");
    for (name, truth, draw) in MODELS {
        for n in [3, 5, 10, 20, 30] {
            let mut chance = ChaCha8Rng::seed_from_u64(7);
            let mut held = [0_u32; 5];
            for time in 0..times {
                let values: Vec<f64> = (0..n).map(|_| draw(&mut chance)).collect();
                let seed = Seed(time);
                let [percentile, bca] = plain(&values, seed);
                let expanded = expanded_percentile(&values, 0.05, 1_000, seed).unwrap();
                let student = student(&values, 0.05).unwrap();
                let all = [percentile, bca, expanded, student, student.hull(expanded)];
                for (count, interval) in held.iter_mut().zip(all) {
                    *count += u32::from(interval.low <= truth && truth <= interval.high);
                }
            }
            let held = held.map(|count| f64::from(count) / times as f64);
            let cells = held.map(|share| format!("{:.0} %", 100.0 * share)).join(" | ");
            println!("| {name} | {n} | {cells} |");
            let [percentile, bca, .., hull] = held;
            if n == 5 {
                assert!(percentile < 0.90 && bca < 0.92, "{name}: {held:?}");
            }
            assert!(hull >= if name == "skewed" { 0.80 } else { 0.92 }, "{name} {n}: {held:?}");
        }
    }
}

type Draw = fn(&mut ChaCha8Rng) -> f64;

/// Name, mean, and one difference of two runs.
const MODELS: [(&str, f64, Draw); 4] = [
    ("normal", 0.0, normal),
    ("heavy tails (t, 3 degrees)", 0.0, |chance| {
        let squares: f64 = (0..3).map(|_| normal(chance).powi(2)).sum();
        normal(chance) / (squares / 3.0).sqrt()
    }),
    ("shares, many of them 0", 0.0, |chance| share(chance) - share(chance)),
    ("skewed", 0.0, |chance| normal(chance).exp() - 0.5_f64.exp()),
];

fn normal(chance: &mut ChaCha8Rng) -> f64 {
    let radius = (-2.0 * (1.0 - chance.random::<f64>()).ln()).sqrt();
    radius * (std::f64::consts::TAU * chance.random::<f64>()).cos()
}

fn share(chance: &mut ChaCha8Rng) -> f64 {
    if chance.random_bool(0.6) { 0.0 } else { chance.random_range(0.2..0.8) }
}

/// The percentile interval and BCa (Efron 1987), as they are used elsewhere.
fn plain(values: &[f64], seed: Seed) -> [Interval; 2] {
    let n = values.len();
    let mut means = resampled_means(values, 1_000, seed);
    means.sort_by(f64::total_cmp);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a share of a thousand"
    )]
    let at = |p: f64| means[((p * 1_000.0) as usize).min(999)];
    let centre = mean(values);
    let below = means.iter().filter(|m| **m < centre).count() as f64;
    let tied = means.iter().filter(|m| **m == centre).count() as f64;
    let bias = z_at(((below + tied / 2.0) / 1_000.0).clamp(0.001, 0.999));
    let jack: Vec<f64> =
        values.iter().map(|out| (centre * n as f64 - out) / (n - 1) as f64).collect();
    let jack_mean = mean(&jack);
    let cubes: f64 = jack.iter().map(|j| (jack_mean - j).powi(3)).sum();
    let squares: f64 = jack.iter().map(|j| (jack_mean - j).powi(2)).sum();
    let skew = if squares > 0.0 { cubes / 6.0 / squares.powf(1.5) } else { 0.0 };
    let bca = |p: f64| {
        let z = bias + z_at(p);
        at(1.0 - crate::tail::normal_above(bias + z / (1.0 - skew * z)))
    };
    [Interval { low: at(0.025), high: at(0.975) }, Interval { low: bca(0.025), high: bca(0.975) }]
}

fn z_at(p: f64) -> f64 {
    if p < 0.5 { -crate::tail::z_critical(2.0 * p) } else { crate::tail::z_critical(2.0 - 2.0 * p) }
}

#[test]
fn medians() {
    assert_eq!(median(&[]), None);
    assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
    assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
}
