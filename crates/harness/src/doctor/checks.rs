//! From facts to findings: every rule and its words.

use records::{Bytes, Rcvbuf};

use super::facts::Facts;
use super::{Finding, Level};

/// The receive buffer of the published cure.
const CURE: u64 = 40_960;
/// nginx's default backlog on Linux (`ngx_linux_config.h`), and ours.
const BACKLOG: u64 = 511;
/// A load average per CPU above this means that others are at work.
const BUSY: f32 = 0.5;
/// A stolen share above this shows in latencies.
const STOLEN: f64 = 0.01;

/// All findings, in the order of what matters most.
pub(super) fn all(facts: &Facts) -> Vec<Finding> {
    vec![
        cpus(facts),
        kernel(facts),
        receive_buffer(facts),
        receive_limit(facts),
        backlog(facts),
        load(facts),
        steal(facts),
        tracing(facts),
    ]
}

fn found(
    check: &'static str,
    level: Level,
    finding: impl Into<String>,
    meaning: impl Into<String>,
) -> Finding {
    Finding { check, level, finding: finding.into(), meaning: meaning.into(), advice: None }
}

fn unknown(check: &'static str, what: &str) -> Finding {
    let advice = "see that /proc is mounted and can be read";
    found(check, Level::Unknown, format!("the kernel does not say {what}"), "nothing is known")
        .advise(advice)
}

impl Finding {
    fn advise(mut self, advice: impl Into<String>) -> Self {
        self.advice = Some(advice.into());
        self
    }
}

pub(super) fn cpus(facts: &Facts) -> Finding {
    const CHECK: &str = "cpus";
    match facts.allowed_cpus {
        None => unknown(CHECK, "which CPUs may be used"),
        Some(0 | 1) => found(
            CHECK,
            Level::Problem,
            "1 CPU may be used",
            "workers and load share it: a late fetch may be late for want of CPU, not of a worker",
        )
        .advise("use a machine, a container or a cpuset with 2 CPUs or more"),
        Some(2) => found(
            CHECK,
            Level::Ok,
            "2 CPUs may be used",
            "the workers share the first, origin and clients the second",
        ),
        Some(more) => found(
            CHECK,
            Level::Ok,
            format!("{more} CPUs may be used"),
            "a CPU for each worker, and at least a third of them for origin and clients",
        ),
    }
}

pub(super) fn kernel(facts: &Facts) -> Finding {
    const CHECK: &str = "kernel";
    let Some((release, version)) =
        facts.kernel.as_ref().and_then(|release| Some((release, version(release)?)))
    else {
        return unknown(CHECK, "its version");
    };
    let finding = format!("Linux {release}");
    if version < (3, 9) {
        found(CHECK, Level::Problem, finding, "neither SO_REUSEPORT (3.9) nor EPOLLEXCLUSIVE (4.5)")
            .advise("use Linux 4.5 or later")
    } else if version < (4, 5) {
        found(
            CHECK,
            Level::Problem,
            finding,
            "no EPOLLEXCLUSIVE (4.5): a shared listener cannot be watched as nginx does",
        )
        .advise("use --reuseport, or Linux 4.5 or later")
    } else {
        found(CHECK, Level::Ok, finding, "SO_REUSEPORT (3.9) and EPOLLEXCLUSIVE (4.5) are there")
    }
}

/// `(6, 1)` of `6.1.0-13-amd64`.
fn version(release: &str) -> Option<(u32, u32)> {
    let mut parts = release.split(|letter: char| !letter.is_ascii_digit());
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

pub(super) fn receive_buffer(facts: &Facts) -> Finding {
    const CHECK: &str = "tcp_rmem";
    let Some(most) = facts.tcp_rmem.as_deref().and_then(most_of).map(Bytes) else {
        return unknown(CHECK, "net.ipv4.tcp_rmem");
    };
    let finding = format!("a receive buffer may grow to {most}");
    if most.0 <= 2 * CURE {
        found(
            CHECK,
            Level::Note,
            finding,
            "so small that the published cure is in force already: starvation may not show",
        )
        .advise("raise the third figure of net.ipv4.tcp_rmem to its default of 6 MiB or more")
    } else {
        found(
            CHECK,
            Level::Ok,
            finding,
            "as much may wait for one worker with --rcvbuf auto; it bounds a fionread step there",
        )
    }
}

pub(super) fn receive_limit(facts: &Facts) -> Finding {
    const CHECK: &str = "rmem_max";
    let Some(most) = facts.rmem_max else { return unknown(CHECK, "net.core.rmem_max") };
    let capped = format!("--rcvbuf is capped at {most}");
    if most.0 < CURE {
        let meaning = format!("the published cure of {CURE} bytes becomes a smaller one");
        let advice = format!("sysctl -w net.core.rmem_max={CURE} or more");
        found(CHECK, Level::Note, capped, meaning).advise(advice)
    } else if most < Rcvbuf::ROOMY {
        let roomy = Rcvbuf::ROOMY;
        let meaning = format!(
            "less than the mirror's usual {roomy}: it leaves its buffers to the kernel, whose luck \
             decides how strong the effect is"
        );
        let advice = format!("sysctl -w net.core.rmem_max={}", roomy.0);
        found(CHECK, Level::Note, capped, meaning).advise(advice)
    } else {
        let finding = format!("--rcvbuf works up to {most}");
        let meaning = "the kernel keeps twice what is asked for; a run tells both";
        found(CHECK, Level::Ok, finding, meaning)
    }
}

/// The third of three figures.
fn most_of(figures: &str) -> Option<u64> {
    figures.split_whitespace().nth(2)?.parse().ok()
}

pub(super) fn backlog(facts: &Facts) -> Finding {
    const CHECK: &str = "somaxconn";
    match facts.somaxconn {
        None => unknown(CHECK, "net.core.somaxconn"),
        Some(most) if most < BACKLOG => found(
            CHECK,
            Level::Note,
            format!("accept queues are capped at {most}"),
            format!(
                "the proxy asks for {BACKLOG}; beyond the cap connects are dropped and retried"
            ),
        )
        .advise("sysctl -w net.core.somaxconn=4096"),
        Some(most) => found(
            CHECK,
            Level::Ok,
            format!("accept queues may have {most} connections"),
            "fetches wait in them while a worker is held",
        ),
    }
}

pub(super) fn load(facts: &Facts) -> Finding {
    const CHECK: &str = "load";
    let (Some(load), Some(cpus)) = (facts.load_average, facts.allowed_cpus) else {
        return unknown(CHECK, "its load average");
    };
    let finding = format!("load average {load:.2}, CPUs {cpus}");
    // A count of CPUs is far below 2^24, where f32 is exact.
    if load > BUSY * u16::try_from(cpus).map_or(f32::MAX, f32::from) {
        found(
            CHECK,
            Level::Note,
            finding,
            "others are at work: fetches may be late because of them",
        )
        .advise("wait until the machine is quiet, or compare with the idle phase of each run")
    } else {
        found(CHECK, Level::Ok, finding, "the machine is quiet enough to measure on")
    }
}

pub(super) fn steal(facts: &Facts) -> Finding {
    const CHECK: &str = "steal";
    let Some(share) = facts.stolen_share else { return unknown(CHECK, "how much CPU was stolen") };
    let finding = format!("{:.2} % of CPU time was stolen since boot", share * 100.0);
    if share > STOLEN {
        found(
            CHECK,
            Level::Note,
            finding,
            "the hypervisor takes CPUs away: fetches and workers may be late because of it",
        )
        .advise("use a machine with CPUs of its own; a run tells what was stolen during it")
    } else {
        found(CHECK, Level::Ok, finding, "the hypervisor leaves the CPUs to this machine")
    }
}

pub(super) fn tracing(facts: &Facts) -> Finding {
    const CHECK: &str = "tracing";
    let finding = match (facts.root, facts.btf) {
        (true, true) => "root, and the kernel has BTF",
        (true, false) => "root, and the kernel has no BTF",
        (false, true) => "not root, and the kernel has BTF",
        (false, false) => "not root, and the kernel has no BTF",
    };
    let meaning = "trials of the mirror need neither; tracing a foreign proxy's turns needs both";
    found(CHECK, Level::Ok, finding, meaning)
}
