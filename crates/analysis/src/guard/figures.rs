//! The figures of a trial that can be compared and held against thresholds.

use records::{BytesPerSec, CompletionUs, FetchSummary, Micros, Summary, Verdict};
use stats::{Reading, Trial};

/// A figure of a trial: its name, its unit, where it stands in a summary.
pub struct Figure {
    /// The name in thresholds and records, as `p99`.
    pub name: &'static str,
    /// What its numbers are.
    pub unit: Unit,
    /// What it is, in a few words.
    pub words: &'static str,
    read: fn(&Summary) -> Option<Known>,
}

/// What numbers are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Microseconds.
    Micros,
    /// 0 to 1.
    Share,
    /// Bytes in a second.
    BytesPerSec,
    /// A plain number.
    Count,
}

impl Unit {
    /// A number of this unit, as people read it.
    pub fn say(self, value: f64) -> String {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "figures of trials are finite and not negative; a cast saturates"
        )]
        let whole = value.round() as u64;
        match self {
            Self::Micros => Micros(whole).to_string(),
            Self::BytesPerSec => BytesPerSec(whole).to_string(),
            Self::Share => format!("{value:.4}"),
            Self::Count => format!("{value:.2}").trim_end_matches('0').trim_end_matches('.').into(),
        }
    }
}

/// How much is known of a figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Known {
    /// It was measured.
    Exactly(f64),
    /// It is this or more: a percentile of fetches that were given up, or failed otherwise.
    AtLeast(f64),
}

impl Known {
    /// The figure, or its lower bound.
    pub const fn value(self) -> f64 {
        match self {
            Self::Exactly(value) | Self::AtLeast(value) => value,
        }
    }
}

/// The share of fetches under load that failed.
const FAILED_SHARE: &str = "failed_share";

/// What tells of the host alone.
const CONTROL: &str = "idle_p50";

/// Every figure there is.
pub const FIGURES: [Figure; 14] = [
    share(FAILED_SHARE, "fetches under load that failed, of those that could be tried", |s| {
        measured(s, s.measure.outcomes.failed_share().unwrap_or(0.0))
    }),
    time("p50", "median fetch under load", |s| {
        age(s, &s.measure, s.measure.latency_us.p50, |all| all.p50)
    }),
    time("p90", "90th percentile of fetches under load", |s| {
        age(s, &s.measure, s.measure.latency_us.p90, |all| all.p90)
    }),
    time("p99", "99th percentile of fetches under load", |s| {
        age(s, &s.measure, s.measure.latency_us.p99, |all| all.p99)
    }),
    time("max", "slowest fetch under load", |s| {
        age(s, &s.measure, s.measure.latency_us.max, |all| all.max)
    }),
    time(CONTROL, "median fetch without load", |s| {
        age(s, &s.idle, s.idle.latency_us.p50, |all| all.p50)
    }),
    time("idle_p90", "90th percentile without load", |s| {
        age(s, &s.idle, s.idle.latency_us.p90, |all| all.p90)
    }),
    time("idle_p99", "99th percentile without load", |s| {
        age(s, &s.idle, s.idle.latency_us.p99, |all| all.p99)
    }),
    time("longest_step", "longest step of a worker", |s| longest(s, |w| w.longest_step_us)),
    time("longest_turn", "longest loop turn of a worker", |s| {
        longest(s, |w| w.longest_loop_turn_us)
    }),
    Figure {
        name: "slow_bytes_per_sec",
        unit: Unit::BytesPerSec,
        words: "all downloads together",
        read: |s| (s.slow.downloads > 0).then_some(Known::Exactly(s.slow.bytes_per_sec.0 as f64)),
    },
    Figure {
        name: "early_closes",
        unit: Unit::Count,
        words: "499-style early closes",
        read: |s| measured(s, s.proxy.logged_early_closes()? as f64),
    },
    Figure {
        name: "failed",
        unit: Unit::Count,
        words: "fetches under load that failed",
        read: |s| measured(s, s.measure.outcomes.failed() as f64),
    },
    time("cpu_per_gb", "CPU time of the proxy for each GB", |s| {
        s.proxy.cpu_us_per_gb.map(|cpu| Known::Exactly(cpu.0 as f64))
    }),
];

const fn time(
    name: &'static str,
    words: &'static str,
    read: fn(&Summary) -> Option<Known>,
) -> Figure {
    Figure { name, unit: Unit::Micros, words, read }
}

const fn share(
    name: &'static str,
    words: &'static str,
    read: fn(&Summary) -> Option<Known>,
) -> Figure {
    Figure { name, unit: Unit::Share, words, read }
}

impl Figure {
    /// The figure of that name.
    pub fn find(name: &str) -> Option<&'static Self> {
        FIGURES.iter().find(|figure| figure.name == name)
    }

    /// Whether it is made of fetches alone, so that those of all rounds together have it too. A number
    /// of them grows with the rounds, and has no limit that fits both.
    pub(super) fn is_pooled(&self) -> bool {
        const POOLED: [&str; 8] =
            [FAILED_SHARE, "p50", "p90", "p99", "max", CONTROL, "idle_p90", "idle_p99"];
        POOLED.contains(&self.name)
    }

    /// Its value in a trial; `None`: that trial does not know it.
    pub fn of(&self, summary: &Summary) -> Option<Known> {
        (self.read)(summary)
    }
}

fn measured(summary: &Summary, value: f64) -> Option<Known> {
    (summary.measure.attempts > 0).then_some(Known::Exactly(value))
}

/// A quantile of the times of all fetches of a phase. A fetch that failed is not done within the cap,
/// however soon it failed: where failures reach into the quantile, it is the cap or more.
fn age(
    summary: &Summary,
    fetches: &FetchSummary,
    seen_us: u64,
    done: fn(&CompletionUs) -> Option<u64>,
) -> Option<Known> {
    if fetches.attempts == 0 {
        return None;
    }
    let failed_before_the_cap = fetches.outcomes.failed() > fetches.censored;
    Some(match &fetches.completion_us {
        Some(all) => match done(all) {
            Some(us) => Known::Exactly(us as f64),
            // Those that were given up may have been so later than at the cap.
            None => Known::AtLeast(seen_us.max(summary.arm.fetch.cap.0) as f64),
        },
        // An earlier build made the summary: what failed soon stands among the times.
        None if failed_before_the_cap => Known::AtLeast(seen_us as f64),
        None => capped(summary, seen_us),
    })
}

/// A fetch that was given up took its cap or more: 3 digits of a histogram below it are as good.
fn capped(summary: &Summary, us: u64) -> Known {
    let cap = summary.arm.fetch.cap.0;
    if us >= cap - cap / 500 { Known::AtLeast(us as f64) } else { Known::Exactly(us as f64) }
}

fn longest(summary: &Summary, figure: fn(&records::WorkerSummary) -> u64) -> Option<Known> {
    let longest = summary.proxy.workers.iter().map(figure).max()?;
    (longest > 0).then_some(Known::Exactly(longest as f64))
}

/// A trial as statistics see it.
pub fn trial(summary: &Summary) -> Trial {
    let reading = |known: Known| match known {
        Known::Exactly(value) => Reading::exact(value).ok(),
        Known::AtLeast(value) => Reading::at_least(value).ok(),
    };
    let inconclusive = (summary.verdict == Verdict::Inconclusive)
        .then(|| summary.verdict_reasons.first().cloned().unwrap_or_default());
    let named = |figure: &Figure| Some((figure.name.to_owned(), reading(figure.of(summary)?)?));
    Trial {
        inconclusive,
        control: Figure::find(CONTROL).and_then(|figure| figure.of(summary)).and_then(reading),
        readings: FIGURES.iter().filter_map(named).collect(),
    }
}

#[cfg(test)]
mod tests;
