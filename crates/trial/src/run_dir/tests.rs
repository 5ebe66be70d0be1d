use std::fs;
use std::os::unix::fs::{FileTypeExt, symlink};

use records::{Dialed, MonoNs, WorkerTotals};

use records::run_dir::{DOWNLOADS, FETCHES, SESSIONS, STEPS, WORKERS};

use super::*;

fn started() -> Timestamp {
    "2026-03-01T12:30:05Z".parse().expect("a timestamp")
}

fn dialed(slot: u32) -> Record {
    Record::Dialed(Dialed { slot, client_port: 40_000, at_ns: MonoNs(7) })
}

#[test]
fn a_taken_name_gets_a_number() {
    let runs = tempfile::tempdir().expect("tempdir");
    for name in ["x", "x-2", "x-3"] {
        let run = RunWriter::create(runs.path(), started(), "x").expect("create");
        assert!(run.dir().ends_with(format!("20260301T123005Z-{name}")), "{:?}", run.dir());
    }
}

#[test]
fn records_go_to_the_file_named_for_them() {
    let runs = tempfile::tempdir().expect("tempdir");
    let mut run = RunWriter::create(runs.path(), started(), "x").expect("create");
    run.file(&dialed(0)).expect("file");
    run.file(&Record::WorkerTotals(WorkerTotals::default())).expect("file");
    run.note(Role::Proxy, "first").expect("note");
    run.note(Role::Slow, "second").expect("note");
    run.flush().expect("flush");

    let lines = |name: &str| -> Vec<Record> {
        let text = fs::read_to_string(run.dir().join(name)).expect("read");
        text.lines().map(|line| Record::from_line(line).expect("a record")).collect()
    };
    assert_eq!(lines(DOWNLOADS), [dialed(0)]);
    assert_eq!(lines(STEPS).len(), 1);
    for empty in [FETCHES, SESSIONS, WORKERS] {
        assert_eq!(lines(empty), [], "{empty} is there, and empty");
    }
    let said = fs::read_to_string(run.dir().join(ROLES_LOG)).expect("read");
    assert_eq!(said, "proxy: first\nslow: second\n");
}

#[test]
fn a_place_that_cannot_be_written_is_named() {
    let file = tempfile::NamedTempFile::new().expect("tempfile");
    let error =
        RunWriter::create(&file.path().join("runs"), started(), "x").expect_err("no directory");
    let text = error.to_string();
    assert!(text.contains(&file.path().display().to_string()), "{text}");
    assert!(text.contains("--runs-dir"), "{text}");
}

#[test]
fn what_is_no_file_is_not_replaced() {
    let dir = tempfile::tempdir().expect("tempdir");
    let pipe = dir.path().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo");
    assert!(made.success());
    let error = replace(&pipe, b"new").expect_err("a pipe");
    assert_eq!(error.to_string(), NOT_A_FILE);
    assert!(fs::symlink_metadata(&pipe).expect("it is there").file_type().is_fifo());
    assert!(replace(dir.path(), b"new").is_err(), "a directory");
    symlink("pipe", dir.path().join("link")).expect("a link");
    assert!(replace(&dir.path().join("link"), b"new").is_err(), "a link to a pipe");
}

#[test]
fn a_link_stays_one() {
    let dir = tempfile::tempdir().expect("a directory");
    let at = |name: &str| dir.path().join(name);
    fs::create_dir(at("there")).expect("a directory");
    fs::write(at("there/base.json"), "old").expect("write");
    // Another's, and no part of ours.
    fs::write(at("there/base.part"), "another's").expect("write");
    symlink("there/base.json", at("second")).expect("a link");
    symlink("second", at("first")).expect("a link");
    replace(&at("first"), b"new").expect("write");
    assert_eq!(fs::read_to_string(at("there/base.json")).expect("read"), "new");
    assert_eq!(
        fs::read_dir(at("there")).expect("a directory").count(),
        2,
        "no temporary file stays"
    );
    assert!(at("first").is_symlink() && at("second").is_symlink());
    assert_eq!(fs::read_to_string(at("there/base.part")).expect("read"), "another's");
    symlink("round", at("round")).expect("a link");
    assert!(replace(&at("round"), b"").is_err(), "a link to itself");
}
