//! What was written comes back; what is wrong is named by file and line.

use std::fs;
use std::path::Path;

use records::run_dir::{DOWNLOADS, FETCHES, MANIFEST, ORIGIN, SESSIONS, STEPS, WORKERS};
use records::{
    Accepted, Answered, Dialed, Fetch, Hold, LoadError, MonoNs, Phase, Ready, Record, Role,
    RunRecords, SCHEMA_VERSION,
};
use tempfile::TempDir;
use testkit::fixture::Run;

/// Writes records as a run does.
fn write(dir: &Path, records: &RunRecords) {
    let manifest = serde_json::to_string_pretty(&records.manifest).expect("a document");
    fs::write(dir.join(MANIFEST), manifest).expect("a writable directory");
    let lines = |records: Vec<Record>| -> String {
        records.iter().map(|record| record.to_line().expect("a line")).collect()
    };
    let fetches = records.fetches.iter().cloned().map(Record::Fetch);
    let downloads = records
        .dialed
        .iter()
        .cloned()
        .map(Record::Dialed)
        .chain(records.intervals.iter().cloned().map(Record::DownloadInterval))
        .chain(records.downloads.iter().cloned().map(Record::Download));
    let sessions = records
        .accepted
        .iter()
        .copied()
        .map(Record::Accepted)
        .chain(records.sessions.iter().cloned().map(Record::Session));
    let steps = records
        .holds
        .iter()
        .copied()
        .map(Record::Hold)
        .chain(records.turns.iter().copied().map(Record::LoopTurn))
        .chain(records.totals.iter().cloned().map(Record::WorkerTotals));
    let workers = records.samples.iter().copied().map(Record::WorkerSample);
    let origin = records.answered.iter().copied().map(Record::Answered);
    for (name, text) in [
        (FETCHES, lines(fetches.collect())),
        (DOWNLOADS, lines(downloads.collect())),
        (SESSIONS, lines(sessions.collect())),
        (STEPS, lines(steps.collect())),
        (WORKERS, lines(workers.collect())),
        (ORIGIN, lines(origin.collect())),
    ] {
        fs::write(dir.join(name), text).expect("a writable directory");
    }
}

fn written() -> (TempDir, RunRecords) {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let mut records = Run::starved().records;
    for (upstream_port, head_ns) in [(7, Some(MonoNs(3))), (8, None)] {
        records.answered.push(Answered { upstream_port, request_ns: MonoNs(2), head_ns });
    }
    write(dir.path(), &records);
    (dir, records)
}

/// The error of a run directory that was damaged so.
fn error_after(damage: impl FnOnce(&Path)) -> String {
    let (dir, _) = written();
    damage(dir.path());
    RunRecords::load(dir.path()).expect_err("a damaged run directory").to_string()
}

fn append(path: &Path, text: &str) {
    let before = fs::read_to_string(path).expect("a file of text");
    fs::write(path, before + text).expect("a writable file");
}

#[test]
fn every_record_comes_back() {
    let (dir, records) = written();
    assert_eq!(RunRecords::load(dir.path()).expect("a whole run directory"), records);
}

#[test]
fn a_run_that_recorded_nothing_is_a_run() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let records = Run::new().records;
    write(dir.path(), &records);
    assert_eq!(RunRecords::load(dir.path()).expect("an empty run"), records);
}

#[test]
fn what_is_no_run_directory_is_refused() {
    let nowhere = RunRecords::load(Path::new("runs/no-such-run")).expect_err("no directory");
    assert!(matches!(nowhere, LoadError::NotADirectory { .. }));
    assert!(nowhere.to_string().contains("runs/no-such-run is not a directory: name a run"));
    let dir = tempfile::tempdir().expect("a temporary directory");
    let empty = RunRecords::load(dir.path()).expect_err("an empty directory").to_string();
    assert!(empty.contains("is not a run directory: it has no manifest.json"), "{empty}");
}

#[test]
fn a_file_that_is_gone_is_missed() {
    for name in [FETCHES, DOWNLOADS, SESSIONS, STEPS, WORKERS] {
        let error = error_after(|dir| fs::remove_file(dir.join(name)).expect("a file"));
        assert!(error.contains(&format!("{name} is missing")), "{error}");
    }
}

#[test]
fn a_run_of_an_earlier_build_has_no_word_of_the_origin() {
    let (dir, records) = written();
    fs::remove_file(dir.path().join(ORIGIN)).expect("a file");
    let earlier = RunRecords::load(dir.path()).expect("a whole run of its time");
    assert_eq!(earlier, RunRecords { answered: Vec::new(), ..records });
}

#[test]
fn another_schema_version_is_named_before_its_form_is_looked_at() {
    for (version, age) in [(0, "an older"), (SCHEMA_VERSION + 1, "a newer")] {
        let error = error_after(|dir| {
            let text = format!("{{\"schema_version\": {version}, \"all\": \"else\"}}");
            fs::write(dir.join(MANIFEST), text).expect("a writable file");
        });
        let says = format!("made by {age} turnstile, schema {version}; this one reads 1");
        assert!(error.contains(&says), "{error}");
    }
}

#[test]
fn a_manifest_that_is_none_is_named() {
    let error = error_after(|dir| {
        let text = fs::read_to_string(dir.join(MANIFEST)).expect("a manifest");
        fs::write(dir.join(MANIFEST), &text[..text.len() / 2]).expect("a writable file");
    });
    assert!(error.contains("manifest.json is not a manifest"), "{error}");
}

#[test]
fn a_torn_last_line_is_refused_by_file_and_line() {
    let error = error_after(|dir| {
        let text = fs::read_to_string(dir.join(FETCHES)).expect("fetches");
        fs::write(dir.join(FETCHES), &text[..text.len() - 20]).expect("a writable file");
    });
    assert!(error.contains("fetches.ndjson:120 is torn"), "{error}");
}

/// A record that lost no more than its newline may have lost its neighbours as well.
#[test]
fn a_last_line_without_its_end_is_torn() {
    let error = error_after(|dir| {
        let text = fs::read_to_string(dir.join(STEPS)).expect("steps");
        fs::write(dir.join(STEPS), text.trim_end()).expect("a writable file");
    });
    assert!(error.contains("steps.ndjson:6 is torn"), "{error}");
}

#[test]
fn a_foreign_line_is_named_with_its_cause() {
    let (dir, records) = written();
    append(&dir.path().join(SESSIONS), "{\"record\":\"teapot\"}\n");
    let error = RunRecords::load(dir.path()).expect_err("a foreign line");
    let last = (records.accepted.len() + records.sessions.len() + 1) as u64;
    assert!(matches!(error, LoadError::Foreign { line, .. } if line == last), "{error:?}");
    let source = std::error::Error::source(&error).expect("a cause").to_string();
    assert!(source.contains("not a record of schema version 1"), "{source}");
    for garbage in ["\n", "\u{0}\n", "null\n"] {
        let error = error_after(|dir| append(&dir.join(WORKERS), garbage));
        assert!(error.contains("workers.ndjson:29 is not ours"), "{garbage:?}: {error}");
    }
    let error = error_after(|dir| fs::write(dir.join(WORKERS), b"\xff\xfe\n").expect("a file"));
    assert!(error.contains("workers.ndjson:1 is not ours"), "{error}");
}

#[test]
fn a_record_in_the_wrong_file_is_named() {
    let records = &Run::starved().records;
    let fetch: Fetch = records.fetches[0].clone();
    assert_eq!(fetch.phase, Phase::Idle);
    let at_ns = MonoNs(1);
    let hold: Hold = records.holds[0];
    let ready = Ready::new(Role::Slow, 1, records.manifest.processes[0].effective.clone());
    for (name, record) in [
        (FETCHES, Record::Ready(ready)),
        (DOWNLOADS, Record::Fetch(fetch)),
        (SESSIONS, Record::Dialed(Dialed { slot: 0, client_port: 1, at_ns })),
        (STEPS, Record::Accepted(Accepted { worker: 0, session: 0, client_port: 1, at_ns })),
        (WORKERS, Record::Hold(hold)),
        (ORIGIN, Record::Hold(hold)),
    ] {
        let line = record.to_line().expect("a line");
        let error = error_after(|dir| append(&dir.join(name), &line));
        assert!(error.contains(name) && error.contains("a record of another file"), "{error}");
    }
}
