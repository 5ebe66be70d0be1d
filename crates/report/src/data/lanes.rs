//! The lanes: holds, stretches and other times away.

use std::collections::{BTreeMap, BTreeSet};

use analysis::Analysis;
use records::{Bytes, Hold, Holder, Micros, RunRecords, StepEnd, Stretch, Visibility};

use super::time::{Clock, Span};

/// A step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HoldData {
    /// Which worker.
    pub worker: u32,
    /// When.
    pub span: Span,
    /// Bytes read from the upstream.
    pub bytes: Bytes,
    /// Whose step it was.
    pub holder: Holder,
    /// What ended it.
    pub ended_by: StepEnd,
}

impl HoldData {
    /// Its length and its bytes: `1.412 s, 1.3 GiB`.
    pub(crate) fn told(&self) -> String {
        format!("{}, {}", Micros(self.span.length_us), self.bytes)
    }
}

/// A time in which a worker did short steps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StretchData {
    /// Which worker.
    pub worker: u32,
    /// When.
    pub span: Span,
    /// Time outside of polls.
    pub busy: Micros,
    /// Time in which it did short steps: that of a step long enough to be drawn is none.
    pub length: Micros,
    /// Steps in it.
    pub steps: u32,
    /// Loop turns in it.
    pub turns: u32,
}

/// Another time in which a worker was away from its poll.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AbsenceData {
    /// Which worker.
    pub worker: u32,
    /// When.
    pub span: Span,
    /// What is known of it.
    pub told: String,
}

/// Every worker that anything tells of.
pub(super) fn workers(analysis: &Analysis<'_>) -> Vec<u32> {
    let RunRecords { manifest, holds, stretches, accepted, absences, blocked, .. } =
        analysis.records;
    let mut workers: BTreeSet<u32> = BTreeSet::new();
    workers.extend(analysis.summary.proxy.workers.iter().map(|worker| worker.worker));
    workers.extend(holds.iter().map(|hold| hold.worker));
    workers.extend(stretches.iter().map(|stretch| stretch.worker));
    workers.extend(accepted.iter().map(|accepted| accepted.worker));
    workers.extend(absences.iter().map(|absence| absence.worker));
    workers.extend(blocked.iter().map(|blocked| blocked.worker));
    if manifest.visibility == Visibility::Own {
        workers.extend(0..manifest.arm.proxy.workers);
    }
    workers.into_iter().collect()
}

/// Holds by start, and where each record went.
pub(super) fn holds(analysis: &Analysis<'_>, clock: Clock) -> (Vec<HoldData>, Vec<usize>) {
    let mut order: Vec<(usize, &Hold)> = analysis.records.holds.iter().enumerate().collect();
    order.sort_by_key(|(_, hold)| (hold.start_ns, hold.worker));
    let mut places = vec![0; order.len()];
    for (new, (old, _)) in order.iter().enumerate() {
        places[*old] = new;
    }
    let of = |(old, hold): (usize, &Hold)| HoldData {
        worker: hold.worker,
        span: clock.span(hold.start_ns, hold.end_ns),
        bytes: hold.bytes,
        holder: analysis.holder(old).unwrap_or(Holder::Session(hold.session)),
        ended_by: hold.ended_by,
    };
    (order.into_iter().map(of).collect(), places)
}

/// Stretches with work in them; one that is a hold and nothing else is drawn as that. Neighbours that
/// look alike are one, as long as what lies between them cannot be seen.
pub(super) fn stretches(records: &RunRecords, clock: Clock) -> Vec<StretchData> {
    /// What may stand before a hold in its stretch and still not be seen.
    const NOTHING: Micros = Micros(200);
    /// A gap of this part of the run is less than a pixel, even at a zoom of 20.
    const UNSEEN: u64 = 20_000;
    let hold_ends: BTreeMap<(u32, u64), &Hold> =
        records.holds.iter().map(|hold| ((hold.worker, hold.end_ns.0), hold)).collect();
    let only_a_hold = |stretch: &Stretch| {
        let hold = hold_ends.get(&(stretch.worker, stretch.end_ns.0));
        hold.is_some_and(|hold| hold.start_ns.micros_since(stretch.start_ns) <= NOTHING)
    };
    let with_work = |stretch: &&Stretch| stretch.steps > 0 && !only_a_hold(stretch);
    let mut all: Vec<&Stretch> = records.stretches.iter().filter(with_work).collect();
    all.sort_by_key(|stretch| (stretch.worker, stretch.start_ns));
    let mut rows: Vec<StretchData> = Vec::new();
    for stretch in all {
        let length = stretch.length_us();
        let one = StretchData {
            worker: stretch.worker,
            span: clock.span(stretch.start_ns, stretch.end_ns),
            busy: Micros(length.0.saturating_sub(stretch.poll_us.0)),
            length,
            steps: stretch.steps,
            turns: stretch.turns,
        };
        let near = |last: &&mut StretchData| {
            let gap = one.span.start_us.saturating_sub(last.span.end_us());
            last.worker == one.worker && last.shade() == one.shade() && gap < clock.end_us / UNSEEN
        };
        match rows.last_mut().filter(near) {
            Some(last) => last.add(&one),
            None => rows.push(one),
        }
    }
    rows.sort_by_key(|row| row.span.start_us);
    rows
}

impl StretchData {
    /// Part of it outside of polls, per cent.
    pub(crate) fn busy_percent(&self) -> u64 {
        self.busy.0.saturating_mul(100).checked_div(self.length.0).unwrap_or(0).min(100)
    }

    /// How dark it is: one of five.
    pub(crate) fn shade(&self) -> u64 {
        (self.busy_percent() + 12) / 25
    }

    fn add(&mut self, next: &Self) {
        self.span = Span::new(self.span.start_us, next.span.end_us());
        self.busy = Micros(self.busy.0.saturating_add(next.busy.0));
        self.length = Micros(self.length.0.saturating_add(next.length.0));
        self.steps = self.steps.saturating_add(next.steps);
        self.turns = self.turns.saturating_add(next.turns);
    }
}

/// What was seen of workers that do not tell of themselves.
pub(super) fn absences(records: &RunRecords, clock: Clock) -> Vec<AbsenceData> {
    let absent = records.absences.iter().map(|absence| AbsenceData {
        worker: absence.worker,
        span: clock.span(absence.start_ns, absence.end_ns),
        told: format!(
            "not seen in its poll in {} looks: {} running, {} without a CPU, {} asleep elsewhere",
            absence.looks, absence.running, absence.waiting, absence.blocked
        ),
    });
    // Of many threads at once they would lie upon each other.
    let of_one = records.manifest.visibility != Visibility::Threads;
    let asleep = records.blocked.iter().filter(|_| of_one).map(|blocked| AbsenceData {
        worker: blocked.worker,
        span: clock.span(blocked.start_ns, blocked.end_ns),
        told: match blocked.call.as_str() {
            "" => "asleep in no call: a page fault".to_owned(),
            call => format!("asleep in {call}"),
        },
    });
    let mut spans: Vec<AbsenceData> = absent.chain(asleep).collect();
    spans.sort_by_key(|absence| absence.span.start_us);
    spans
}
