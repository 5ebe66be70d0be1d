//! What was written comes back; what is wrong is named by file and line.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use records::run_dir::{
    DOWNLOADS, FETCHES, MANIFEST, ORIGIN, RECORD_FILES, SESSIONS, STEPS, WORKERS,
};
use records::{
    Accepted, Answered, Bytes, CallTotal, CallTotals, Dialed, Fetch, FetchTotals, Hold, Micros,
    MonoNs, Outcome, Phase, Ready, Record, Role, RunRecords, SCHEMA_VERSION,
};
use tempfile::TempDir;
use testkit::fixture::Run;

/// Writes records as a run does.
fn write(dir: &Path, records: &RunRecords) {
    let manifest = serde_json::to_string_pretty(&records.manifest).expect("a document");
    fs::write(dir.join(MANIFEST), manifest).expect("a writable directory");
    RECORD_FILES.iter().for_each(|name| append(&dir.join(name), ""));
    let all = records.clone();
    let all = (all.fetches.into_iter().map(Record::Fetch))
        .chain(all.fetch_totals.into_iter().map(Record::FetchTotals))
        .chain(all.dialed.into_iter().map(Record::Dialed))
        .chain(all.intervals.into_iter().map(Record::DownloadInterval))
        .chain(all.downloads.into_iter().map(Record::Download))
        .chain(all.accepted.into_iter().map(Record::Accepted))
        .chain(all.sessions.into_iter().map(Record::Session))
        .chain(all.holds.into_iter().map(Record::Hold))
        .chain(all.turns.into_iter().map(Record::LoopTurn))
        .chain(all.totals.into_iter().map(Record::WorkerTotals))
        .chain(all.samples.into_iter().map(Record::WorkerSample))
        .chain(all.calls.into_iter().map(Record::CallTotals))
        .chain(all.answered.into_iter().map(Record::Answered));
    for record in all {
        append(&dir.join(record.file().expect("kept")), &record.to_line().expect("a line"));
    }
}

fn written() -> (TempDir, RunRecords) {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let mut records = Run::starved().records;
    for (upstream_port, head_ns) in [(7, Some(MonoNs(3))), (8, None)] {
        records.answered.push(Answered {
            upstream_port,
            request_ns: MonoNs(2),
            queued_until_ns: None,
            head_ns,
        });
    }
    records.fetch_totals.push(FetchTotals {
        phase: Phase::Measure,
        from_ns: MonoNs(1),
        until_ns: MonoNs(2),
        outcome: Outcome::Ok,
        times_us: vec![(Micros(7), 1), (Micros(9), 3)],
    });
    let sizes = [(1_448, 2), (4_096, 7)].into();
    let read = CallTotal { count: 9, bytes: Bytes(31_568), sizes, ..CallTotal::default() };
    let calls = [("readv".to_owned(), read)].into();
    records.calls.push(CallTotals { worker: 1, at_ns: MonoNs(9), calls });
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
    let mut file = File::options().append(true).create(true).open(path).expect("a file");
    file.write_all(text.as_bytes()).expect("a writable file");
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
    let refused = |dir: &Path| RunRecords::load(dir).expect_err("no run").to_string();
    let nowhere = refused(Path::new("runs/no-such-run"));
    assert!(nowhere.contains("runs/no-such-run is not a directory: name a run"), "{nowhere}");
    let dir = tempfile::tempdir().expect("a temporary directory");
    let empty = refused(dir.path());
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
fn what_is_torn_is_refused_by_file_and_line() {
    for (name, left, says) in [
        (MANIFEST, -300, "manifest.json is not a manifest"),
        (FETCHES, -20, "fetches.ndjson:121 is torn"),
        // A record that lost no more than its newline may have lost its neighbours as well.
        (STEPS, -1, "steps.ndjson:7 is torn"),
    ] {
        let error = error_after(|dir| {
            let text = fs::read_to_string(dir.join(name)).expect("a file");
            let left = text.len().checked_add_signed(left).expect("longer than that");
            fs::write(dir.join(name), &text[..left]).expect("a writable file");
        });
        assert!(error.contains(says), "{error}");
    }
}

#[test]
fn a_foreign_line_is_named_with_its_cause() {
    let (dir, records) = written();
    append(&dir.path().join(SESSIONS), "{\"record\":\"teapot\"}\n");
    let error = RunRecords::load(dir.path()).expect_err("a foreign line");
    let last = records.accepted.len() + records.sessions.len() + 1;
    assert!(error.to_string().contains(&format!("sessions.ndjson:{last} is not ours")), "{error}");
    let source = std::error::Error::source(&error).expect("a cause").to_string();
    assert!(source.contains("not a record of schema version 1"), "{source}");
    for garbage in [b"\n".as_slice(), b"\0\n", b"null\n", b"\xff\xfe\n"] {
        let error = error_after(|dir| {
            let before = fs::read(dir.join(WORKERS)).expect("a file");
            fs::write(dir.join(WORKERS), [&before, garbage].concat()).expect("a writable file");
        });
        assert!(error.contains("workers.ndjson:29 is not ours"), "{garbage:?}: {error}");
    }
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
