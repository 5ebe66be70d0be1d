//! How often which word was said.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use stats::{Change, Judgement, Metric, Reason, Round, Settings, Trial, Trials, judge};

/// Judgements a cell. `STATS_TIMES=2000` repeats the tables of `docs/internals/statistics.md`.
pub(crate) static TIMES: LazyLock<u32> = LazyLock::new(|| {
    std::env::var("STATS_TIMES").ok().and_then(|times| times.parse().ok()).unwrap_or(100)
});

#[derive(Default)]
pub(crate) struct Tally {
    words: BTreeMap<&'static str, u32>,
    why: BTreeMap<String, u32>,
    total: u32,
}

impl Tally {
    pub(crate) fn by(mut judgement: impl FnMut() -> Judgement) -> Self {
        let mut tally = Self::default();
        for _ in 0..*TIMES {
            tally.add(&judgement());
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
                Reason::TooWide { metrics } => format!("({} blind)", metrics[0].metric),
                Reason::ControlMoved { .. } => "(control)".to_owned(),
                _ => "(other)".to_owned(),
            };
            *self.why.entry(why).or_default() += 1;
        }
    }

    pub(crate) fn share(&self, change: Change) -> f64 {
        f64::from(self.words.get(change.name()).copied().unwrap_or(0)) / f64::from(self.total)
    }

    /// Fails unless `change` was said about as often as `share` says, the share that 2000 draws had
    /// (uncertain by 0.02 itself). By chance it is further off than five standard deviations and that
    /// in one of two million cells; a rule whose share is 0.4 off goes unseen in one of a thousand.
    #[track_caller]
    pub(crate) fn is_as_documented(&self, change: Change, share: f64) {
        let deviation = (share * (1.0 - share) / f64::from(self.total)).sqrt();
        let off = (self.share(change) - share).abs();
        assert!(off <= 5.0 * deviation + 0.02, "{change} in {share} of all? {}", self.row());
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
    judge(trials, &Metric::OF_A_TRIAL, Some(&Metric::IDLE_P50), &Settings::default())
}
