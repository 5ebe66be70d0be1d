//! What the page's script is given: times to point at, and what is said of what stands there.

use std::collections::BTreeMap;

use records::{Micros, Outcome, Phase};
use serde::Serialize;
use serde_json::{Value, json};

use super::PageData;
use crate::words;

/// Layout of the data; the script knows this one.
const VERSION: u32 = 2;

/// Columns, not rows, and starts as differences: a hundred thousand holds stay a few megabytes.
pub(super) fn data(data: &PageData<'_>) -> Value {
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
