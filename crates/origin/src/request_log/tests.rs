use super::*;

/// A log that nobody prints, with room for `waiting` records.
fn log(waiting: usize) -> (RequestLog, Receiver<Answered>) {
    let (records, told) = sync_channel(waiting);
    (RequestLog { records, lost: Arc::default() }, told)
}

#[test]
fn a_request_is_told_of_once_answered_or_not() {
    let (log, told) = log(4);
    let before = clock::now();
    log.asked(7).answered();
    drop(log.asked(8));
    let all: Vec<Answered> = told.try_iter().collect();
    let [answered, left] = all.as_slice() else { panic!("two requests: {all:?}") };
    assert_eq!((answered.upstream_port, left.upstream_port), (7, 8));
    assert!(before <= answered.request_ns && answered.head_ns >= Some(answered.request_ns));
    assert!(left.request_ns >= answered.request_ns);
    assert_eq!(left.head_ns, None);
}

#[test]
fn a_reader_that_is_too_slow_costs_records_which_are_counted_and_told_at_the_end() {
    let (log, told) = log(2);
    let lost = Arc::clone(&log.lost);
    for port in 0..5 {
        log.asked(port).answered();
    }
    drop(log);
    let mut out = Vec::new();
    print(&told, &lost, &mut out).expect("a vector takes it");
    let text = String::from_utf8(out).expect("JSON");
    let told: Vec<_> = text.lines().map(|line| Record::from_line(line).expect("ours")).collect();
    let [Record::Answered(first), Record::Answered(second), last] = &told[..] else {
        panic!("{text}")
    };
    assert_eq!((first.upstream_port, second.upstream_port), (0, 1));
    assert_eq!(*last, Record::AnswersLost(AnswersLost { requests: 3 }));
}
