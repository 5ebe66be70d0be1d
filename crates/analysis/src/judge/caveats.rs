//! Reasons to trust a number less, each said in terms of this run.

use records::{
    Arrivals, Bytes, Capture, Caveat, CaveatCode, Manifest, Micros, ProxyKind, Recording,
    RoleProcess, SchedulerFigures, SocketSetting, TraceMode, Visibility, WorkerSummary, percent,
    percent_beside,
};

use super::preconditions::Stuck;
use super::{Facts, SHORTAGE, count, list, measured_when};
use crate::figures::seen::Untraced;
use crate::figures::workers;
use crate::thresholds::{self, part};

/// The caveats of a run, the weightiest first.
pub(crate) fn caveats(facts: &Facts<'_>) -> Vec<Caveat> {
    let mut caveats = Vec::new();
    if facts.manifest.captured.is_some() {
        return caveats;
    }
    let mut say = |code, message: Option<String>| {
        caveats.extend(message.map(|message| Caveat { code, message }));
    };
    say(CaveatCode::Interrupted, interrupted(facts));
    say(CaveatCode::UnevenPlacement, uneven_placement(facts));
    say(CaveatCode::DownloadsHeld, downloads_held(facts));
    for message in buffers_not_as_asked(facts) {
        say(CaveatCode::BufferNotAsAsked, Some(message));
    }
    say(CaveatCode::RecordsLost, records_lost(facts));
    say(CaveatCode::FetchesUntried, fetches_untried(facts));
    say(CaveatCode::AcceptPaused, accept_paused(facts));
    say(CaveatCode::ClientLate, client_late(facts));
    say(CaveatCode::StolenCpu, stolen_cpu(facts));
    say(CaveatCode::BusyHost, busy_host(facts));
    say(CaveatCode::SharedCpu, shared_cpu(facts));
    say(CaveatCode::NotPinned, not_pinned(facts));
    say(CaveatCode::FigureMissing, figure_missing(facts));
    say(CaveatCode::PacketsMissing, packets_missing(facts));
    say(CaveatCode::FewFetches, few_fetches(facts));
    say(CaveatCode::ClosedLoop, closed_loop(facts));
    caveats
}

fn downloads_held(facts: &Facts<'_>) -> Option<String> {
    match Stuck::of(facts) {
        Stuck::HeldToo(finding) => Some(finding),
        Stuck::None | Stuck::NoLoad(_) => None,
    }
}

fn interrupted(facts: &Facts<'_>) -> Option<String> {
    let signal = facts.manifest.interrupted.as_ref()?;
    let (measured, wanted) = (facts.summary.measured_us, facts.manifest.measure_us);
    Some(if facts.is_measured() {
        format!("{signal} cut the run short: {measured} of {wanted} were measured")
    } else {
        format!("{signal} cut the run short before anything was measured")
    })
}

/// With a listener each, the kernel's hash sends a fetch to a held worker whether or not another
/// is free; with a shared listener a free worker takes it.
fn uneven_placement(facts: &Facts<'_>) -> Option<String> {
    // Of a command it is not known which of its threads listen.
    let listens = |worker: &&WorkerSummary| {
        worker.sessions > 0 || !facts.manifest.arm.server.kind.is_command()
    };
    let workers = facts.summary.proxy.workers.iter().filter(listens).count() as u64;
    let holding = facts.summary.slow.workers_holding;
    let wanted = facts.manifest.arm.load.slow > 0 && facts.is_measured();
    if !wanted || workers == 0 || holding >= workers {
        return None;
    }
    let held = match holding {
        0 => return Some(format!("none of {workers} workers held a download while fetches ran")),
        1 => format!("1 of {workers} workers holds a download"),
        _ => format!("{holding} of {workers} workers hold a download"),
    };
    Some(if facts.manifest.arm.proxy.reuseport {
        let bound = percent(holding as f64 / workers as f64);
        format!("{held}: at most about {bound} of the fetches can meet it")
    } else {
        format!("{held}: the others are free to accept every fetch")
    })
}

fn buffers_not_as_asked(facts: &Facts<'_>) -> Vec<String> {
    let mut messages: Vec<String> = Vec::new();
    for process in &facts.manifest.processes {
        for setting in &process.effective.sockets {
            if let Some(message) = buffer_not_as_asked(facts, process, setting)
                && !messages.contains(&message)
            {
                messages.push(message);
            }
        }
    }
    messages
}

/// The kernel keeps twice what it grants (socket(7)); only that is as asked.
fn buffer_not_as_asked(
    facts: &Facts<'_>,
    process: &RoleProcess,
    setting: &SocketSetting,
) -> Option<String> {
    let asked = setting.requested?;
    let (role, name) = (process.role, &setting.name);
    // A low-water mark is no buffer: it is kept as it is asked for, or capped (tcp_set_rcvlowat).
    let kept = if name.contains("LOWAT") { asked.0 } else { asked.0.saturating_mul(2) };
    if setting.effective.0 == kept {
        return None;
    }
    let granted = Bytes(setting.effective.0 / 2);
    let finding = format!("{role}, {name}: asked for {asked}, the kernel grants {granted}");
    if granted > asked {
        return Some(format!("{finding}, the least it allows"));
    }
    let limit = if name.contains("SNDBUF") { "net.core.wmem_max" } else { "net.core.rmem_max" };
    let value = facts.manifest.host.sysctls.get(limit);
    let value = value.map(|value| format!(" = {value}")).unwrap_or_default();
    Some(format!("{finding} ({limit}{value}); raise that limit or ask for less"))
}

fn records_lost(facts: &Facts<'_>) -> Option<String> {
    let fetches = (facts.fetches_missing() > 0).then(|| {
        let missing = count(facts.fetches_missing(), "fetch", "fetches");
        format!("{missing} left no record")
    });
    let proxy = (facts.records_lost() > 0).then(|| {
        let lost = count(facts.records_lost(), "record", "records");
        format!("the proxy lost {lost}: rows of workers and statuses may lack some")
    });
    let answers = facts.manifest.answers_lost;
    let origin = (answers > 0).then(|| {
        let requests = count(answers, "request", "requests");
        format!(
            "the origin has no record of {requests}: where it kept those waiting, another cause may \
             stand for `upstream`"
        )
    });
    let unread = facts.manifest.log_lines_unread;
    let lines = (unread > 0).then(|| {
        let lines = count(unread, "line", "lines");
        format!(
            "{lines} of the access log could not be read (`roles.log` quotes the first): what they \
             tell of counts as not logged"
        )
    });
    let lost: Vec<String> = fetches.into_iter().chain(proxy).chain(origin).chain(lines).collect();
    (!lost.is_empty()).then(|| lost.join("; "))
}

fn packets_missing(facts: &Facts<'_>) -> Option<String> {
    let Capture { dropped, ended, .. } = facts.manifest.capture.as_ref()?;
    let lost = (*dropped > 0).then(|| {
        format!("{} not kept: tcpdump was too slow", count(*dropped, "packet was", "packets were"))
    });
    let ended = ended.as_ref().map(|why| format!("packets were kept for a part of the run: {why}"));
    let all: Vec<String> = lost.into_iter().chain(ended).collect();
    (!all.is_empty()).then(|| all.join("; "))
}

fn fetches_untried(facts: &Facts<'_>) -> Option<String> {
    let untried = facts.summary.measure.outcomes.untried();
    (untried > 0).then(|| {
        format!(
            "{} could not be tried: {SHORTAGE}; they are no failures, and no fetches, of the proxy",
            count(untried, "fetch", "fetches")
        )
    })
}

fn accept_paused(facts: &Facts<'_>) -> Option<String> {
    let (workers, times): (Vec<u32>, Vec<u64>) =
        workers::accept_pauses(facts.context.records).into_iter().unzip();
    let times = times.into_iter().fold(0, u64::saturating_add);
    let word = if workers.len() == 1 { "worker" } else { "workers" };
    (!workers.is_empty()).then(|| {
        format!(
            "{word} {} turned clients away or stopped accepting {} for want of connections or \
             descriptors: fetches may have failed or waited for that; raise the limit of open files",
            list(&workers),
            count(times, "time", "times")
        )
    })
}

fn client_late(facts: &Facts<'_>) -> Option<String> {
    let (lag, cap) = (facts.summary.measure.lag_us, facts.manifest.arm.fetch.cap);
    let most = Micros(lag.max);
    let limit = part(cap, thresholds::LAG_OF_CAP);
    (most > limit).then(|| {
        format!(
            "the fast client started a fetch up to {} late (p90 {}): times from the intended \
             start count that, times from the real start do not",
            most.beside(limit),
            Micros(lag.p90)
        )
    })
}

fn stolen_cpu(facts: &Facts<'_>) -> Option<String> {
    let stolen = Micros(facts.manifest.host.stolen_ms.saturating_mul(1_000));
    let share = facts.stolen_share()?;
    (share > thresholds::STEAL_CAVEAT).then(|| {
        format!(
            "the hypervisor took {stolen} of CPU time in {} ({}; a caveat above {}): some waiting is \
             its doing",
            facts.elapsed_us(),
            percent_beside(share, thresholds::STEAL_CAVEAT),
            percent(thresholds::STEAL_CAVEAT)
        )
    })
}

fn busy_host(facts: &Facts<'_>) -> Option<String> {
    let (cpu, share) = facts.taken_by_others()?;
    (share > thresholds::CONTENTION_CAVEAT).then(|| {
        format!(
            "others than the workers took at least {} of CPU {cpu} (a caveat above {}): some \
             waiting is their doing",
            percent_beside(share, thresholds::CONTENTION_CAVEAT),
            percent(thresholds::CONTENTION_CAVEAT)
        )
    })
}

fn shared_cpu(facts: &Facts<'_>) -> Option<String> {
    let (host, own) = (&facts.manifest.host, &facts.manifest.arm.cpus);
    // Who has CPUs of its own choice is not where the rest of the load is.
    let load = ("load", &host.load_cpus);
    let roles = own.iter().map(|(role, cpus)| (role.name(), cpus));
    let with_workers = |&(_, cpus): &(&str, &Vec<usize>)| shares_any(cpus, &host.worker_cpus);
    let (mut who, cpus): (Vec<&str>, Vec<&Vec<usize>>) =
        std::iter::once(load).chain(roles).filter(with_workers).unzip();
    who.insert(0, "workers");
    let mut shared: Vec<usize> = host.worker_cpus.clone();
    shared.retain(|cpu| cpus.iter().any(|cpus| cpus.contains(cpu)));
    shared.sort_unstable();
    shared.dedup();
    let word = if shared.len() == 1 { "CPU" } else { "CPUs" };
    (!shared.is_empty()).then(|| {
        format!(
            "{} share {word} {}: a worker that waits for its CPU looks like one that \
             is held",
            list(&who),
            list(&shared)
        )
    })
}

fn shares_any(some: &[usize], others: &[usize]) -> bool {
    some.iter().any(|cpu| others.contains(cpu))
}

fn not_pinned(facts: &Facts<'_>) -> Option<String> {
    let host = &facts.manifest.host;
    let free = match (host.worker_cpus.is_empty(), host.load_cpus.is_empty()) {
        (false, false) => return None,
        (true, true) => "workers and load are",
        (true, false) => "the workers are",
        (false, true) => "the load is",
    };
    Some(format!("{free} not pinned: runs differ with where the scheduler puts them"))
}

fn figure_missing(facts: &Facts<'_>) -> Option<String> {
    if !facts.is_measured() {
        return None;
    }
    let minimal = facts.manifest.recording == Recording::Minimal;
    if let Some(untraced) = facts.untraced.filter(|_| !minimal) {
        let Untraced { answers, of_answers, downloads, of_downloads } = untraced;
        return Some(format!(
            "{answers} of {of_answers} answered fetches and {downloads} of {of_downloads} downloads \
             were served by threads that were not traced: steps are unknown, and so is what held \
             them"
        ));
    }
    let workers = &facts.summary.proxy.workers;
    let lacking = |figures: SchedulerFigures| -> Vec<u32> {
        let lacking = workers.iter().filter(|worker| worker.scheduler == figures);
        lacking.map(|worker| worker.worker).collect()
    };
    let unsampled = lacking(SchedulerFigures::None);
    let said = match facts.manifest.visibility {
        _ if minimal => {
            "--recording minimal leaves out steps and CPU figures: nothing is known of what held \
             the workers, nor is it checked whether others took their CPU"
        }
        Visibility::Sampled => {
            "the workers were looked at a thousand times a second, not traced: steps are \
             unknown, and a poll that does not sleep is not seen (a trace needs root, \
             and a kernel with BTF)"
        }
        Visibility::Threads => return None,
        Visibility::LogOnly => "of the proxy only its access log tells: steps are unknown",
        Visibility::ClientsOnly if handed_on(facts.manifest) => {
            "the threads of the command hand work to each other: none of them serves what its \
             own poll returned, so steps are unknown"
        }
        Visibility::ClientsOnly => {
            "only the clients' side is known: nothing is said of the proxy's workers"
        }
        Visibility::Own | Visibility::Traced if workers.is_empty() => {
            "nothing is known of the proxy's workers: only the clients told"
        }
        Visibility::Own | Visibility::Traced if !unsampled.is_empty() => {
            let workers = list(&unsampled);
            return Some(format!(
                "no CPU figures of worker {workers}: too few samples in the measure phase"
            ));
        }
        Visibility::Own | Visibility::Traced if lacking(SchedulerFigures::NoWait).is_empty() => {
            return None;
        }
        Visibility::Own | Visibility::Traced => {
            "the kernel hides schedstat (CONFIG_SCHED_INFO): %wait is unknown, %CPU counts in ticks of \
             10 ms"
        }
    };
    Some(said.to_owned())
}

/// A command's threads are always looked at, unless nobody wants it or it makes no sense.
fn handed_on(manifest: &Manifest) -> bool {
    matches!(manifest.arm.server.kind, ProxyKind::Exec(_))
        && manifest.arm.server.trace != TraceMode::Off
}

/// What Gil Tene called coordinated omission.
fn closed_loop(facts: &Facts<'_>) -> Option<String> {
    let Arrivals::Closed(at_a_time) = facts.manifest.arm.fetch.arrivals else { return None };
    Some(format!(
        "a closed loop has {} at a time: while the server stalls no other is made, so percentiles hide \
         most of the waiting (coordinated omission); --arrivals with a rate shows it",
        count(at_a_time.into(), "fetch", "fetches")
    ))
}

fn few_fetches(facts: &Facts<'_>) -> Option<String> {
    let attempts = facts.summary.measure.attempts;
    (attempts > 0 && attempts < thresholds::COARSE_FETCHES).then(|| {
        format!(
            "{} {}: p99 is their maximum (from {} on it is not)",
            count(attempts, "fetch", "fetches"),
            measured_when(&facts.manifest.arm),
            thresholds::COARSE_FETCHES
        )
    })
}
