//! The lanes: holds, stretches and other times away.

use std::collections::{BTreeMap, BTreeSet};

use records::{Hold, Holder, Micros, Sight, StepEnd, Stretch};

use super::{Clock, per_mille};
use crate::data::{HoldColumns, OtherSpan, SpanKind, StretchColumns};
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
    if run.manifest.sight == Sight::Own {
        workers.extend(0..run.manifest.arm.workers);
    }
    workers.into_iter().collect()
}

/// Holds by start, and where each record went.
pub(super) fn holds(run: &RunInput<'_>, clock: &Clock) -> (HoldColumns, Vec<usize>) {
    let slots: BTreeMap<u16, u32> =
        run.dialed.iter().map(|dialed| (dialed.client_port, dialed.slot)).collect();
    let mut order: Vec<(usize, &Hold)> = run.holds.iter().enumerate().collect();
    order.sort_by_key(|(_, hold)| (hold.start_ns, hold.worker));
    let ends: BTreeSet<StepEnd> = run.holds.iter().map(|hold| hold.ended_by).collect();
    let ends: Vec<StepEnd> = ends.into_iter().collect();
    let mut places = vec![0; order.len()];
    let mut columns = HoldColumns {
        ends: ends.iter().map(|end| end.words()).collect(),
        ..HoldColumns::default()
    };
    for (new, (old, hold)) in order.into_iter().enumerate() {
        if let Some(place) = places.get_mut(old) {
            *place = new;
        }
        let known = run.holders.get(old).copied().flatten();
        let by_port = || slots.get(&hold.client_port).copied().map(Holder::Download);
        let holder = known.or_else(by_port).unwrap_or(Holder::Session(hold.session));
        let (holder, number) = match holder {
            Holder::Download(slot) => (i64::from(slot), 0),
            Holder::Fetch(number) => (HoldColumns::FETCH, number),
            Holder::Session(number) => (HoldColumns::OTHER, number),
        };
        let start = clock.us(hold.start_ns);
        columns.worker.push(hold.worker);
        columns.start_us.push(start);
        columns.length_us.push(clock.us(hold.end_ns).saturating_sub(start));
        columns.bytes.push(hold.bytes.0);
        columns.holder.push(holder);
        columns.number.push(number);
        columns.ended_by.push(ends.iter().position(|end| *end == hold.ended_by).unwrap_or(0));
    }
    (columns, places)
}

/// Stretches with work in them. One that is a hold and nothing else is drawn as that.
pub(super) fn stretches(run: &RunInput<'_>, clock: &Clock) -> StretchColumns {
    /// What may stand before a hold in its stretch and still not be seen.
    const NOTHING: Micros = Micros(200);
    let hold_ends: BTreeMap<(u32, u64), &Hold> =
        run.holds.iter().map(|hold| ((hold.worker, hold.end_ns.0), hold)).collect();
    let only_a_hold = |stretch: &Stretch| {
        let hold = hold_ends.get(&(stretch.worker, stretch.end_ns.0));
        hold.is_some_and(|hold| hold.start_ns.micros_since(stretch.start_ns) <= NOTHING)
    };
    let mut all: Vec<&Stretch> =
        run.stretches.iter().filter(|stretch| stretch.steps > 0 && !only_a_hold(stretch)).collect();
    all.sort_by_key(|stretch| stretch.start_ns);
    let mut columns = StretchColumns::default();
    for stretch in all {
        let (start, end) = (clock.us(stretch.start_ns), clock.us(stretch.end_ns));
        let length = stretch.length_us();
        let busy = Micros(length.0.saturating_sub(stretch.poll_us.0));
        columns.worker.push(stretch.worker);
        columns.start_us.push(start);
        columns.length_us.push(end.saturating_sub(start));
        columns.busy.push(per_mille(busy, length));
        columns.steps.push(stretch.steps);
        columns.turns.push(stretch.turns);
    }
    columns
}

/// What was seen of workers that do not tell of themselves.
pub(super) fn spans(run: &RunInput<'_>, clock: &Clock) -> Vec<OtherSpan> {
    let span = |kind, worker, start, length: Micros, words| OtherSpan {
        kind,
        worker,
        start_us: clock.us(start),
        length_us: length.0,
        words,
    };
    let absent = run.absences.iter().map(|absence| {
        let words = format!(
            "not seen in its poll in {} looks: {} running, {} without a CPU, {} asleep elsewhere",
            absence.looks, absence.running, absence.waiting, absence.blocked
        );
        span(SpanKind::Absent, absence.worker, absence.start_ns, absence.length_us(), words)
    });
    let asleep = run.blocked.iter().map(|blocked| {
        let call = if blocked.call.is_empty() { "no call: a page fault" } else { &blocked.call };
        let words = format!("asleep in {call}");
        span(SpanKind::Asleep, blocked.worker, blocked.start_ns, blocked.length_us(), words)
    });
    let mut spans: Vec<OtherSpan> = absent.chain(asleep).collect();
    spans.sort_by_key(|span| span.start_us);
    spans
}
