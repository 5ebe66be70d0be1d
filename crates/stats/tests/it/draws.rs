//! Trials drawn from those of `docs/internals/measurements.md`: a smoothed bootstrap (Silverman and Young
//! 1987), so that no two are the same and their variance is that of the real ones; how they are judged; and
//! how often which word was said of them.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use stats::*;

/// Every trial of both hosts; milliseconds, seconds, MB/s as the page has them.
const TRIALS: &str = include_str!("trials.csv");

/// The cap of every one of them.
const CAP_US: f64 = 1e6;

/// Of ten drawn with replacement, a tenth of the variance is missing; this much noise adds it.
const SMOOTHING: f64 = 0.316;

pub(crate) const ARMS: [&str; 6] =
    ["reuseport", "shared", "rcvbuf", "fionread", "quota", "no-load"];

/// One arm on one host.
pub(crate) struct Source {
    trials: Vec<Trial>,
    /// Standard deviation by metric: of the share, and of the logarithms of all others.
    spread: BTreeMap<String, f64>,
}

const COLUMNS: [(&str, usize, f64); 7] = [
    ("failed_share", 4, 1.0),
    ("p50", 5, 1e3),
    ("p90", 6, 1e3),
    ("p99", 7, 1e3),
    ("idle_p50", 8, 1e3),
    ("longest_step", 9, 1e6),
    ("slow_bytes_per_sec", 10, 1e6),
];

impl Source {
    pub(crate) fn new(host: &str, arm: &str) -> Self {
        let of_arm = TRIALS.lines().filter(|line| line.starts_with(&format!("{host},{arm},")));
        let trials: Vec<Trial> = of_arm.map(kept).collect();
        assert_eq!(trials.len(), 10, "{host} {arm}");
        let spread = COLUMNS.map(|(name, ..)| {
            let values = trials.iter().map(|trial| scale(name, trial.readings[name].value()));
            (name.to_owned(), deviation(&values.collect::<Vec<_>>()))
        });
        Self { trials, spread: spread.into() }
    }

    pub(crate) fn trial(&self, chance: &mut ChaCha8Rng) -> Trial {
        let mut trial = self.trials[chance.random_range(0..self.trials.len())].clone();
        for (name, reading) in &mut trial.readings {
            let noise = SMOOTHING * self.spread[name] * normal(chance);
            match reading {
                Reading::AtLeast(_) => {}
                Reading::Exact(share) if name == "failed_share" => {
                    *share = (*share + noise).clamp(0.0, 1.0);
                }
                Reading::Exact(value) => *value *= noise.exp(),
            }
        }
        trial
    }
}

fn kept(line: &str) -> Trial {
    let cells: Vec<&str> = line.split(',').collect();
    let readings = COLUMNS.map(|(name, cell, unit)| {
        let value = cells[cell].parse::<f64>().unwrap() * unit;
        let is_capped = name.starts_with('p') && value >= CAP_US;
        let reading = if is_capped { Reading::AtLeast(value) } else { Reading::Exact(value) };
        (name.to_owned(), reading)
    });
    let robbed = (cells[3] == "inconclusive").then(|| "the hypervisor took the CPU".to_owned());
    Trial { inconclusive: robbed, readings: readings.into() }
}

pub(crate) fn rounds(a: &Source, b: &Source, count: u32, chance: &mut ChaCha8Rng) -> Vec<Round> {
    (1..=count).map(|number| Round { number, a: a.trial(chance), b: b.trial(chance) }).collect()
}

/// Rounds of these trials of A and B.
pub(crate) fn numbered(pairs: impl IntoIterator<Item = (Trial, Trial)>) -> Vec<Round> {
    (1..).zip(pairs).map(|(number, (a, b))| Round { number, a, b }).collect()
}

/// A trial that measured these figures.
pub(crate) fn trial(figures: &[(&str, f64)]) -> Trial {
    let exact = figures.iter().map(|(name, value)| ((*name).to_owned(), Reading::Exact(*value)));
    Trial { inconclusive: None, readings: exact.collect() }
}

fn scale(name: &str, value: f64) -> f64 {
    if name == "failed_share" { value } else { value.max(1e-3).ln() }
}

fn deviation(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0)).sqrt()
}

/// A standard normal, by Box and Muller.
pub(crate) fn normal(chance: &mut ChaCha8Rng) -> f64 {
    let radius = (-2.0 * (1.0 - chance.random::<f64>()).ln()).sqrt();
    radius * (std::f64::consts::TAU * chance.random::<f64>()).cos()
}

/// Judgements a cell. `STATS_TIMES=2000` repeats the tables of `docs/internals/statistics.md`.
static TIMES: LazyLock<u32> = LazyLock::new(|| {
    std::env::var("STATS_TIMES").ok().and_then(|times| times.parse().ok()).unwrap_or(100)
});

/// How often which word was said.
pub(crate) struct Tally(BTreeMap<&'static str, u32>);

impl Tally {
    /// Draws and judges as often as a cell wants, and prints its row of a table.
    pub(crate) fn of(
        name: &str,
        seed: u64,
        mut judged: impl FnMut(&mut ChaCha8Rng) -> Judgement,
    ) -> Self {
        let mut chance = ChaCha8Rng::seed_from_u64(seed);
        let mut tally = Self(BTreeMap::new());
        for _ in 0..*TIMES {
            *tally.0.entry(judged(&mut chance).change.name()).or_default() += 1;
        }
        println!("| {name} | {} |", tally.row());
        tally
    }

    pub(crate) fn share(&self, change: Change) -> f64 {
        f64::from(self.0.get(change.name()).copied().unwrap_or(0)) / f64::from(*TIMES)
    }

    /// How often a change was said.
    pub(crate) fn changes(&self) -> f64 {
        self.share(Change::Improved) + self.share(Change::Regressed)
    }

    /// Fails unless `change` was said about as often as `share` says, the share that 2000 draws had
    /// (uncertain by 0.02 itself). By chance it is further off than five standard deviations and that
    /// in one of two million cells; a rule whose share is 0.4 off goes unseen in one of a thousand.
    #[track_caller]
    pub(crate) fn is_as_documented(&self, change: Change, share: f64) {
        let deviation = (share * (1.0 - share) / f64::from(*TIMES)).sqrt();
        let off = (self.share(change) - share).abs();
        assert!(off <= 5.0 * deviation + 0.02, "{change} in {share} of all? {}", self.row());
    }

    /// `improved 0.010, no change 0.980, ...`.
    pub(crate) fn row(&self) -> String {
        let share = |n: &u32| f64::from(*n) / f64::from(*TIMES);
        let said = self.0.iter().map(|(word, n)| format!("{word} {:.3}", share(n)));
        said.collect::<Vec<_>>().join(", ")
    }
}

/// Judged as `turnstile compare` does.
pub(crate) fn judged(rounds: &[Round]) -> Judgement {
    judge(Trials::Rounds(rounds), &Metric::OF_A_TRIAL)
}

/// Judged as `turnstile check --baseline` does: trials of two days.
pub(crate) fn judged_apart(a: &[Trial], b: &[Trial]) -> Judgement {
    judge(Trials::Apart { a, b }, &Metric::OF_A_TRIAL)
}

/// The same of what was drawn as rounds.
pub(crate) fn torn_apart(rounds: &[Round]) -> Judgement {
    let (a, b): (Vec<_>, Vec<_>) = rounds.iter().map(|r| (r.a.clone(), r.b.clone())).unzip();
    judged_apart(&a, &b)
}

/// One metric of rounds that know no other.
pub(crate) fn compared(metric: Metric, pairs: &[(Reading, Reading)]) -> MetricComparison {
    let of = |reading: Reading| Trial {
        readings: [(metric.name.to_owned(), reading)].into(),
        ..Trial::default()
    };
    let rounds = numbered(pairs.iter().map(|(a, b)| (of(*a), of(*b))));
    judge(Trials::Rounds(&rounds), &[metric]).comparisons.remove(0)
}
