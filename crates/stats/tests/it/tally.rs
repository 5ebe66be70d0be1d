//! How often which word was said.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use stats::{Change, Judgement, Metric, Reason, Round, Seed, Settings, judge};

/// Judgements a cell. `STATS_TIMES=2000` repeats the tables of `docs/statistics.md`.
pub(crate) static TIMES: LazyLock<u32> = LazyLock::new(|| {
    std::env::var("STATS_TIMES").ok().and_then(|times| times.parse().ok()).unwrap_or(150)
});

#[derive(Default)]
pub(crate) struct Tally {
    words: BTreeMap<&'static str, u32>,
    why: BTreeMap<String, u32>,
    total: u32,
}

impl Tally {
    pub(crate) fn of(times: u32, mut rounds: impl FnMut() -> Vec<Round>) -> Self {
        let mut tally = Self::default();
        for time in 0..times {
            tally.add(&judged(&rounds(), u64::from(time)));
        }
        tally
    }

    fn add(&mut self, judgement: &Judgement) {
        self.total += 1;
        *self.words.entry(judgement.change.name()).or_default() += 1;
        if judgement.change != Change::NoChange {
            let why = match &judgement.reasons[0] {
                Reason::Changed { metric, .. } => metric.clone(),
                Reason::TooFewRounds { .. } => "(rounds)".to_owned(),
                Reason::TooWide { .. } => "(wide)".to_owned(),
                Reason::ControlMoved { .. } => "(control)".to_owned(),
                _ => "(other)".to_owned(),
            };
            *self.why.entry(why).or_default() += 1;
        }
    }

    pub(crate) fn share(&self, change: Change) -> f64 {
        f64::from(self.words.get(change.name()).copied().unwrap_or(0)) / f64::from(self.total)
    }

    /// `no change 0.98, improved ...; by reason`.
    pub(crate) fn row(&self) -> String {
        let share = |count: &u32| f64::from(*count) / f64::from(self.total);
        let line = |map: Vec<(String, f64)>| {
            map.iter().map(|(name, s)| format!("{name} {s:.3}")).collect::<Vec<_>>().join(", ")
        };
        let words = self.words.iter().map(|(n, c)| ((*n).to_owned(), share(c))).collect();
        let why = self.why.iter().map(|(n, c)| (n.clone(), share(c))).collect();
        format!("{} | {}", line(words), line(why))
    }
}

/// The defaults, with fewer bootstrap samples for speed.
pub(crate) static FAST: LazyLock<Settings> =
    LazyLock::new(|| Settings { resamples: 200, ..Settings::default() });

/// Judged as the harness does.
pub(crate) fn judged(rounds: &[Round], seed: u64) -> Judgement {
    judge(rounds, &Metric::of_a_trial(), Some(&Metric::idle_p50()), Seed(seed), &FAST)
}
