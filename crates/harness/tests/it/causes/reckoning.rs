//! An independent reckoning of a real run: the raw record files, read as plain JSON, joined by port
//! and laid upon each other with nothing of ours but arithmetic.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use serde_json::Value;

/// What held one late fetch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) fetch: u64,
    /// Time inside holds of other sessions of its worker.
    pub(crate) held_ns: u64,
    /// The download whose holds took the largest part of that.
    pub(crate) download: Option<u64>,
}

/// Every fetch under load that failed and that a worker accepted, in the order of the records.
pub(crate) fn failed_and_accepted(dir: &Path) -> Vec<Found> {
    let records = |name: &str, kind: &str| -> Vec<Value> {
        let text = fs::read_to_string(dir.join(name)).expect("a record file");
        let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
        lines.filter(|record| record["record"] == kind).collect()
    };
    let (accepted, holds) =
        (records("sessions.ndjson", "accepted"), records("steps.ndjson", "hold"));
    let slots: HashMap<u64, u64> = records("downloads.ndjson", "dialed")
        .iter()
        .map(|dialed| (number(dialed, "client_port"), number(dialed, "slot")))
        .collect();
    let fetches = records("fetches.ndjson", "fetch").into_iter();
    fetches
        .filter(|fetch| fetch["phase"] == "measure" && fetch["outcome"] != "ok")
        .filter_map(|fetch| {
            let port = fetch["client_port"].as_u64()?;
            let start = number(&fetch, "start_ns");
            let own = accepted
                .iter()
                .filter(|accept| number(accept, "client_port") == port)
                .find(|accept| number(accept, "at_ns") >= start)?;
            let end = number(&fetch, "intended_ns") + number(&fetch, "response_us") * 1_000;
            let connected = start + fetch["connect_us"].as_u64()? * 1_000;
            let mut by_port: HashMap<u64, u64> = HashMap::new();
            for hold in holds.iter().filter(|hold| hold["worker"] == own["worker"]) {
                let from = number(hold, "start_ns").max(connected);
                let to = number(hold, "end_ns").min(end);
                if hold["session"] != own["session"] && to > from {
                    *by_port.entry(number(hold, "client_port")).or_default() += to - from;
                }
            }
            let most = by_port.iter().max_by_key(|(_, held)| **held).map(|(port, _)| *port);
            Some(Found {
                fetch: number(&fetch, "fetch"),
                held_ns: by_port.values().sum(),
                download: most.and_then(|port| slots.get(&port)).copied(),
            })
        })
        .collect()
}

/// The same of one fetch, as `explain --fetch N --json` has it.
#[derive(Debug)]
pub(crate) struct Told {
    /// Time that holds are blamed for.
    pub(crate) held_ns: u64,
    /// Time inside holds that others than the worker are blamed for: they had its CPU.
    pub(crate) robbed_ns: u64,
    /// The download whose holds took the largest part.
    pub(crate) download: Option<u64>,
}

pub(crate) fn told(story: &Value) -> Told {
    let empty = Vec::new();
    let mut by_download: HashMap<u64, u64> = HashMap::new();
    let (mut held_ns, mut robbed_ns) = (0, 0);
    for stay in story["stays"].as_array().unwrap_or(&empty) {
        let causes = stay["causes"].as_array().unwrap_or(&empty);
        let of = |cause: &str| -> u64 {
            let parts = causes.iter().filter(|part| part["cause"] == cause);
            parts.map(|part| number(part, "time_ns")).sum()
        };
        let held = of("held_by_step");
        held_ns += held;
        if let Some(slot) = stay["worker_did"]["hold"]["holder"]["download"].as_u64() {
            robbed_ns += of("off_cpu_runnable");
            *by_download.entry(slot).or_default() += held;
        }
    }
    let most = by_download.into_iter().max_by_key(|(_, held)| *held).map(|(slot, _)| slot);
    Told { held_ns, robbed_ns, download: most }
}

fn number(record: &Value, field: &str) -> u64 {
    record[field].as_u64().unwrap_or_else(|| panic!("no {field} in {record}"))
}
