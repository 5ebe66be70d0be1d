//! The figures of a trial that can be compared and held against thresholds.

use records::{BytesPerSec, CompletionUs, FetchSummary, Micros, Phase, Summary, Verdict};
use stats::{Reading, Trial};

/// A figure of a trial: its name, its unit, where it stands in a summary.
#[derive(Debug)]
pub struct Figure {
    /// The name in thresholds and records, as `p99`.
    pub name: &'static str,
    /// What its numbers are.
    pub unit: Unit,
    read: Read,
}

/// How a figure is found.
#[derive(Debug)]
enum Read {
    /// By when so many of all fetches of a phase were done.
    Age(Phase, fn(&CompletionUs) -> Option<u64>),
    /// Of fetches alone, so that those of all rounds together have it too.
    OfFetches(fn(&Summary) -> Option<Reading>),
    /// Of one run. A number of fetches grows with the rounds, and has no limit that fits both.
    OfRun(fn(&Summary) -> Option<Reading>),
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

/// Every figure there is.
pub const FIGURES: [Figure; 14] = [
    // Of those fetches that could be tried.
    figure("failed_share", Unit::Share, Read::OfFetches(|s| measured(s, s.measure.failed_share))),
    time("p50", Read::Age(Phase::Measure, |c| c.p50)),
    time("p90", Read::Age(Phase::Measure, |c| c.p90)),
    time("p99", Read::Age(Phase::Measure, |c| c.p99)),
    time("max", Read::Age(Phase::Measure, |c| c.max)),
    time("idle_p50", Read::Age(Phase::Idle, |c| c.p50)),
    time("idle_p90", Read::Age(Phase::Idle, |c| c.p90)),
    time("idle_p99", Read::Age(Phase::Idle, |c| c.p99)),
    time("longest_step", Read::OfRun(|s| longest(s, |w| w.longest_step_us))),
    time("longest_turn", Read::OfRun(|s| longest(s, |w| w.longest_loop_turn_us))),
    figure("slow_bytes_per_sec", Unit::BytesPerSec, Read::OfRun(downloads)),
    count("early_closes", |s| measured(s, s.proxy.logged_early_closes()? as f64)),
    count("failed", |s| measured(s, s.measure.outcomes.failed() as f64)),
    time("cpu_per_gb", Read::OfRun(|s| Some(Reading::Exact(s.proxy.cpu_us_per_gb?.0 as f64)))),
];

const fn figure(name: &'static str, unit: Unit, read: Read) -> Figure {
    Figure { name, unit, read }
}

const fn time(name: &'static str, read: Read) -> Figure {
    figure(name, Unit::Micros, read)
}

const fn count(name: &'static str, read: fn(&Summary) -> Option<Reading>) -> Figure {
    figure(name, Unit::Count, Read::OfRun(read))
}

impl Figure {
    /// The figure of that name.
    pub fn find(name: &str) -> Option<&'static Self> {
        FIGURES.iter().find(|figure| figure.name == name)
    }

    /// Whether it is made of fetches alone, so that those of all rounds together have it too.
    pub(super) fn is_pooled(&self) -> bool {
        matches!(self.read, Read::Age(..) | Read::OfFetches(_))
    }

    /// Its value in a trial; `None`: that trial does not know it.
    pub fn of(&self, summary: &Summary) -> Option<Reading> {
        match self.read {
            Read::Age(Phase::Idle, done) => age(summary, &summary.idle, done),
            Read::Age(_, done) => age(summary, &summary.measure, done),
            Read::OfFetches(read) | Read::OfRun(read) => read(summary),
        }
    }
}

fn measured(summary: &Summary, value: f64) -> Option<Reading> {
    Some(Reading::Exact(value)).filter(|_| summary.measure.attempts > 0)
}

/// By when so many of all fetches of a phase were done. One that failed is not done within the cap, however
/// soon it failed: where failures reach into the quantile, it is the cap or more.
fn age(
    summary: &Summary,
    fetches: &FetchSummary,
    done: fn(&CompletionUs) -> Option<u64>,
) -> Option<Reading> {
    match done(&fetches.completion_us?) {
        Some(us) => Some(Reading::Exact(us as f64)),
        None => Some(Reading::AtLeast(summary.arm.fetch.cap.0 as f64)),
    }
}

/// All downloads together, where there were any.
fn downloads(Summary { slow, .. }: &Summary) -> Option<Reading> {
    Some(Reading::Exact(slow.bytes_per_sec.0 as f64)).filter(|_| slow.downloads > 0)
}

fn longest(summary: &Summary, figure: fn(&records::WorkerSummary) -> u64) -> Option<Reading> {
    let longest = summary.proxy.workers.iter().map(figure).max()?;
    Some(Reading::Exact(longest as f64)).filter(|_| longest > 0)
}

/// A trial as statistics see it.
pub fn trial(summary: &Summary) -> Trial {
    let inconclusive = (summary.verdict == Verdict::Inconclusive)
        .then(|| summary.verdict_reasons.first().cloned().unwrap_or_default());
    let named = |figure: &Figure| Some((figure.name.to_owned(), figure.of(summary)?));
    Trial { inconclusive, readings: FIGURES.iter().filter_map(named).collect() }
}
