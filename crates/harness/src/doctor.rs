//! `turnstile doctor`: what on this machine bears on a result, and what to do about it.
//!
//! Each check is a pure function of `Facts`, so that every answer can be tested.
//!
//! Not for: what a trial says by itself when it starts or in its caveats.
//!
//! Invariant: nothing on the machine is changed.

use std::process::ExitCode;

use anyhow::Context;
use procfs::{Current, CurrentSI};
use records::{Bytes, Rcvbuf, count};
use serde::Serialize;
use trial::host;

use crate::output::print;

#[cfg(test)]
mod tests;

/// How to tell the findings.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Examples:
  turnstile doctor
  turnstile doctor --json | jq '.[] | select(.level != \"ok\")'

Exit codes: 0 every check could be made, whatever it found; 1 one could not.")]
pub struct DoctorOptions {
    /// Print JSON instead of text
    #[arg(long)]
    pub json: bool,
}

/// The answer of one check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Finding {
    /// Which check, for programs.
    check: &'static str,
    level: Level,
    finding: String,
    /// What that means for a trial.
    meaning: &'static str,
    /// What to do, if anything.
    #[serde(skip_serializing_if = "Option::is_none")]
    advice: Option<&'static str>,
}

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Level {
    /// As it should be.
    Ok,
    /// Trials run, and some of what they show differs.
    Note,
    /// Trials cannot run, or prove nothing.
    Problem,
    /// The check could not be made.
    Unknown,
}

/// This machine, as far as trials care. `None`: the kernel does not say.
#[derive(Clone, Debug)]
struct Facts {
    /// CPUs this process may run on.
    allowed_cpus: Option<usize>,
    /// `net.ipv4.tcp_rmem`: least, first and most bytes.
    tcp_rmem: Option<String>,
    /// `net.core.rmem_max`.
    rmem_max: Option<Bytes>,
    /// Load average of one minute.
    load_average: Option<f32>,
    /// CPU time withheld by the hypervisor since boot, as a share of all CPU time.
    stolen_share: Option<f64>,
}

/// The receive buffer of the published cure.
const CURE: u64 = 40_960;
/// A load average per CPU above this means that others are at work.
const BUSY: f32 = 0.5;
/// A stolen share above this shows in latencies.
const STOLEN: f64 = 0.01;

/// Makes every check and prints the findings.
///
/// # Errors
/// Standard output cannot be written.
pub fn doctor(options: &DoctorOptions) -> anyhow::Result<ExitCode> {
    let findings = all(&Facts::read());
    let text = if options.json { report::json(&findings) } else { text(&findings) };
    print(text.as_bytes()).context("failed to print the findings")?;
    let unknown = findings.iter().any(|finding| finding.level == Level::Unknown);
    Ok(if unknown { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Three lines a finding: what, what it means, what to do.
fn text(findings: &[Finding]) -> String {
    let mut text = String::new();
    for Finding { check, level, finding, meaning, advice } in findings {
        text += &format!(
            "{:8} {check}: {finding}\n         {meaning}\n",
            format!("{level:?}").to_lowercase()
        );
        if let Some(advice) = advice {
            text += &format!("         -> {advice}\n");
        }
    }
    text
}

impl Facts {
    fn read() -> Self {
        Self {
            allowed_cpus: net::cpu::allowed().ok().map(|cpus| cpus.len()),
            tcp_rmem: host::sysctl("net.ipv4.tcp_rmem"),
            rmem_max: host::rmem_max(),
            load_average: procfs::LoadAverage::current().ok().map(|load| load.one),
            stolen_share: stolen_share(),
        }
    }
}

fn stolen_share() -> Option<f64> {
    let total = procfs::KernelStats::current().ok()?.total;
    let stolen = total.steal?;
    // guest and guest_nice are in user and nice already: proc(5).
    let others = [total.iowait, total.irq, total.softirq].map(Option::unwrap_or_default);
    let used = total.user + total.nice + total.system + total.idle;
    let all = used + others.iter().sum::<u64>() + stolen;
    (all > 0).then(|| stolen as f64 / all as f64)
}

/// All findings, in the order of what matters most.
fn all(facts: &Facts) -> Vec<Finding> {
    // The third of three figures.
    let most = facts.tcp_rmem.as_deref().and_then(|rmem| rmem.split_whitespace().nth(2));
    let most = most.and_then(|most| most.parse().ok()).map(Bytes);
    let noted = |bad| if bad { Level::Note } else { Level::Ok };
    let cpus = facts.allowed_cpus.map(|cpus| {
        let level = if cpus < 2 { Level::Problem } else { Level::Ok };
        (format!("{} may be used", count(cpus as u64, "CPU", "CPUs")), level)
    });
    let buffer = most
        .map(|most| (format!("a receive buffer may grow to {most}"), noted(most.0 <= 2 * CURE)));
    let limit = facts
        .rmem_max
        .map(|most| (format!("--rcvbuf works up to {most}"), noted(most < Rcvbuf::ROOMY)));
    let load = facts.load_average.zip(facts.allowed_cpus).map(|(load, cpus)| {
        // A count of CPUs is far below 2^24, where f32 is exact.
        let most = BUSY * u16::try_from(cpus).map_or(f32::MAX, f32::from);
        (format!("load average {load:.2}, CPUs {cpus}"), noted(load > most))
    });
    let steal = facts.stolen_share.map(|share| {
        let found = format!("{:.2} % of CPU time was stolen since boot", share * 100.0);
        (found, noted(share > STOLEN))
    });
    // What each means if it is as it should be; if it is not; and what to do then.
    vec![
        finding(
            "cpus",
            cpus,
            "the workers have some of them, origin and clients the others",
            "workers and load share it: a late fetch may be late for want of CPU, not of a worker",
            "use a machine, a container or a cpuset with 2 CPUs or more",
        ),
        finding(
            "tcp_rmem",
            buffer,
            "as much may wait for one worker with --rcvbuf auto; it bounds a fionread step there",
            "so small that the published cure is in force already: starvation may not show",
            "raise the third figure of net.ipv4.tcp_rmem to its default of 6 MiB or more",
        ),
        finding(
            "rmem_max",
            limit,
            "the kernel keeps twice what is asked for; a run tells both",
            "less than the mirror's usual 1 MiB: the kernel's luck decides how strong the effect is",
            "sysctl -w net.core.rmem_max=1048576 or more",
        ),
        finding(
            "load",
            load,
            "the machine is quiet enough to measure on",
            "others are at work: fetches may be late because of them",
            "wait until the machine is quiet, or compare with the idle phase of each run",
        ),
        finding(
            "steal",
            steal,
            "the hypervisor leaves the CPUs to this machine",
            "the hypervisor takes CPUs away: fetches and workers may be late because of it",
            "use a machine with CPUs of its own; a run tells what was stolen during it",
        ),
    ]
}

/// The answer of a check that found this; `None`: the kernel does not say.
fn finding(
    check: &'static str,
    found: Option<(String, Level)>,
    good: &'static str,
    bad: &'static str,
    advice: &'static str,
) -> Finding {
    let unknown = || ("the kernel does not say".to_owned(), Level::Unknown);
    let (finding, level) = found.unwrap_or_else(unknown);
    let (meaning, advice) = match level {
        Level::Ok => (good, None),
        Level::Note | Level::Problem => (bad, Some(advice)),
        Level::Unknown => ("nothing is known", Some("see that /proc is mounted and can be read")),
    };
    Finding { check, level, finding, meaning, advice }
}
