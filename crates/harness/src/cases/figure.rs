//! What a case shows of a run, each figure in a few words: made from the records of one trial.

use std::collections::BTreeMap;

use analysis::Analysis;
use records::{DownloadEnd, Fetch, LogTimes, Micros, Outcome, RunRecords, Session, Summary};
use serde::Deserialize;

/// A figure that a case may ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CaseFigure {
    /// The times of the first fetches under load.
    FetchTimes,
    /// How fetches under load ended.
    Outcomes,
    /// Percentiles of the fetches under load.
    Latency,
    /// Good fetches a second; a case shows them beside those of other arms.
    Throughput,
    /// How many bytes each read and write moved.
    CallSizes,
    /// Least, mean, median, largest and standard deviation of them.
    Spread,
    /// Statuses in the access log, with the answers that were cut.
    Log,
    /// `rt`, `uct`, `uht` and `urt` of fetches, as logged.
    LogTimes,
    /// What the log says of downloads, beside the truth.
    DownloadLog,
    /// How long a download takes.
    SlowTime,
    /// What the scheduler gave the workers, as pidstat has it.
    Scheduler,
    /// Longest step and loop turn; bytes of a step.
    Steps,
    /// Where workers slept outside their polls.
    Blocked,
    /// The system calls that took most of the workers' time.
    Calls,
    /// Causes of late time.
    Causes,
    /// Connections by worker.
    Accepts,
    /// Wakeups that found nothing.
    Wakeups,
}

impl CaseFigure {
    /// How a table calls it.
    pub const fn label(self) -> &'static str {
        match self {
            Self::FetchTimes => "fetch times",
            Self::Outcomes => "fetches",
            Self::Latency => "latency",
            Self::Throughput => "throughput",
            Self::CallSizes => "call sizes",
            Self::Spread => "spread",
            Self::Log => "access log",
            Self::LogTimes => "logged times",
            Self::DownloadLog => "downloads' rt",
            Self::SlowTime => "download",
            Self::Scheduler => "workers",
            Self::Steps => "steps",
            Self::Blocked => "asleep in",
            Self::Calls => "calls",
            Self::Causes => "causes",
            Self::Accepts => "accepted",
            Self::Wakeups => "empty wakeups",
        }
    }

    /// The figure of one trial; `None`: its records do not tell.
    pub fn of(self, analysis: &Analysis<'_>) -> Option<String> {
        let Analysis { records, summary, .. } = analysis;
        match self {
            Self::FetchTimes => fetch_times(analysis),
            Self::Outcomes => Some(outcomes(summary)),
            Self::Latency => Some(latency(summary)),
            Self::Throughput => {
                summary.good_per_sec().map(|rate| format!("{rate:.0} good fetches/s"))
            }
            Self::CallSizes => call_sizes(summary),
            Self::Spread => spread(analysis),
            Self::Log => log(analysis),
            Self::LogTimes => log_times(analysis),
            Self::DownloadLog => download_log(analysis),
            Self::SlowTime => slow_time(summary),
            Self::Scheduler => scheduler(summary),
            Self::Steps => steps(summary),
            Self::Blocked => Some(blocked(summary)),
            Self::Calls => calls(summary),
            Self::Causes => causes(summary),
            Self::Accepts => {
                by_worker(summary.proxy.workers.iter().map(|worker| worker.sessions.to_string()))
            }
            Self::Wakeups => wakeups(records),
        }
    }
}

/// How many of a list are shown.
const SHOWN: usize = 10;

fn measured<'a>(analysis: &Analysis<'a>) -> impl Iterator<Item = &'a Fetch> {
    analysis.join().measured().map(|(_, fetch, _)| fetch)
}

fn fetch_times(analysis: &Analysis<'_>) -> Option<String> {
    let times: Vec<String> = measured(analysis)
        .take(SHOWN)
        .map(|fetch| format!("{:.0}", fetch.total_us.0 as f64 / 1e3))
        .collect();
    (!times.is_empty()).then(|| format!("{} ms", times.join(", ")))
}

fn outcomes(summary: &Summary) -> String {
    let told = Outcome::ALL.into_iter().filter_map(|outcome| {
        let count = summary.measure.outcomes.count(outcome);
        (count > 0).then(|| format!("{count} {}", outcome.name()))
    });
    format!("{} of {}", told.collect::<Vec<_>>().join(", "), summary.measure.attempts)
}

fn latency(summary: &Summary) -> String {
    let latency = &summary.measure.latency_us;
    let [p50, p90, p99, max] = [latency.p50, latency.p90, latency.p99, latency.max].map(Micros);
    format!(
        "p50 {p50}, p90 {p90}, p99 {p99}, max {max}; idle p50 {}",
        Micros(summary.idle.latency_us.p50)
    )
}

fn spread(analysis: &Analysis<'_>) -> Option<String> {
    let mut times: Vec<f64> = measured(analysis).map(|fetch| fetch.response_us.0 as f64).collect();
    times.sort_by(f64::total_cmp);
    let count = times.len() as f64;
    let mean = times.iter().sum::<f64>() / count;
    let variance = times.iter().map(|time| (time - mean).powi(2)).sum::<f64>() / (count - 1.0);
    let (min, median, max) = (times.first()?, times.get(times.len() / 2)?, times.last()?);
    let ms = |us: f64| format!("{:.1}", us / 1e3);
    Some(format!(
        "min {}, mean {}, median {}, max {}, deviation {} ms ({} fetches)",
        ms(*min),
        ms(mean),
        ms(*median),
        ms(*max),
        ms(variance.sqrt()),
        times.len()
    ))
}

/// The sessions of fetches under load that were logged.
fn logged<'a>(analysis: &Analysis<'a>) -> impl Iterator<Item = &'a Session> + Clone {
    analysis.join().measured().filter_map(|(_, _, connection)| connection?.logged())
}

fn log(analysis: &Analysis<'_>) -> Option<String> {
    let size = analysis.records.manifest.arm.fetch.fetch_size;
    let mut lines: BTreeMap<(u16, bool), u64> = BTreeMap::new();
    for session in logged(analysis) {
        let cut = session.status == 200 && session.body_bytes < size;
        *lines.entry((session.status, cut)).or_default() += 1;
    }
    let told = lines.iter().map(|((status, cut), count)| {
        format!("{count} x {}{status}", if *cut { "cut " } else { "" })
    });
    let told: Vec<String> = told.collect();
    (!told.is_empty()).then(|| told.join(", "))
}

fn log_times(analysis: &Analysis<'_>) -> Option<String> {
    let range = |name: &str, time: fn(&LogTimes) -> Option<u64>| {
        let times = logged(analysis).filter_map(|session| time(&session.log));
        let (least, most) = (times.clone().min()?, times.max()?);
        Some(format!("{name} {:.3}-{:.3}", least as f64 / 1e3, most as f64 / 1e3))
    };
    let told: Vec<String> = [
        range("rt", |log| Some(log.rt_ms)),
        range("uct", |log| log.uct_ms),
        range("uht", |log| log.uht_ms),
        range("urt", |log| log.urt_ms),
    ]
    .into_iter()
    .flatten()
    .collect();
    (!told.is_empty()).then(|| told.join(", "))
}

/// Downloads that ended by themselves or were cut by the end of the trial: logged time, true time.
fn download_log(analysis: &Analysis<'_>) -> Option<String> {
    let join = analysis.join();
    let told = join.transfers.iter().enumerate().filter_map(|(index, transfer)| {
        let (ended, end) = transfer.ended?;
        if end == DownloadEnd::Replaced {
            return None;
        }
        let session = join.transfer(index)?.logged()?;
        let truth = Micros::from(ended.since(transfer.dialed_ns));
        Some(format!("{:.3} s for {truth}", session.log.rt_ms as f64 / 1e3))
    });
    let told: Vec<String> = told.take(SHOWN).collect();
    (!told.is_empty()).then(|| told.join(", "))
}

/// Of whole ones the median; else from the rate they had.
fn slow_time(summary: &Summary) -> Option<String> {
    if let Some(time) = summary.slow.completed_us.get(summary.slow.completed_us.len() / 2) {
        let whole = summary.slow.completed;
        return Some(format!("{time} for {} ({whole} whole)", summary.arm.load.slow_size));
    }
    let each = summary.slow.bytes_per_sec.0.checked_div(summary.slow.downloads)?;
    let seconds = summary.arm.load.slow_size.0.checked_div(each)?;
    Some(format!("{seconds} s for {} at the rate they had", summary.arm.load.slow_size))
}

fn scheduler(summary: &Summary) -> Option<String> {
    let figure = |figure: fn(&records::WorkerSummary) -> f64, digits: usize| {
        let told =
            summary.proxy.workers.iter().map(|worker| format!("{:.digits$}", figure(worker)));
        told.collect::<Vec<_>>().join("/")
    };
    (!summary.proxy.workers.is_empty()).then(|| {
        format!(
            "{} %CPU (%usr {}, %system {}, %wait {}), cswch {}, nvcswch {}",
            figure(|worker| worker.cpu_share * 100.0, 1),
            figure(|worker| worker.user_share * 100.0, 1),
            figure(|worker| worker.system_share * 100.0, 1),
            figure(|worker| worker.wait_share * 100.0, 1),
            figure(|worker| worker.voluntary_per_sec, 0),
            figure(|worker| worker.involuntary_per_sec, 0),
        )
    })
}

fn steps(summary: &Summary) -> Option<String> {
    let longest = summary.proxy.workers.iter().max_by_key(|worker| worker.longest_step_us)?;
    let turn = summary.proxy.workers.iter().map(|worker| worker.longest_loop_turn_us).max()?;
    if turn == 0 && longest.longest_step_us == 0 {
        return None;
    }
    let step = match longest.longest_step_us {
        0 => "no long step".to_owned(),
        us => format!("longest {} with {}", Micros(us), records::Bytes(longest.longest_step_bytes)),
    };
    let mean = summary.slow.bytes_per_step;
    let mean = mean.map_or_else(String::new, |mean| format!("; {mean} a step of a download"));
    Some(format!("{step}; longest turn {}{mean}", Micros(turn)))
}

fn blocked(summary: &Summary) -> String {
    let told = summary.proxy.blocked.iter().map(|(call, sum)| {
        format!("{call} {} in {}, longest {}", sum.time_us, sum.sleeps, sum.longest_us)
    });
    let told: Vec<String> = told.collect();
    if told.is_empty() {
        "nowhere for 5 ms or more, as far as traced".to_owned()
    } else {
        told.join("; ")
    }
}

fn calls(summary: &Summary) -> Option<String> {
    const MOST: usize = 5;
    let mut calls: Vec<_> = summary.proxy.calls.iter().collect();
    calls.sort_by_key(|(_, call)| std::cmp::Reverse(call.time_us));
    let told = calls.iter().take(MOST).map(|(name, call)| {
        format!("{name} {} in {} ({} asleep)", call.time_us, call.count, call.asleep_us)
    });
    let told: Vec<String> = told.collect();
    (!told.is_empty()).then(|| told.join(", "))
}

/// The most frequent sizes of each call, with how often they came.
fn call_sizes(summary: &Summary) -> Option<String> {
    const MOST: usize = 3;
    let mut calls: Vec<_> =
        summary.proxy.calls.iter().filter(|(_, call)| !call.sizes.is_empty()).collect();
    calls.sort_by_key(|(_, call)| std::cmp::Reverse(call.bytes));
    let told = calls.into_iter().take(MOST).map(|(name, call)| {
        let mut sizes: Vec<(u64, u64)> = call.sizes.iter().map(|(s, count)| (*s, *count)).collect();
        sizes.sort_by_key(|(size, count)| (std::cmp::Reverse(*count), *size));
        let sizes = sizes.iter().take(MOST).map(|(size, count)| format!("{count} x {size}"));
        format!("{name} {}", sizes.collect::<Vec<_>>().join(", "))
    });
    let told: Vec<String> = told.collect();
    (!told.is_empty()).then(|| told.join("; "))
}

fn causes(summary: &Summary) -> Option<String> {
    const MOST: usize = 3;
    let told = summary
        .causes
        .iter()
        .take(MOST)
        .map(|share| format!("{} {:.0} %", share.cause, share.share_of_late_time * 100.0));
    let told: Vec<String> = told.collect();
    (!told.is_empty()).then(|| format!("{} of {} late", told.join(", "), summary.late.fetches))
}

fn wakeups(records: &RunRecords) -> Option<String> {
    let mut last: BTreeMap<u32, u64> = BTreeMap::new();
    for totals in &records.totals {
        last.insert(totals.worker, totals.empty_wakeups);
    }
    by_worker(last.into_values().map(|wakeups| wakeups.to_string()))
}

fn by_worker(figures: impl Iterator<Item = String>) -> Option<String> {
    let figures: Vec<String> = figures.collect();
    (!figures.is_empty()).then(|| format!("{} (by worker)", figures.join("/")))
}

#[cfg(test)]
mod tests;
