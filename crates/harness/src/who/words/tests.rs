use super::*;
use crate::who::tests::{at, calm, hold, ledger, seen, three_seconds, turns, waiting};
use probe::{HoldState, Seen};

#[test]
fn a_hold_is_a_line_and_those_who_wait_another() {
    let ledger = three_seconds();
    let all = ledger.open.iter().chain(&ledger.recent);
    let lines: Vec<String> = all.flat_map(super::hold).collect();
    insta::assert_snapshot!("holds", lines.join("\n"));
}

#[test]
fn the_summary_says_who_held_most() {
    let mut ledger = three_seconds();
    ledger.finish();
    insta::assert_snapshot!("summary", summary(&ledger, Style::Plain));
}

#[test]
fn a_convoy_is_told_though_nothing_was_held() {
    let mut ledger = ledger();
    for second in 0..4 {
        let turns = turns(second * 120, Micros(8_000));
        ledger.take(seen(second * 1_000, turns, vec![]), &waiting(0));
    }
    insta::assert_snapshot!("convoy", summary(&ledger, Style::Plain));
}

#[test]
fn what_was_lost_and_what_cannot_be_seen_is_said() {
    let mut ledger = ledger();
    let seen = Seen { lost: 3, at: at(1_000), ..Seen::default() };
    ledger.take(seen, &crate::who::queues::Look::default());
    insta::assert_snapshot!("nothing_seen", summary(&ledger, Style::Plain));
}

#[test]
fn what_becomes_of_processes_is_said() {
    let kinds = [
        ChangeKind::Found,
        ChangeKind::Ended,
        ChangeKind::Renamed("sh".to_owned()),
        ChangeKind::Silent,
    ];
    let told = kinds.map(|change| super::change(&Change { pid: 12, comm: "nginx".into(), change }));
    insta::assert_snapshot!("processes", told.join("\n"));
}

#[test]
fn many_rows_are_cut_and_counted() {
    let mut ledger = ledger();
    let holds = (0..14_u64).map(|number| {
        let mut hold = hold(number * 100, 60 + number, HoldState::Closed);
        hold.moved[0].remote.set_port(u16::try_from(number).expect("small") + 1);
        hold
    });
    ledger.take(seen(2_000, calm(0), holds.collect()), &waiting(0));
    let text = summary(&ledger, Style::Plain);
    assert_eq!(text.matches(": 1 hold,").count(), 10, "{text}");
    assert!(text.contains("and 4 more"), "{text}");
}
