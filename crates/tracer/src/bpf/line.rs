//! What bpftrace says: one JSON object a line (`-f json`), most of them lines of the script.
//!
//! Invariant: a line that is not understood is none; it never ends anything.

use std::collections::BTreeMap;

use records::{Micros, StepHistogram};
use serde_json::Value;

/// One line.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Line {
    /// What the script printed: a letter and numbers.
    Told(char, Vec<u64>),
    /// A map as it is now, by its keys.
    Map(String, Map),
    /// Lengths of steps, by thread.
    Lengths(BTreeMap<u64, StepHistogram>),
    /// Events that did not fit into the buffer.
    Lost(u64),
}

/// A map: values of one number or more, by keys of one or two.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Map(pub(super) BTreeMap<Vec<u64>, Vec<u64>>);

impl Map {
    /// The value at `key`; zeros: there is none, as in the script.
    pub(super) fn get<const N: usize>(&self, key: &[u64]) -> [u64; N] {
        let mut values = [0; N];
        if let Some(found) = self.0.get(key) {
            values.iter_mut().zip(found).for_each(|(value, found)| *value = *found);
        }
        values
    }

    /// The only number at `key`.
    pub(super) fn number(&self, key: u64) -> u64 {
        let [number] = self.get(&[key]);
        number
    }
}

/// Reads a line.
pub(super) fn parse(line: &str) -> Option<Line> {
    let value: Value = serde_json::from_str(line).ok()?;
    let data = value.get("data")?;
    match value.get("type")?.as_str()? {
        "printf" => told(data.as_str()?),
        "lost_events" => Some(Line::Lost(data.get("events")?.as_u64()?)),
        "map" => {
            let (name, entries) = data.as_object()?.iter().next()?;
            let entry = |(key, value): (&String, &Value)| Some((key_of(key)?, values(value)?));
            let map = entries.as_object()?.iter().filter_map(entry).collect();
            Some(Line::Map(name.clone(), Map(map)))
        }
        "hist" => {
            let (_, threads) = data.as_object()?.iter().next()?;
            let thread = |(key, value): (&String, &Value)| {
                Some((key.parse().ok()?, histogram(value.as_array()?)))
            };
            Some(Line::Lengths(threads.as_object()?.iter().filter_map(thread).collect()))
        }
        _ => None,
    }
}

fn told(text: &str) -> Option<Line> {
    let mut words = text.split_ascii_whitespace();
    let letter = words.next()?.chars().next()?;
    let numbers = words.map(number).collect::<Option<_>>()?;
    Some(Line::Told(letter, numbers))
}

/// Numbers of lines and keys are of 64 bits; those that bpftrace takes for signed are as well: a call
/// of the number -1 is none.
fn number(text: &str) -> Option<u64> {
    text.parse().ok().or_else(|| text.parse().ok().map(i64::cast_unsigned))
}

fn key_of(key: &str) -> Option<Vec<u64>> {
    key.split(',').map(number).collect()
}

/// What is counted or added up in a map is never below zero: a count that seems to be, since a part of
/// it was lost, is none.
fn values(value: &Value) -> Option<Vec<u64>> {
    let one = |value: &Value| {
        value.as_u64().or_else(|| value.as_i64().map(|number| u64::try_from(number).unwrap_or(0)))
    };
    match value {
        Value::Array(values) => values.iter().map(one).collect(),
        single => one(single).map(|number| vec![number]),
    }
}

/// bpftrace's buckets are powers of two as well; each goes where its least length does.
fn histogram(buckets: &[Value]) -> StepHistogram {
    let mut counts = vec![0; StepHistogram::BUCKETS];
    for bucket in buckets {
        let least = bucket.get("min").and_then(Value::as_u64).unwrap_or(0);
        let count = bucket.get("count").and_then(Value::as_u64).unwrap_or(0);
        if let Some(sum) = counts.get_mut(StepHistogram::bucket(Micros(least))) {
            *sum = count.saturating_add(*sum);
        }
    }
    StepHistogram(counts)
}

#[cfg(test)]
mod tests;
