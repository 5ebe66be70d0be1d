//! Lines as bpftrace 0.17 prints them.

use proptest::prelude::*;

use super::*;

#[test]
fn a_line_of_the_script() {
    let line = r#"{"type": "printf", "data": "H 2676 11493332484097 -1\n"}"#;
    assert_eq!(parse(line), Some(Line::Told('H', vec![2676, 11_493_332_484_097, u64::MAX])));
}

#[test]
fn a_map_with_tuples_and_one_with_two_keys() {
    let line = r#"{"type": "map", "data": {"@cpu": {"0": [0,0], "2675": [25074668792304,150]}}}"#;
    let Some(Line::Map(name, map)) = parse(line) else { panic!("no map") };
    assert_eq!(name, "@cpu");
    assert_eq!(map.get(&[2675]), [25_074_668_792_304, 150]);
    assert_eq!(map.get(&[2676]), [0, 0]);
    let line = r#"{"type": "map", "data": {"@sample": {"2675,3": 1, "2676,-1": 73}}}"#;
    let Some(Line::Map(_, map)) = parse(line) else { panic!("no map") };
    assert_eq!(map.get(&[2675, 3]), [1]);
    assert_eq!(map.get(&[2676, u64::MAX]), [73]);
}

#[test]
fn a_count_below_zero_is_none_and_no_number_of_twenty_digits() {
    let line = r#"{"type": "map", "data": {"@c": {"2675,0": [-1,-4096], "2675,1": [3,12]}}}"#;
    let Some(Line::Map(_, map)) = parse(line) else { panic!("no map") };
    assert_eq!((map.get(&[2675, 0]), map.get(&[2675, 1])), ([0, 0], [3, 12]));
}

#[test]
fn lengths_of_steps_keep_their_buckets() {
    let line = r#"{"type": "hist", "data": {"@h": {"2675": [{"min": 0, "max": 0, "count": 2},
        {"min": 1, "max": 1, "count": 3}, {"min": 4, "max": 7, "count": 5}]}}}"#;
    let Some(Line::Lengths(lengths)) = parse(line) else { panic!("no lengths") };
    assert_eq!(lengths[&2675].0[..5], [2, 3, 0, 5, 0]);
    for length in [0, 1, 4, 7] {
        assert!(lengths[&2675].0[StepHistogram::bucket(Micros(length))] > 0, "{length}");
    }
}

#[test]
fn what_was_lost_is_known() {
    let line = r#"{"type": "lost_events", "data": {"events": 12}}"#;
    assert_eq!(parse(line), Some(Line::Lost(12)));
}

proptest! {
    #[test]
    fn nothing_that_is_said_can_break_it(text in ".*", data in ".*") {
        parse(&text);
        let line = serde_json::json!({"type": "printf", "data": data}).to_string();
        parse(&line);
        for kind in ["map", "hist", "lost_events"] {
            let line = serde_json::json!({"type": kind, "data": {"@x": {data.clone(): [data.clone()]}}});
            parse(&line.to_string());
        }
    }
}
