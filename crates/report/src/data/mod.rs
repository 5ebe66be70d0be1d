//! One run as the page, its picture and its script have it: times since its start, and what each fetch waited
//! in.

mod fetches;
mod lanes;
mod time;

use std::collections::{BTreeMap, BTreeSet};

use analysis::Analysis;
use analysis::report::Explanation;
use records::{Micros, MonoNs, Outcome, Phase, RunRecords};
use serde::Serialize;
use serde_json::{Value, json};

pub use self::fetches::FetchData;
pub use self::lanes::{AbsenceData, HoldData, StretchData};
use self::time::Clock;
pub use self::time::Span;
use crate::words;

/// One run. Times are whole microseconds since the start of its first phase.
pub struct PageData<'a> {
    /// What it is made from.
    pub analysis: &'a Analysis<'a>,
    /// Why its fetches were late.
    pub explanation: Explanation,
    /// Length of the run, us; never zero.
    pub end_us: u64,
    /// The phases that began.
    pub phases: Vec<(Phase, Span)>,
    /// The workers that have a lane.
    pub workers: Vec<u32>,
    /// The slots of the parallel downloads.
    pub downloads: Vec<u32>,
    /// Steps, by start.
    pub holds: Vec<HoldData>,
    /// Stretches with short steps in them, by start.
    pub stretches: Vec<StretchData>,
    /// Other times in which a worker was away from its poll, by start.
    pub absences: Vec<AbsenceData>,
    /// Attempts, by start.
    pub fetches: Vec<FetchData>,
    pub(crate) clock: Clock,
}

impl<'a> PageData<'a> {
    /// All that the page shows of a run.
    pub fn of(analysis: &'a Analysis<'a>) -> Self {
        let RunRecords { manifest, dialed, .. } = analysis.records;
        let clock = Clock::of(analysis.records);
        let (holds, places) = lanes::holds(analysis, clock);
        let fetches = fetches::fetches(analysis, clock, &holds, &places);
        let slots = (0..manifest.arm.load.slow).chain(dialed.iter().map(|dialed| dialed.slot));
        let shown = manifest.phases.iter().filter(|phase| phase.phase != Phase::Teardown);
        // A phase that did not end lasts as long as the run.
        let end = |end: Option<MonoNs>| end.map_or(clock.end_us, |end| clock.us(end));
        let phases: Vec<(Phase, Span)> =
            shown.map(|of| (of.phase, Span::new(clock.us(of.start_ns), end(of.end_ns)))).collect();
        let ends = phases.iter().map(|(_, span)| span.end_us());
        Self {
            analysis,
            explanation: Explanation::of(analysis),
            end_us: ends.fold(clock.end_us.max(1), u64::max),
            workers: lanes::workers(analysis),
            downloads: slots.collect::<BTreeSet<u32>>().into_iter().collect(),
            stretches: lanes::stretches(analysis.records, clock),
            absences: lanes::absences(analysis.records, clock),
            phases,
            holds,
            fetches,
            clock,
        }
    }

    /// The most connections that were seen to wait for a worker; absent: none was.
    pub(crate) fn deepest_queue(&self) -> Option<u32> {
        let samples = self.analysis.records.listeners.iter();
        samples.map(|sample| sample.queue).max().filter(|most| *most > 0)
    }

    /// Whether any fetch has no known owner, so that a lane of its own is needed.
    pub(crate) fn has_unowned(&self) -> bool {
        self.fetches.iter().any(|fetch| fetch.worker.is_none())
    }

    /// The outcomes that a legend of this run must have.
    pub(crate) fn outcomes(&self) -> impl Iterator<Item = Outcome> {
        let summary = &self.analysis.summary;
        let (idle, load) = (&summary.idle.outcomes, &summary.measure.outcomes);
        Outcome::ALL.into_iter().filter(move |outcome| {
            *outcome == Outcome::Ok || idle.count(*outcome) + load.count(*outcome) > 0
        })
    }
}

/// Layout of the data; the script knows this one.
const VERSION: u32 = 2;

/// What the page's script is given: times to point at, and what is said of what stands there. Columns, not
/// rows, and starts as differences: a hundred thousand holds stay a few megabytes.
pub(crate) fn script(data: &PageData<'_>) -> Value {
    let PageData { holds, fetches, stretches, absences, .. } = data;
    let (mut who, mut told, mut ends) = (Texts::default(), Texts::default(), Texts::default());
    json!({
        "page_version": VERSION,
        "end_us": data.end_us,
        "holds": {
            "worker": column(holds, |hold| hold.worker),
            "start_us": starts(holds.iter().map(|hold| hold.span.start_us)),
            "length_us": column(holds, |hold| hold.span.length_us),
            "who": column(holds, |hold| who.place(words::holder(hold.holder))),
            "told": column(holds, |hold| told.place(hold.told())),
            "ended_by": column(holds, |hold| ends.place(hold.ended_by.words().to_owned())),
        },
        "names": { "who": who.all, "told": told.all, "ended_by": ends.all },
        "fetches": {
            "worker": column(fetches, |fetch| fetch.worker.map_or(-1, i64::from)),
            "start_us": starts(fetches.iter().map(|fetch| fetch.span.start_us)),
            "length_us": column(fetches, |fetch| fetch.span.length_us),
            "row": column(fetches, |fetch| fetch.row),
            "outcome": column(fetches, |fetch| Outcome::ALL.iter().position(|of| *of == fetch.outcome)),
            "idle": column(fetches, |fetch| u8::from(fetch.phase == Phase::Idle)),
            "held": column(fetches, |fetch| column(&fetch.held, |(hold, _)| *hold)),
            "told": column(fetches, |fetch| fetch.told.clone()),
        },
        "outcomes": Outcome::ALL.map(Outcome::name),
        "stretches": {
            "worker": column(stretches, |stretch| stretch.worker),
            "start_us": starts(stretches.iter().map(|stretch| stretch.span.start_us)),
            "length_us": column(stretches, |stretch| stretch.span.length_us),
            "steps": column(stretches, |stretch| stretch.steps),
            "turns": column(stretches, |stretch| stretch.turns),
            "busy_percent": column(stretches, |stretch| stretch.busy_percent()),
        },
        "absences": {
            "worker": column(absences, |absence| absence.worker),
            "start_us": starts(absences.iter().map(|absence| absence.span.start_us)),
            "length_us": column(absences, |absence| absence.span.length_us),
            "told": column(absences, |absence| {
                format!("Worker {}: {}, {}.", absence.worker, Micros(absence.span.length_us), absence.told)
            }),
        },
        "summary": data.analysis.summary,
    })
}

fn column<R, V: Serialize>(rows: &[R], value: impl FnMut(&R) -> V) -> Vec<V> {
    rows.iter().map(value).collect()
}

/// Ascending numbers as the first and then the differences: half as long in JSON.
fn starts(values: impl Iterator<Item = u64>) -> Vec<u64> {
    let mut before = 0;
    let difference = |value: u64| value.saturating_sub(std::mem::replace(&mut before, value));
    values.map(difference).collect()
}

/// Texts that come again and again: each once.
#[derive(Default)]
struct Texts {
    places: BTreeMap<String, usize>,
    all: Vec<String>,
}

impl Texts {
    fn place(&mut self, text: String) -> usize {
        let next = self.all.len();
        *self.places.entry(text).or_insert_with_key(|text| {
            self.all.push(text.clone());
            next
        })
    }
}
