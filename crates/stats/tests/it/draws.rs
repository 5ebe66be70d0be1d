//! Trials drawn from those of `docs/internals/measurements.md`: a smoothed bootstrap (Silverman and Young
//! 1987), so that no two are the same and their variance is that of the real ones; and how often which word
//! was said of them.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use stats::{Change, Judgement, Metric, Reading, Round, Trial, Trials, judge};

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
    trials: Vec<Row>,
    /// Standard deviation by column: of the share, and of the logarithms of all others.
    spread: BTreeMap<&'static str, f64>,
}

struct Row {
    inconclusive: bool,
    values: BTreeMap<&'static str, f64>,
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
        let trials: Vec<Row> = TRIALS
            .lines()
            .map(|line| line.split(',').collect::<Vec<_>>())
            .filter(|cells| cells[0] == host && cells[1] == arm)
            .map(|cells| Row {
                inconclusive: cells[3] == "inconclusive",
                values: COLUMNS
                    .into_iter()
                    .map(|(name, cell, unit)| (name, cells[cell].parse::<f64>().unwrap() * unit))
                    .collect(),
            })
            .collect();
        assert_eq!(trials.len(), 10, "{host} {arm}");
        let spread = COLUMNS
            .into_iter()
            .map(|(name, ..)| {
                let values: Vec<f64> =
                    trials.iter().map(|trial| scale(name, trial.values[name])).collect();
                (name, deviation(&values))
            })
            .collect();
        Self { trials, spread }
    }

    pub(crate) fn trial(&self, chance: &mut ChaCha8Rng) -> Trial {
        let row = &self.trials[chance.random_range(0..self.trials.len())];
        let drawn: BTreeMap<&str, Reading> = row
            .values
            .iter()
            .map(|(name, value)| {
                let noise = SMOOTHING * self.spread[name] * normal(chance);
                let capped = name.starts_with('p') && *value >= CAP_US;
                let reading = match *name {
                    _ if capped => Reading::AtLeast(*value),
                    "failed_share" => Reading::Exact((value + noise).clamp(0.0, 1.0)),
                    _ => Reading::Exact(value * noise.exp()),
                };
                (*name, reading)
            })
            .collect();
        Trial {
            inconclusive: row.inconclusive.then(|| "the hypervisor took the CPU".to_owned()),
            readings: drawn.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
        }
    }
}

pub(crate) fn rounds(a: &Source, b: &Source, count: u32, chance: &mut ChaCha8Rng) -> Vec<Round> {
    (1..=count).map(|number| Round { number, a: a.trial(chance), b: b.trial(chance) }).collect()
}

fn scale(name: &str, value: f64) -> f64 {
    if name == "failed_share" { value } else { value.max(1e-3).ln() }
}

fn deviation(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0)).sqrt()
}

pub(crate) fn chance(seed: u64) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(seed)
}

/// A standard normal, by Box and Muller.
pub(crate) fn normal(chance: &mut ChaCha8Rng) -> f64 {
    let radius = (-2.0 * (1.0 - chance.random::<f64>()).ln()).sqrt();
    radius * (std::f64::consts::TAU * chance.random::<f64>()).cos()
}

/// Judgements a cell. `STATS_TIMES=2000` repeats the tables of `docs/internals/statistics.md`.
pub(crate) static TIMES: LazyLock<u32> = LazyLock::new(|| {
    std::env::var("STATS_TIMES").ok().and_then(|times| times.parse().ok()).unwrap_or(100)
});

#[derive(Default)]
pub(crate) struct Tally {
    words: BTreeMap<&'static str, u32>,
}

impl Tally {
    pub(crate) fn by(mut judgement: impl FnMut() -> Judgement) -> Self {
        let mut tally = Self::default();
        for _ in 0..*TIMES {
            *tally.words.entry(judgement().change.name()).or_default() += 1;
        }
        tally
    }

    pub(crate) fn share(&self, change: Change) -> f64 {
        f64::from(self.words.get(change.name()).copied().unwrap_or(0)) / f64::from(*TIMES)
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
        let said = self.words.iter();
        let said = said.map(|(word, n)| format!("{word} {:.3}", f64::from(*n) / f64::from(*TIMES)));
        said.collect::<Vec<_>>().join(", ")
    }
}

/// Judged as `turnstile compare` does.
pub(crate) fn judged(rounds: &[Round]) -> Judgement {
    judgement(Trials::Rounds(rounds))
}

/// Judged as `turnstile check --baseline` does: the same trials, of two days.
pub(crate) fn judged_apart(rounds: &[Round]) -> Judgement {
    let trials =
        |of: fn(&Round) -> &Trial| rounds.iter().map(|r| of(r).clone()).collect::<Vec<_>>();
    judgement(Trials::Apart { a: &trials(|round| &round.a), b: &trials(|round| &round.b) })
}

fn judgement(trials: Trials<'_>) -> Judgement {
    judge(trials, &Metric::OF_A_TRIAL)
}
