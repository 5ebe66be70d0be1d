use super::*;

#[test]
fn a_reader_that_is_too_slow_costs_records_which_are_counted_and_told_at_the_end() {
    // Nobody prints, and there is room for two.
    let (records, told) = sync_channel(2);
    let lost = Arc::default();
    let log = RequestLog { records, lost: Arc::clone(&lost) };
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
