use std::io::Write;

use super::*;
use records::run_dir::FETCHES;
use testkit::fixture::Run;

#[test]
fn a_run_is_followed_from_before_it_is_there_by_whole_lines() {
    let place = tempfile::tempdir().expect("a directory");
    let (mut follow, dir) = (Follow::new(place.path(), [FETCHES]), place.path().join("run"));
    let mut records = RunRecords::default();
    let mut seen = || {
        follow.read(&mut records);
        records.fetches.len()
    };
    assert_eq!(seen(), 0);
    fs::create_dir(&dir).expect("made");
    assert_eq!(seen(), 0);
    let mut file = File::create(dir.join(FETCHES)).expect("made");
    let line = Record::Fetch(Run::good().records.fetches[0].clone()).to_line().expect("a line");
    let (head, tail) = line.split_at(line.len() / 2);
    for (part, fetches) in
        [(head, 0), (tail, 1), ("", 1), ("not a record\n", 1), (line.as_str(), 2)]
    {
        file.write_all(part.as_bytes()).expect("written");
        assert_eq!(seen(), fetches, "after {part:?}");
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
