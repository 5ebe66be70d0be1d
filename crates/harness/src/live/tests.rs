use std::io::Write;

use jiff::Timestamp;
use records::{Bytes, Fetch, Micros, MonoNs, Outcome, Phase};

use super::*;
use records::run_dir::FETCHES;
use trial::run_dir::RunWriter;

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
        bytes: Bytes(0),
        status: None,
        outcome: Outcome::Ok,
    })
}

#[test]
fn a_run_is_followed_from_before_it_is_there() {
    let place = tempfile::tempdir().expect("a directory");
    let mut follow = Follow::new(place.path(), [FETCHES]);
    let mut records = RunRecords::default();
    follow.read(&mut records);
    assert_eq!((records.fetches.len(), follow.dir()), (0, None));

    let mut run = RunWriter::create(place.path(), Timestamp::UNIX_EPOCH, "x").expect("a run");
    run.file(&fetch(0)).expect("filed");
    follow.read(&mut records);
    assert_eq!((records.fetches.len(), follow.dir()), (0, Some(run.dir())), "not on the disk yet");
    run.flush().expect("flushed");
    for _ in 0..2 {
        follow.read(&mut records);
        assert_eq!(records.fetches.len(), 1, "once, and not again");
    }
}

#[test]
fn a_torn_line_is_taken_when_it_is_whole() {
    let place = tempfile::tempdir().expect("a directory");
    let mut follow = Follow::new(place.path(), [FETCHES]);
    let dir = place.path().join("run");
    fs::create_dir(&dir).expect("made");
    let mut file = File::create(dir.join(FETCHES)).expect("made");
    let line = fetch(0).to_line().expect("a line");
    let (head, tail) = line.split_at(line.len() / 2);
    let mut records = RunRecords::default();
    for (part, seen) in [(head, 0), (tail, 1), ("not a record\n", 1), (line.as_str(), 2)] {
        file.write_all(part.as_bytes()).expect("written");
        follow.read(&mut records);
        assert_eq!(records.fetches.len(), seen, "after {part:?}");
    }
}

#[test]
fn what_a_campaign_adds_is_not_what_people_typed() {
    let options = ["--reuseport", "--rcvbuf", "40960"].map(str::to_owned);
    let child = command(&options, Path::new("runs/x"));
    let typed = ["turnstile", "run", "--reuseport", "--rcvbuf", "40960"].map(str::to_owned);
    let args = child.get_args().map(|word| word.to_str().expect("text").to_owned());
    let words: Vec<String> = [typed[0].clone()].into_iter().chain(args).collect();
    assert!(words.iter().any(|word| word == "runs/x") && words.len() > typed.len(), "{words:?}");
    assert_eq!(by_hand(words), typed);
    assert_eq!(by_hand(typed.to_vec()), typed);
}
