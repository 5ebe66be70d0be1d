//! What was written comes back; what is wrong is named by file and line.

use std::error::Error;
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use records::run_dir::*;
use records::*;
use tempfile::TempDir;
use testkit::fixture::Run;

/// Records of every kind that is kept.
fn of_every_kind() -> Vec<Record> {
    let (at_ns, times_us) = (MonoNs(9), vec![(Micros(7), 1), (Micros(9), 3)]);
    let sizes = [(1_448, 2), (4_096, 7)].into();
    let read = CallTotal { count: 9, bytes: Bytes(31_568), sizes, ..CallTotal::default() };
    let calls = [("readv".to_owned(), read)].into();
    let who = Watched::Role(Role::Slow);
    let bad = Fetch { status: Some(503), outcome: Outcome::BadStatus, ..Fetch::default() };
    vec![
        Record::Fetch(Fetch::default()),
        Record::Fetch(bad),
        Record::FetchTotals(FetchTotals { times_us, ..FetchTotals::default() }),
        Record::Dialed(Dialed { slot: 1, client_port: 7, at_ns }),
        Record::DownloadInterval(DownloadInterval { bytes: vec![Bytes(1)], ..Default::default() }),
        Record::Download(Download { client_port: Some(7), ..Download::default() }),
        Record::Accepted(Accepted { worker: 1, session: 2, client_port: 7, at_ns }),
        Record::Session(Session { status: 499, head_ns: Some(at_ns), ..Session::default() }),
        Record::Answered(Answered::default()),
        Record::Answered(Answered { head_ns: Some(at_ns), ..Answered::default() }),
        Record::Hold(Hold { ended_by: StepEnd::Quota, ..Hold::default() }),
        Record::LoopTurn(LoopTurn { turn: 7, ..LoopTurn::default() }),
        Record::WorkerTotals(WorkerTotals::of(1)),
        Record::Stretch(Stretch { poll_us: Micros(7), ..Stretch::default() }),
        Record::Blocked(Blocked { sleep: Sleep::Uninterruptible, ..Blocked::default() }),
        Record::Threads(Threads { served: vec![Served::default()], ..Threads::default() }),
        Record::CallTotals(CallTotals { worker: 1, at_ns, calls }),
        Record::Absence(Absence { looks: 7, ..Absence::default() }),
        Record::WorkerSample(WorkerSample { run_ns: Some(7), ..WorkerSample::default() }),
        Record::SchedSample(SchedSample { who, at_ns, run_ns: 7, run_wait_ns: 8 }),
        Record::CpuSample(CpuSample { busy_ms: Some(7), ..CpuSample::default() }),
        Record::ThrottleSample(ThrottleSample { periods: 7, ..ThrottleSample::default() }),
        Record::ListenerSample(ListenerSample { queue: 7, ..ListenerSample::default() }),
        Record::SocketSample(SocketSample { end: SocketEnd::Slow, ..SocketSample::default() }),
    ]
}

/// A run directory with these, and what is to be read of it.
fn written(all: Vec<Record>) -> (TempDir, RunRecords) {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let append = |name: &str, text: &str| {
        let file = File::options().append(true).create(true).open(dir.path().join(name));
        file.and_then(|mut file| file.write_all(text.as_bytes())).expect("a writable file");
    };
    let mut run = RunRecords::new(Run::starved().records.manifest);
    append(MANIFEST, &serde_json::to_string_pretty(&run.manifest).expect("a document"));
    RECORD_FILES.iter().for_each(|name| append(name, ""));
    for record in all {
        append(record.file().expect("kept"), &record.to_line().expect("a line"));
        run.add(record);
    }
    (dir, run)
}

/// What becomes of a file.
#[derive(Debug)]
enum Damage<'a> {
    Gone,
    Cut(usize),
    Instead(&'a str),
    More(&'a [u8]),
}

/// The error of a run directory in which that became of a file.
fn error_after(name: &str, damage: &Damage<'_>) -> LoadError {
    let (dir, _) = written(of_every_kind());
    let path = dir.path().join(name);
    let text = fs::read(&path).expect("a file");
    let done = match damage {
        Damage::Gone => fs::remove_file(&path),
        Damage::Cut(bytes) => fs::write(&path, &text[..text.len() - bytes]),
        Damage::Instead(other) => fs::write(&path, other),
        Damage::More(bytes) => fs::write(&path, [&text[..], *bytes].concat()),
    };
    done.expect("a writable file");
    RunRecords::load(dir.path()).expect_err("a damaged run directory")
}

#[test]
fn every_record_comes_back() {
    let nothing = written(Vec::new());
    assert_eq!(RunRecords::load(nothing.0.path()).expect("an empty run"), nothing.1);
    let (dir, records) = written(of_every_kind());
    assert_eq!(RunRecords::load(dir.path()).expect("a whole run directory"), records);
    for name in [ORIGIN, SOCKETS] {
        fs::remove_file(dir.path().join(name)).expect("a file");
    }
    let (answered, listeners, sockets) = Default::default();
    let earlier = RunRecords { answered, listeners, sockets, ..records };
    assert_eq!(RunRecords::load(dir.path()).expect("a whole run of its time"), earlier);
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
fn what_is_wrong_is_named_by_file_and_line() {
    use Damage::*;
    // What version it is, is looked at before its form is.
    let older = Instead("{\"schema_version\": 0, \"all\": \"else\"}");
    let newer = Instead("{\"schema_version\": 2, \"all\": \"else\"}");
    for (name, damage, says) in [
        (FETCHES, Gone, "fetches.ndjson is missing"),
        (DOWNLOADS, Gone, "downloads.ndjson is missing"),
        (SESSIONS, Gone, "sessions.ndjson is missing"),
        (STEPS, Gone, "steps.ndjson is missing"),
        (WORKERS, Gone, "workers.ndjson is missing"),
        (MANIFEST, older, "made by an older turnstile, schema 0; this one reads 1"),
        (MANIFEST, newer, "made by a newer turnstile, schema 2; this one reads 1"),
        (MANIFEST, Cut(300), "manifest.json is not a manifest"),
        (FETCHES, Cut(20), "fetches.ndjson:3 is torn"),
        // A record that lost no more than its newline may have lost its neighbours as well.
        (STEPS, Cut(1), "steps.ndjson:8 is torn"),
        (SESSIONS, More(b"{\"record\":\"teapot\"}\n"), "sessions.ndjson:3 is not ours"),
        (WORKERS, More(b"\n"), "workers.ndjson:5 is not ours"),
        (WORKERS, More(b"\0\n"), "workers.ndjson:5 is not ours"),
        (WORKERS, More(b"null\n"), "workers.ndjson:5 is not ours"),
        (WORKERS, More(b"\xff\xfe\n"), "workers.ndjson:5 is not ours"),
    ] {
        let error = error_after(name, &damage);
        assert!(error.to_string().contains(says), "{damage:?}: {error}");
        let why = error.source().map(ToString::to_string).unwrap_or_default();
        let known = !says.contains("ours") || why == "not a record of schema version 1";
        assert!(known, "{damage:?}: {why}");
    }
}

#[test]
fn a_record_in_the_wrong_file_is_named() {
    let lost = Record::AnswersLost(AnswersLost { requests: 1 });
    for record in of_every_kind().into_iter().chain([lost]) {
        let line = record.to_line().expect("a line");
        for name in RECORD_FILES.into_iter().filter(|name| record.file() != Some(name)) {
            let error = error_after(name, &Damage::More(line.as_bytes())).to_string();
            assert!(error.contains(name) && error.contains("a record of another file"), "{error}");
        }
    }
}
