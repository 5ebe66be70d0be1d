use std::io::Write;

use demo::{ArmPlan, Stage, Timing};
use jiff::Timestamp;
use net::clock;
use records::{Fetch, Micros, MonoNs, Outcome, Phase};

use super::*;
use crate::run_dir::write::RunWriter;
use testkit::fixture::Run;

fn show() -> Show {
    let plan = || ArmPlan {
        name: "starved".to_owned(),
        options: "--reuseport".to_owned(),
        change: String::new(),
        says: String::new(),
        arm: Run::good().records.manifest.arm,
    };
    Show::new(plan(), plan(), Timing::FAST, clock::now())
}

fn fetch(number: u64) -> Record {
    Record::Fetch(Fetch {
        fetch: number,
        phase: Phase::Measure,
        intended_ns: MonoNs(7),
        start_ns: MonoNs(7),
        client_port: None,
        connect_us: None,
        first_byte_us: None,
        total_us: Micros(5),
        response_us: Micros(5),
        bytes: records::Bytes(0),
        status: None,
        outcome: Outcome::Ok,
    })
}

fn good(show: &Show) -> u64 {
    show.arm(Side::Left).load().good
}

#[test]
fn a_run_is_followed_from_before_it_is_there() {
    let place = tempfile::tempdir().expect("a directory");
    let (mut follow, mut show) = (Follow::new(place.path()), show());
    follow.read(Side::Left, &mut show);
    assert_eq!(follow.dir(), None);

    let mut run = RunWriter::create(place.path(), Timestamp::UNIX_EPOCH, "x").expect("a run");
    follow.read(Side::Left, &mut show);
    assert_eq!(follow.dir(), Some(run.dir()));
    run.file(&fetch(0)).expect("filed");
    follow.read(Side::Left, &mut show);
    assert_eq!(good(&show), 0, "it is not on the disk yet");
    run.flush().expect("flushed");
    follow.read(Side::Left, &mut show);
    follow.read(Side::Left, &mut show);
    assert_eq!(good(&show), 1, "once, and not again");
}

#[test]
fn a_torn_line_is_taken_when_it_is_whole() {
    let place = tempfile::tempdir().expect("a directory");
    let (mut follow, mut show) = (Follow::new(place.path()), show());
    let dir = place.path().join("run");
    fs::create_dir(&dir).expect("made");
    let mut file = File::create(dir.join(FETCHES)).expect("made");
    let line = fetch(0).to_line().expect("a line");
    let (head, tail) = line.split_at(line.len() / 2);
    for (part, seen) in [(head, 0), (tail, 1), ("not a record\n", 1), (line.as_str(), 2)] {
        file.write_all(part.as_bytes()).expect("written");
        follow.read(Side::Left, &mut show);
        assert_eq!(good(&show), seen, "after {part:?}");
    }
}

#[test]
fn the_manifest_is_followed() {
    let place = tempfile::tempdir().expect("a directory");
    let run = RunWriter::create(place.path(), Timestamp::UNIX_EPOCH, "x").expect("a run");
    let (mut follow, mut show) = (Follow::new(place.path()), show());
    show.tick(clock::now() + Timing::FAST.opening);
    let mut manifest = Run::good().records.manifest;
    let phases = std::mem::take(&mut manifest.phases);
    for span in phases {
        let phase = span.phase;
        manifest.phases.push(span);
        run.manifest(&manifest).expect("written");
        follow.read(Side::Left, &mut show);
        assert_eq!(*show.arm(Side::Left).stage(), Stage::Running(phase));
    }
}
