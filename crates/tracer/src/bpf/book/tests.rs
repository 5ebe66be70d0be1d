//! Lines in, records out.

use proptest::prelude::*;
use records::{Micros, SessionEnd, Stretch, WorkerTotals};

use super::*;
use crate::bpf::line::parse;

const MS: u64 = 1_000_000;
const SECOND: &str = r#"{"type":"hist","data":{"@h":{"7":[{"min":4,"max":7,"count":3}]}}}"#;

fn book() -> Book {
    let targets = [Target { worker: 0, pid: 7, tid: 7 }, Target { worker: 1, pid: 7, tid: 8 }];
    Book::new(&targets, Clock::default(), MonoNs(MS))
}

fn told(lines: &[String]) -> Vec<Record> {
    let mut book = book();
    let mut records = Vec::new();
    for line in lines {
        say(&mut book, line, &mut records);
    }
    records
}

fn say(book: &mut Book, line: &str, records: &mut Vec<Record>) {
    let line = if line.starts_with('{') {
        parse(line)
    } else {
        parse(&serde_json::json!({"type": "printf", "data": line}).to_string())
    };
    book.line(line.expect("a line"), &mut |record| records.push(record));
}

fn stretches(records: &[Record]) -> Vec<Stretch> {
    let stretch = |record: &Record| match record {
        Record::Stretch(stretch) => Some(*stretch),
        _ => None,
    };
    records.iter().filter_map(stretch).collect()
}

/// A stretch in the script's words; each of its sums has grown by `part` since the one before.
fn stretch(start: u64, end: u64, part: u64) -> [String; 2] {
    let (start, end) = (start * MS, end * MS);
    [
        format!("Y 7 {start} {} {part} {part} 9 9 9", part << 32),
        format!("X 7 {start} {end} {} {} {part} {part}", part * MS, part * MS),
    ]
}

#[test]
fn sums_become_differences() {
    let lines = [
        ["W 7 5000000 0 0 232".to_owned()].to_vec(),
        stretch(5, 10, 2).to_vec(),
        stretch(10, 20, 5).to_vec(),
    ];
    let records = told(&lines.concat());
    let stretches = stretches(&records);
    assert_eq!(stretches.len(), 2, "{records:?}");
    let second = stretches[1];
    assert_eq!((second.start_ns, second.end_ns), (MonoNs(10 * MS), MonoNs(20 * MS)));
    assert_eq!((second.turns, second.steps, second.accepts), (3, 3, 3));
    assert_eq!((second.poll_us, second.cpu_us), (Micros(3_000), Micros(3_000)));
}

#[test]
fn a_worker_found_in_its_poll_was_there_all_along() {
    let records = told(&["W 7 5000000 0 1 232".into()]);
    let stretches = stretches(&records);
    assert_eq!(stretches.len(), 1);
    assert_eq!((stretches[0].start_ns, stretches[0].end_ns), (MonoNs(MS), MonoNs(5 * MS)));
    assert_eq!(stretches[0].poll_us, Micros(4_000));
}

#[test]
fn a_long_poll_is_a_stretch_of_its_own() {
    let mut lines = vec!["W 7 0 0 0 232".to_owned(), format!("P 7 0 {}", 2 * MS)];
    // 20 ms long, 19 of them in polls, 3 on a CPU; the last poll was called after 2.
    lines.push(format!("Y 7 0 {} 1 1 9 9 9", 1_u64 << 32));
    lines.push(format!("X 7 0 {} {} {} 4 5", 20 * MS, 3 * MS, 19 * MS));
    let [before, poll] = stretches(&told(&lines))[..] else { panic!("two stretches") };
    assert_eq!((before.end_ns, before.turns, before.steps), (MonoNs(2 * MS), 4, 5));
    assert_eq!((before.poll_us, before.cpu_us), (Micros(1_000), Micros(2_000)));
    assert_eq!((poll.start_ns, poll.end_ns), (MonoNs(2 * MS), MonoNs(20 * MS)));
    assert_eq!((poll.poll_us, poll.cpu_us), (Micros(18_000), Micros(1_000)));
    assert_eq!((poll.turns, poll.steps, poll.accepts), (0, 0, 0));
}

#[test]
fn what_was_lost_leaves_a_gap_and_is_counted() {
    let mut book = book();
    let mut records = Vec::new();
    say(&mut book, "W 7 5000000 0 0 232", &mut records);
    for line in stretch(5, 10, 2).iter().chain(&stretch(15, 20, 6)) {
        say(&mut book, line, &mut records);
    }
    assert_eq!(stretches(&records).len(), 1, "the second waits for what is between");
    say(&mut book, r#"{"type":"lost_events","data":{"events":2}}"#, &mut records);
    say(&mut book, SECOND, &mut records);
    say(&mut book, SECOND, &mut records);
    let stretches = stretches(&records);
    assert_eq!(stretches.len(), 2);
    assert_eq!((stretches[1].start_ns, stretches[1].turns), (MonoNs(15 * MS), 4));
    let mut lost = records.iter().filter_map(|record| match record {
        Record::WorkerTotals(WorkerTotals { worker: 0, records_lost, .. }) => Some(*records_lost),
        _ => None,
    });
    assert_eq!(lost.next_back(), Some(2));
}

fn hold(last: u64, closed: u64, up: u64) -> Hold {
    let records = told(&[
        format!("G 7 1000000 4 {up} 300 {} {last} {closed}", (5_u64 << 32) + 6),
        "H 7 99 4711 1000000 30000000".into(),
    ]);
    match records[..] {
        [Record::Hold(hold)] => hold,
        ref other => panic!("no hold: {other:?}"),
    }
}

#[test]
fn a_long_step_is_a_hold() {
    let told = hold(0, 0, 200);
    assert_eq!((told.turn, told.session, told.client_port), (5, 0, 4711));
    assert_eq!((told.bytes, told.reads), (Bytes(200), 5));
    assert_eq!(told.length_us(), Micros(29_000));
    // A file: what was written, and how often.
    let told = hold(0, 0, 0);
    assert_eq!((told.bytes, told.reads), (Bytes(300), 6));
}

#[test]
fn the_last_call_tells_what_ended_a_step() {
    let last = |side: u64, way: u64, came: u64| 7 << 8 | side << 4 | way << 2 | came;
    assert_eq!(hold(last(2, 1, 1), 0, 1).ended_by, StepEnd::UpstreamEmpty);
    assert_eq!(hold(last(1, 2, 1), 0, 1).ended_by, StepEnd::DownstreamFull);
    assert_eq!(hold(last(1, 1, 1), 0, 1).ended_by, StepEnd::DownstreamEmpty);
    assert_eq!(hold(last(2, 2, 1), 0, 1).ended_by, StepEnd::UpstreamFull);
    assert_eq!(hold(last(2, 1, 0), 0, 1).ended_by, StepEnd::Unknown);
    assert_eq!(hold(last(3, 1, 1), 0, 1).ended_by, StepEnd::Unknown, "a file or a pipe");
    assert_eq!(hold(last(2, 1, 1), 1, 1).ended_by, StepEnd::Closed);
}

#[test]
fn sessions_are_counted_by_worker() {
    let records = told(&[
        "A 7 700 41 1000000".into(),
        "A 8 800 42 1000000".into(),
        "A 7 701 43 1000000".into(),
        "A 7 700 41 1000000".into(),
    ]);
    let numbers: Vec<_> = records
        .iter()
        .map(|record| match record {
            Record::Accepted(told) => (told.worker, told.session, told.client_port),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(numbers, [(0, 0, 41), (1, 0, 42), (0, 1, 43)]);
}

/// How a session ended that sent `down` bytes and of which `ends` is known.
fn ended(down: u64, asked: u64, ends: u64) -> SessionEnd {
    let records = told(&[
        "S 7 700 41 1000000 9000000 3 400000 300000".into(),
        format!("T 700 {down} 50 {asked} 0 0 8080 {ends}"),
    ]);
    let [Record::Accepted(_), Record::Session(session)] = &records[..] else {
        panic!("{records:?}")
    };
    assert_eq!((session.steps, session.steps_us), (3, Micros(400)));
    assert_eq!((session.upstream_port, session.connected_ns), (Some(8080), None));
    session.end
}

#[test]
fn sockets_tell_who_ended_a_session() {
    let client = |state: u64| state << 8;
    let upstream = |state: u64, client_then: u64| state << 16 | client_then << 24;
    assert_eq!(ended(100, 1, 1 | client(1)), SessionEnd::Completed);
    assert_eq!(ended(100, 1, client(8)), SessionEnd::Completed, "kept alive, then hung up");
    assert_eq!(ended(100, 1, client(8) | upstream(1, 8)), SessionEnd::ClientClosed);
    assert_eq!(ended(100, 1, client(7) | upstream(1, 7)), SessionEnd::ClientReset);
    assert_eq!(ended(100, 1, client(8) | 16), SessionEnd::ClientClosed);
    assert_eq!(ended(100, 1, client(7) | 4), SessionEnd::ClientReset);
    assert_eq!(ended(0, 0, client(8)), SessionEnd::ClientClosed);
    assert_eq!(ended(0, 0, client(1)), SessionEnd::ClientTimeout);
    assert_eq!(ended(0, 1, client(1)), SessionEnd::UpstreamClosedEarly);
}

#[test]
fn a_session_that_was_there_before_us_was_not_seen_accepted() {
    let records = told(&[
        "S 7 700 41 1000000 9000000 3 400000 300000".into(),
        "T 700 100 50 0 0 0 0 8".into(),
    ]);
    assert!(matches!(records[..], [Record::Session(_)]), "{records:?}");
}

#[test]
fn what_is_under_way_at_the_end_is_told() {
    let mut book = book();
    let mut records = Vec::new();
    let map = |name: &str, value: &str| {
        format!(r#"{{"type":"map","data":{{"@{name}":{{"7":{value}}}}}}}"#)
    };
    // A turn since 10 ms, a step since 20, all else as of 5.
    for line in [
        "W 7 5000000 0 0 232".to_owned(),
        format!("A 7 700 41 {}", 12 * MS),
        format!("E {}", 50 * MS),
        map("t", &format!("[{MS},3,{},{},1,4,1]", 2 * MS, 10 * MS)),
        map("u", "[6,1000,10,2000,500]"),
        map("poll", &(9 * MS).to_string()),
        map("start", &(5 * MS).to_string()),
        map("cpu", &format!("[{},{}]", 30 * MS, 4 * MS)),
        map("step", &(20 * MS).to_string()),
        map("owner", "700"),
        map("w", &format!("[{},70,71,{},0,0,9]", 40 * MS, 7_u64 << 32)),
    ] {
        say(&mut book, &line, &mut records);
    }
    let last = Last { hold: Micros(10_000), now: MonoNs(0), is_polling: &|_| false };
    book.finish(&last, &mut |record| records.push(record));
    let hold = records.iter().find_map(|record| match record {
        Record::Hold(hold) => Some(*hold),
        _ => None,
    });
    let hold = hold.expect("the step");
    assert_eq!((hold.start_ns, hold.end_ns), (MonoNs(20 * MS), MonoNs(50 * MS)));
    assert_eq!((hold.bytes, hold.reads, hold.turn), (Bytes(70), 7, 4));
    let turn = records.iter().find_map(|record| match record {
        Record::LoopTurn(turn) => Some(*turn),
        _ => None,
    });
    let turn = turn.expect("the turn");
    assert_eq!((turn.turn, turn.steps, turn.start_ns), (4, 3, MonoNs(10 * MS)));
    let [stretch] = stretches(&records)[..] else { panic!("{records:?}") };
    assert_eq!((stretch.start_ns, stretch.end_ns), (MonoNs(5 * MS), MonoNs(50 * MS)));
    assert_eq!((stretch.turns, stretch.steps), (4, 7));
    // 4 ms before, and on a CPU since 30.
    assert_eq!((stretch.poll_us, stretch.cpu_us), (Micros(1_000), Micros(24_000)));
    let open = records.iter().find_map(|record| match record {
        Record::Session(session) => Some(session.end),
        _ => None,
    });
    assert_eq!(open, Some(SessionEnd::Shutdown));
}

proptest! {
    #[test]
    fn lines_in_any_order_give_the_same_stretches(
        seed in Just((0..12_usize).collect::<Vec<_>>()).prop_shuffle(),
    ) {
        let mut book = book();
        let mut records = Vec::new();
        say(&mut book, "W 7 0 0 0 232", &mut records);
        for at in seed {
            let at = at as u64;
            for line in stretch(at * 10, at * 10 + 10, at + 1) {
                say(&mut book, &line, &mut records);
            }
        }
        let stretches = stretches(&records);
        prop_assert_eq!(stretches.len(), 12);
        for (stretch, start) in stretches.iter().zip(0_u64..) {
            prop_assert_eq!(stretch.start_ns, MonoNs(start * 10 * MS));
            prop_assert_eq!((stretch.turns, stretch.poll_us), (1, Micros(1_000)));
        }
    }

    #[test]
    fn no_line_can_break_it(lines in proptest::collection::vec("[A-Z]( -?[0-9]{1,20}){0,10}", 0..60)) {
        let mut book = book();
        for line in lines {
            let line = serde_json::json!({"type": "printf", "data": line}).to_string();
            if let Some(line) = parse(&line) {
                book.line(line, &mut |_| {});
            }
        }
        let last = Last { hold: Micros(1), now: MonoNs(0), is_polling: &|_| true };
        book.finish(&last, &mut |_| {});
    }
}
