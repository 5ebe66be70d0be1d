//! The lanes: holds, stretches and other times away.

use std::collections::{BTreeMap, BTreeSet};

use records::{Hold, Holder, Micros, Stretch, Visibility};

use super::Clock;
use crate::data::{AbsenceData, HoldData, Span, StretchData};
use crate::input::RunInput;

/// Every worker that anything tells of.
pub(super) fn lanes(run: &RunInput<'_>) -> Vec<u32> {
    let mut workers: BTreeSet<u32> = BTreeSet::new();
    workers.extend(run.summary.proxy.workers.iter().map(|worker| worker.worker));
    workers.extend(run.holds.iter().map(|hold| hold.worker));
    workers.extend(run.stretches.iter().map(|stretch| stretch.worker));
    workers.extend(run.accepted.iter().map(|accepted| accepted.worker));
    workers.extend(run.absences.iter().map(|absence| absence.worker));
    workers.extend(run.blocked.iter().map(|blocked| blocked.worker));
    if run.manifest.visibility == Visibility::Own {
        workers.extend(0..run.manifest.arm.proxy.workers);
    }
    workers.into_iter().collect()
}

/// Holds by start, and where each record went.
pub(super) fn holds(run: &RunInput<'_>, clock: &Clock) -> (Vec<HoldData>, Vec<usize>) {
    let slots: BTreeMap<u16, u32> =
        run.dialed.iter().map(|dialed| (dialed.client_port, dialed.slot)).collect();
    let mut order: Vec<(usize, &Hold)> = run.holds.iter().enumerate().collect();
    order.sort_by_key(|(_, hold)| (hold.start_ns, hold.worker));
    let mut places = vec![0; order.len()];
    for (new, (old, _)) in order.iter().enumerate() {
        if let Some(place) = places.get_mut(*old) {
            *place = new;
        }
    }
    let of = |(old, hold): (usize, &Hold)| {
        let known = run.holders.get(old).copied().flatten();
        let by_port = || slots.get(&hold.client_port).copied().map(Holder::Download);
        HoldData {
            worker: hold.worker,
            span: clock.span(hold.start_ns, hold.end_ns),
            bytes: hold.bytes,
            holder: known.or_else(by_port).unwrap_or(Holder::Session(hold.session)),
            ended_by: hold.ended_by,
        }
    };
    (order.into_iter().map(of).collect(), places)
}

/// Stretches with work in them; one that is a hold and nothing else is drawn as that. Neighbours that
/// look alike are one, as long as what lies between them cannot be seen.
pub(super) fn stretches(run: &RunInput<'_>, clock: &Clock) -> Vec<StretchData> {
    /// What may stand before a hold in its stretch and still not be seen.
    const NOTHING: Micros = Micros(200);
    /// A gap of this part of the run is less than a pixel, even at a zoom of 20.
    const UNSEEN: u64 = 20_000;
    let hold_ends: BTreeMap<(u32, u64), &Hold> =
        run.holds.iter().map(|hold| ((hold.worker, hold.end_ns.0), hold)).collect();
    let only_a_hold = |stretch: &Stretch| {
        let hold = hold_ends.get(&(stretch.worker, stretch.end_ns.0));
        hold.is_some_and(|hold| hold.start_ns.micros_since(stretch.start_ns) <= NOTHING)
    };
    let with_work = |stretch: &&Stretch| stretch.steps > 0 && !only_a_hold(stretch);
    let mut all: Vec<&Stretch> = run.stretches.iter().filter(with_work).collect();
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
pub(super) fn absences(run: &RunInput<'_>, clock: &Clock) -> Vec<AbsenceData> {
    let absent = run.absences.iter().map(|absence| AbsenceData {
        worker: absence.worker,
        span: clock.span(absence.start_ns, absence.end_ns),
        told: format!(
            "not seen in its poll in {} looks: {} running, {} without a CPU, {} asleep elsewhere",
            absence.looks, absence.running, absence.waiting, absence.blocked
        ),
    });
    let asleep = run.blocked.iter().map(|blocked| AbsenceData {
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
