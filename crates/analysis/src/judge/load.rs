//! Whether the load was there, and stood while fetches were measured.

use records::{CaveatCode, Micros, STARVED_SHARE, Verdict, WorkerSummary, percent, percent_beside};

use super::{Doubts, Facts, Rules, SHORTAGE, count, list};
use crate::figures::slow;
use crate::thresholds;

/// Less load than was asked for cannot make a run look starved that is not; in such a run downloads also
/// stand still behind each other, which is what is being measured. So whether it stood is asked of the
/// others alone.
pub(super) fn moves(facts: &Facts<'_>, doubts: &mut Doubts) {
    if let Some(finding) = never_moved(facts, doubts) {
        doubts.against.push(finding);
    } else if Rules::of(facts).verdict() != Verdict::Starved {
        doubts.against.extend(fallen(facts));
    }
}

/// What downloads that never received a byte mean for a run: a load that was not there, which is returned,
/// or the effect at its strongest, a caveat. A worker that one download holds from the first moment serves
/// no other either.
fn never_moved(facts: &Facts<'_>, doubts: &mut Doubts) -> Option<String> {
    let records = facts.context.records;
    let never_moved = slow::never_moved(records);
    // Before the measure phase a download may well not have moved yet.
    if !facts.is_measured() || never_moved.is_empty() {
        return None;
    }
    let (stuck, wanted) = (never_moved.len(), facts.manifest.arm.load.slow);
    let slots = list(&never_moved);
    let finding = format!("{stuck} of {wanted} downloads never received a byte (slot {slots})");
    let undialled = slow::undialled(records);
    if undialled > 0 {
        let times = count(undialled, "time", "times");
        return Some(format!(
            "{finding}: {times} {SHORTAGE} to dial one; raise `ulimit -n`, or lower --slow"
        ));
    }
    let summary = facts.summary;
    let share = summary.measure.outcomes.failed_share().unwrap_or(0.0);
    if share < STARVED_SHARE || summary.slow.bytes.0 == 0 {
        return Some(finding);
    }
    let held = format!("{finding}: held like the fetches, while others moved");
    doubts.caveat(CaveatCode::DownloadsHeld, held);
    None
}

/// Why a run without starvation proves nothing: there was no load to stand up to, since one that has
/// stopped makes every fetch fast. `None`: there was, or none was asked for.
fn fallen(facts: &Facts<'_>) -> Option<String> {
    let (load, measured) = (&facts.manifest.arm.load, facts.summary.measured_us);
    let window = facts.context.windows.measure?;
    if load.slow == 0 || measured == Micros(0) {
        return None;
    }
    if facts.summary.slow.bytes.0 == 0 {
        return Some("no download received a byte while fetches were measured".to_owned());
    }
    let records = facts.context.records;
    let long = slow::still(records, window).into_iter();
    let long = long.filter(|still| *still >= thresholds::STANDSTILL);
    let still = Micros(long.fold(0, |sum, still| still.0.saturating_add(sum)));
    let share = still.as_secs() / measured.as_secs();
    // A request that computes is a load that moves nothing for as long as it takes.
    if share > thresholds::STOOD_STILL_SHARE && load.slow_path.is_none() {
        return Some(format!(
            "for {still} of {measured} no download received a byte ({}; at most {}): there was \
             hardly any load",
            percent_beside(share, thresholds::STOOD_STILL_SHARE),
            percent(thresholds::STOOD_STILL_SHARE)
        ));
    }
    let in_all = measured.0.saturating_mul(u64::from(load.slow));
    let broken = slow::broken(records, |ended| window.contains(ended));
    let life = Micros(in_all.checked_div(broken)?);
    (life < thresholds::DOWNLOAD_LIFE).then(|| {
        format!(
            "{} broke off in {measured}: each of {} lasted {} in the mean (below {} that is \
             no load; `downloads.ndjson` tells how they ended)",
            count(broken, "download", "downloads"),
            load.slow,
            life.beside(thresholds::DOWNLOAD_LIFE),
            thresholds::DOWNLOAD_LIFE
        )
    })
}

/// With a listener each, the kernel's hash sends a fetch to a held worker whether or not another
/// is free; with a shared listener a free worker takes it.
pub(super) fn placement(facts: &Facts<'_>, doubts: &mut Doubts) {
    // Of a command it is not known which of its threads listen.
    let listens = |worker: &&WorkerSummary| {
        worker.sessions > 0 || !facts.manifest.arm.server.kind.is_command()
    };
    let workers = facts.summary.proxy.workers.iter().filter(listens).count() as u64;
    let holding = facts.summary.slow.workers_holding;
    let wanted = facts.manifest.arm.load.slow > 0 && facts.is_measured();
    if !wanted || holding >= workers {
        return;
    }
    let held = match holding {
        1 => format!("1 of {workers} workers holds a download"),
        _ => format!("{holding} of {workers} workers hold a download"),
    };
    let bound = percent(holding as f64 / workers as f64);
    let message = match (holding, facts.manifest.arm.proxy.reuseport) {
        (0, _) => format!("none of {workers} workers held a download while fetches ran"),
        (_, true) => format!("{held}: at most about {bound} of the fetches can meet it"),
        (_, false) => format!("{held}: the others are free to accept every fetch"),
    };
    doubts.caveat(CaveatCode::UnevenPlacement, message);
}
