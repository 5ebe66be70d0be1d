//! What the host did to a run: CPU time taken, a client that was late, limits that were met.

use records::{
    Bytes, CaveatCode, FetchSummary, Micros, RoleProcess, SocketSetting, percent, percent_beside,
};

use super::{Doubts, Facts, SHORTAGE, count, list, measured_when};
use crate::figures::workers;
use crate::thresholds::{self, part};

/// Fetches that came to nothing on this host say nothing of the proxy.
pub(super) fn untried(facts: &Facts<'_>, doubts: &mut Doubts) {
    let of = |when: &'static str, fetches: &FetchSummary| {
        let (untried, attempts) = (fetches.outcomes.untried(), fetches.attempts);
        let share = if attempts == 0 { 0.0 } else { untried as f64 / attempts as f64 };
        let said = format!(
            "{untried} of {attempts} fetches {when} could not be tried: {SHORTAGE} ({}; from {} \
             on nothing is proven); raise `ulimit -n`, widen net.ipv4.ip_local_port_range, or lower \
             --arrivals",
            percent_beside(share, thresholds::UNTRIED_SHARE),
            percent(thresholds::UNTRIED_SHARE)
        );
        (share, said)
    };
    let (share, said) = of(measured_when(&facts.manifest.arm), &facts.summary.measure);
    let (idle_share, idle) = of("without any load", &facts.summary.idle);
    if share > 0.0 {
        doubts.caveat(CaveatCode::FetchesUntried, said.clone());
    }
    if share >= thresholds::UNTRIED_SHARE {
        doubts.against.push(said);
    } else if idle_share >= thresholds::UNTRIED_SHARE {
        doubts.against.push(idle);
    }
}

pub(super) fn client(facts: &Facts<'_>, doubts: &mut Doubts) {
    let cap = facts.manifest.arm.fetch.cap;
    let limit = part(cap, thresholds::LAG_OF_CAP);
    let (idle, measure) = (facts.summary.idle.lag_us, facts.summary.measure.lag_us);
    let phases = [(measured_when(&facts.manifest.arm), measure.p90), ("while idle", idle.p90)];
    if let Some((phase, lag)) = phases.into_iter().find(|(_, lag)| Micros(*lag) > limit) {
        doubts.against.push(format!(
            "the fast client itself was late {phase}: p90 of its lag is {} (above {} of \
             the {cap} cap; this host is too busy)",
            Micros(lag).beside(limit),
            percent(thresholds::LAG_OF_CAP)
        ));
    }
    let most = Micros(measure.max);
    if most > limit {
        let message = format!(
            "the fast client started a fetch up to {} late (p90 {}): times from the intended \
             start count that, times from the real start do not",
            most.beside(limit),
            Micros(measure.p90)
        );
        doubts.caveat(CaveatCode::ClientLate, message);
    }
}

/// A host whose CPUs were away makes fetches late under any proxy.
pub(super) fn stolen(facts: &Facts<'_>, doubts: &mut Doubts) {
    let stolen = Micros(facts.manifest.host.stolen_ms.saturating_mul(1_000));
    let elapsed = Micros::from(facts.context.windows.run.length());
    // Over all CPUs: it may exceed 1.
    let share = if elapsed.0 == 0 { 0.0 } else { stolen.as_secs() / elapsed.as_secs() };
    doubts.share(
        CaveatCode::StolenCpu,
        share,
        [thresholds::STEAL_CAVEAT, thresholds::STEAL_LIMIT],
        [
            &format!("the hypervisor took {stolen} of CPU time,"),
            &format!("of {elapsed}"),
            "some waiting is its doing; run it again when its neighbours are quiet",
        ],
    );
}

/// A worker that others keep from its CPU makes fetches late under any read policy.
pub(super) fn contention(facts: &Facts<'_>, doubts: &mut Doubts) {
    let Some((cpu, share)) = facts.taken_by_others() else { return };
    doubts.share(
        CaveatCode::BusyHost,
        share,
        [thresholds::CONTENTION_CAVEAT, thresholds::CONTENTION_LIMIT],
        [
            "others than the workers took at least",
            &format!("of CPU {cpu}"),
            "some waiting is their doing; run it again when the host is quiet",
        ],
    );
}

pub(super) fn buffers(facts: &Facts<'_>, doubts: &mut Doubts) {
    let mut told: Vec<String> = Vec::new();
    for process in &facts.manifest.processes {
        let settings = process.effective.sockets.iter();
        told.extend(settings.filter_map(|set| buffer_not_as_asked(facts, process, set)));
    }
    let mut seen = std::collections::BTreeSet::new();
    told.retain(|message| seen.insert(message.clone()));
    told.into_iter().for_each(|told| doubts.caveat(CaveatCode::BufferNotAsAsked, told));
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

pub(super) fn accepting(facts: &Facts<'_>, doubts: &mut Doubts) {
    let (workers, times): (Vec<u32>, Vec<u64>) =
        workers::accept_pauses(facts.context.records).into_iter().unzip();
    if workers.is_empty() {
        return;
    }
    let times = times.into_iter().fold(0, u64::saturating_add);
    let word = if workers.len() == 1 { "worker" } else { "workers" };
    let message = format!(
        "{word} {} turned clients away or stopped accepting {} for want of connections or \
         descriptors: fetches may have failed or waited for that; raise the limit of open files",
        list(&workers),
        count(times, "time", "times")
    );
    doubts.caveat(CaveatCode::AcceptPaused, message);
}

pub(super) fn pinning(facts: &Facts<'_>, doubts: &mut Doubts) {
    let (host, own) = (&facts.manifest.host, &facts.manifest.arm.cpus);
    let free = match (host.worker_cpus.is_empty(), host.load_cpus.is_empty()) {
        (false, false) => None,
        (true, true) => Some("workers and load are"),
        (true, false) => Some("the workers are"),
        (false, true) => Some("the load is"),
    };
    if let Some(free) = free {
        let said = format!("{free} not pinned: runs differ with where the scheduler puts them");
        doubts.caveat(CaveatCode::NotPinned, said);
    }
    // Who has CPUs of its own choice is not where the rest of the load is.
    let load = ("load", &host.load_cpus);
    let roles = own.iter().map(|(role, cpus)| (role.name(), cpus));
    let shares = |cpus: &[usize]| cpus.iter().any(|cpu| host.worker_cpus.contains(cpu));
    let (mut who, cpus): (Vec<&str>, Vec<&Vec<usize>>) =
        std::iter::once(load).chain(roles).filter(|(_, cpus)| shares(cpus)).unzip();
    who.insert(0, "workers");
    let mut shared: Vec<usize> = host.worker_cpus.clone();
    shared.retain(|cpu| cpus.iter().any(|cpus| cpus.contains(cpu)));
    shared.sort_unstable();
    shared.dedup();
    if !shared.is_empty() {
        let word = if shared.len() == 1 { "CPU" } else { "CPUs" };
        let message = format!(
            "{} share {word} {}: a worker that waits for its CPU looks like one that is held",
            list(&who),
            list(&shared)
        );
        doubts.caveat(CaveatCode::SharedCpu, message);
    }
}
