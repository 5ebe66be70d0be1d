//! What a case shows of a run, each figure in a few words: made from the records of one trial.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use analysis::Analysis;
use records::{DownloadEnd, Fetch, LogTimes, Micros, Outcome, Session, WorkerSummary};
use serde::Deserialize;

/// A figure that a case may ask for, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "String")]
pub struct CaseFigure(usize);

/// How a figure is made; `None`: the records do not tell.
type Made = fn(&Analysis<'_>) -> Option<String>;

/// Every figure: its name in a case's file, how a table calls it, how it is made.
const FIGURES: [(&str, &str, Made); 17] = [
    // The times of the first fetches under load; how all of them ended; their percentiles.
    ("fetch_times", "fetch times", fetch_times),
    ("outcomes", "fetches", outcomes),
    ("latency", "latency", latency),
    // Good fetches a second; a case shows them beside those of other arms.
    (THROUGHPUT, "throughput", |_| None),
    // In how many trials the causes of the arm came first.
    (NAMED, "named first", |_| None),
    // Segments that a server on a host of its own sent for each fetch under load.
    ("segments", "segments", segments),
    // Statuses in the access log, with the answers that were cut; `rt`, `uct`, `uht`, `urt` of fetches.
    ("log", "access log", log),
    ("log_times", "logged times", log_times),
    // What the log says of downloads, beside the truth; how long a download takes.
    ("download_log", "downloads' rt", download_log),
    ("slow_time", "download", slow_time),
    // What the scheduler gave the workers, as pidstat has it.
    ("scheduler", "workers", scheduler),
    // Longest step and loop turn, bytes of a step; where workers slept outside their polls.
    ("steps", "steps", steps),
    ("blocked", "asleep in", blocked),
    // The system calls that took most of the workers' time, with the bytes that each moved; causes of late time.
    ("calls", "calls", calls),
    ("causes", "causes", causes),
    // Connections by worker, and wakeups that found nothing.
    ("accepts", "accepted", accepts),
    ("wakeups", "empty wakeups", wakeups),
];

/// The figures that are of all trials of a case, and of none alone.
pub(super) const THROUGHPUT: &str = "throughput";
pub(super) const NAMED: &str = "named";

impl CaseFigure {
    /// Its name in a case's file.
    pub const fn name(self) -> &'static str {
        FIGURES[self.0].0
    }

    /// How a table calls it.
    pub const fn label(self) -> &'static str {
        FIGURES[self.0].1
    }

    /// The figure of one trial; `None`: its records do not tell.
    pub fn of(self, analysis: &Analysis<'_>) -> Option<String> {
        FIGURES[self.0].2(analysis)
    }
}

impl TryFrom<String> for CaseFigure {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        let at = FIGURES.iter().position(|(known, ..)| *known == name);
        at.map(Self).ok_or_else(|| format!("there is no figure {name:?}"))
    }
}

/// What was found, in one line; `None`: nothing was.
fn listed(found: impl Iterator<Item = String>, between: &str) -> Option<String> {
    let found: Vec<String> = found.collect();
    (!found.is_empty()).then(|| found.join(between))
}

/// How many of a list are shown.
const SHOWN: usize = 10;

fn measured<'a>(analysis: &Analysis<'a>) -> impl Iterator<Item = &'a Fetch> {
    analysis.join().measured().map(|(_, fetch, _)| fetch)
}

fn segments(Analysis { records, summary, .. }: &Analysis<'_>) -> Option<String> {
    // On loopback those of its clients are in it as well.
    records.manifest.arm.netns.as_ref()?;
    let sent = records.manifest.kernel_counters.get("Tcp.OutSegs")?.moved();
    let fetches = summary.measure.attempts.max(1);
    Some(format!("{:.2} sent for each fetch", sent as f64 / fetches as f64))
}

fn fetch_times(analysis: &Analysis<'_>) -> Option<String> {
    let first = measured(analysis).take(SHOWN);
    let times = first.map(|fetch| format!("{:.0}", fetch.total_us.0 as f64 / 1e3));
    Some(format!("{} ms", listed(times, ", ")?))
}

fn outcomes(Analysis { summary, .. }: &Analysis<'_>) -> Option<String> {
    let told = Outcome::ALL.into_iter().filter_map(|outcome| {
        let count = summary.measure.outcomes.count(outcome);
        (count > 0).then(|| format!("{count} {}", outcome.name()))
    });
    Some(format!("{} of {}", listed(told, ", ").unwrap_or_default(), summary.measure.attempts))
}

fn latency(Analysis { summary, .. }: &Analysis<'_>) -> Option<String> {
    let latency = &summary.measure.latency_us;
    let figures = [latency.p50, latency.p90, latency.p99, latency.max, latency.mean];
    let [p50, p90, p99, max, mean] = figures.map(Micros);
    let idle = Micros(summary.idle.latency_us.p50);
    Some(format!("p50 {p50}, p90 {p90}, p99 {p99}, max {max}, mean {mean}; idle p50 {idle}"))
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
    listed(told, ", ")
}

fn log_times(analysis: &Analysis<'_>) -> Option<String> {
    let range = |name: &str, time: fn(&LogTimes) -> Option<u64>| {
        let times = logged(analysis).filter_map(|session| time(&session.log));
        let (least, most) = (times.clone().min()?, times.max()?);
        Some(format!("{name} {:.3}-{:.3}", least as f64 / 1e3, most as f64 / 1e3))
    };
    let told = [
        range("rt", |log| Some(log.rt_ms)),
        range("uct", |log| log.uct_ms),
        range("uht", |log| log.uht_ms),
        range("urt", |log| log.urt_ms),
    ];
    listed(told.into_iter().flatten(), ", ")
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
    listed(told.take(SHOWN), ", ")
}

/// Of whole ones the median; else from the rate they had.
fn slow_time(Analysis { summary, .. }: &Analysis<'_>) -> Option<String> {
    if let Some(time) = summary.slow.completed_us.get(summary.slow.completed_us.len() / 2) {
        let whole = summary.slow.completed;
        return Some(format!("{time} for {} ({whole} whole)", summary.arm.load.slow_size));
    }
    let each = summary.slow.bytes_per_sec.0.checked_div(summary.slow.downloads)?;
    let seconds = summary.arm.load.slow_size.0.checked_div(each)?;
    Some(format!("{seconds} s for {} at the rate they had", summary.arm.load.slow_size))
}

fn scheduler(Analysis { summary, .. }: &Analysis<'_>) -> Option<String> {
    let figure = |figure: fn(&WorkerSummary) -> f64, digits: usize| {
        let workers = summary.proxy.workers.iter();
        listed(workers.map(|worker| format!("{:.digits$}", figure(worker))), "/")
    };
    Some(format!(
        "{} %CPU (%usr {}, %system {}, %wait {}), cswch {}, nvcswch {}",
        figure(|worker| worker.cpu_share * 100.0, 1)?,
        figure(|worker| worker.user_share * 100.0, 1)?,
        figure(|worker| worker.system_share * 100.0, 1)?,
        figure(|worker| worker.wait_share * 100.0, 1)?,
        figure(|worker| worker.voluntary_per_sec, 0)?,
        figure(|worker| worker.involuntary_per_sec, 0)?,
    ))
}

fn steps(Analysis { summary, .. }: &Analysis<'_>) -> Option<String> {
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

fn blocked(Analysis { summary, .. }: &Analysis<'_>) -> Option<String> {
    let told = summary.proxy.blocked.iter().map(|(call, sum)| {
        format!("{call} {} in {}, longest {}", sum.time_us, sum.sleeps, sum.longest_us)
    });
    listed(told, "; ").or_else(|| Some("nowhere for 5 ms or more, as far as traced".to_owned()))
}

/// The calls that took most time, each with its most frequent sizes and how often they came.
fn calls(Analysis { summary, .. }: &Analysis<'_>) -> Option<String> {
    const CALLS: usize = 5;
    const SIZES: usize = 3;
    let mut calls: Vec<_> = summary.proxy.calls.iter().collect();
    calls.sort_by_key(|(_, call)| Reverse((call.time_us, call.bytes)));
    let told = calls.into_iter().take(CALLS).map(|(name, call)| {
        let mut sizes: Vec<(&u64, &u64)> = call.sizes.iter().collect();
        sizes.sort_by_key(|(size, count)| (Reverse(**count), **size));
        let sizes = sizes.into_iter().take(SIZES).map(|(size, count)| format!("{count} x {size}"));
        let sizes = listed(sizes, ", ").map_or_else(String::new, |sizes| format!(": {sizes}"));
        format!("{name} {} in {} ({} asleep){sizes}", call.time_us, call.count, call.asleep_us)
    });
    listed(told, "; ")
}

fn causes(Analysis { summary, .. }: &Analysis<'_>) -> Option<String> {
    const MOST: usize = 3;
    let first = summary.causes.iter().take(MOST);
    let told =
        first.map(|share| format!("{} {:.0} %", share.cause, share.share_of_late_time * 100.0));
    Some(format!("{} of {} late", listed(told, ", ")?, summary.late.fetches))
}

fn accepts(Analysis { summary, .. }: &Analysis<'_>) -> Option<String> {
    by_worker(summary.proxy.workers.iter().map(|worker| worker.sessions))
}

fn wakeups(Analysis { records, .. }: &Analysis<'_>) -> Option<String> {
    let totals = records.totals.iter().map(|totals| (totals.worker, totals.empty_wakeups));
    // The last of each worker.
    by_worker(totals.collect::<BTreeMap<_, _>>().into_values())
}

fn by_worker(figures: impl Iterator<Item = u64>) -> Option<String> {
    Some(format!("{} (by worker)", listed(figures.map(|figure| figure.to_string()), "/")?))
}

#[cfg(test)]
mod tests;
