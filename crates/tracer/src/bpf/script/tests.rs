//! Every place is filled, and nothing but code is left.

use super::*;

fn text(listening: &[u16], fred: Fred) -> String {
    let target = |tid| Target { worker: 0, pid: 7, tid };
    let listening = listening.iter().copied().collect();
    let targets = [target(7), target(8)];
    let hold = Micros(10_000);
    Script { targets: &targets, own_pid: 99, hold, listening: &listening, fred }.text()
}

#[test]
fn no_place_is_left_and_no_comment() {
    let text = text(&[80, 443], Fred::Unknown);
    assert!(!text.contains("@@"), "a place is left");
    assert!(!text.contains("/*") && !text.contains("*/"), "a comment is left");
    assert_eq!(text.matches('{').count(), text.matches('}').count());
    assert!(text.contains("/(tid == 7 || tid == 8)/"));
    assert!(text.contains("if (($port == 80 || $port == 443))"));
    assert!(text.contains("10000000"));
}

#[test]
fn who_listens_nowhere_has_no_clients_from_before() {
    assert!(text(&[], Fred::Unknown).contains("if (0)"));
}

#[test]
fn registers_lie_deeper_where_fred_is_known() {
    assert!(text(&[], Fred::Unknown).contains("$top + 16216"));
    assert!(text(&[], Fred::Known).contains("$top + 16200"));
}
