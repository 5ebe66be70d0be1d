use super::*;
use crate::who::tests::{at, calm, hold, ledger, seen, three_seconds, turns, waiting};
use probe::{Frame, Hold, HoldState, Module, Seen, Stack};

#[test]
fn a_hold_is_a_line_and_those_who_wait_another() {
    let ledger = three_seconds();
    let all = ledger.open.iter().chain(&ledger.recent);
    let lines: Vec<String> = all.flat_map(super::hold).collect();
    insta::assert_snapshot!("holds", lines.join("\n"));
}

#[test]
fn what_moved_nothing_tells_where_it_was() {
    let frame = |function: &str, module: Module| Frame { function: function.to_owned(), module };
    let (libc, app) = (Module::File("libc.so.6".into()), Module::File("app".into()));
    let in_libc = || frame("memcpy", libc.clone());
    let price = || frame("compute_prices", app.clone());
    let sleeps = || frame("hrtimer_nanosleep", Module::Kernel);
    let script = || frame("JS:*spin /srv/app.js:2:14", Module::Generated);
    let long = || frame(&"std::vector<".repeat(9), app.clone());
    let asleep = |hold: &mut Hold| std::mem::swap(&mut hold.on_cpu_us, &mut hold.asleep_us);
    let runs = |_: &mut Hold| {};
    let moves = |hold: &mut Hold| hold.moved[0].written = Bytes::mib(3);
    let mut lines = Vec::new();
    for (what, how, frames) in [
        ("its own function", &runs as &dyn Fn(&mut Hold), vec![in_libc(), price()]),
        ("none of its own", &runs, vec![in_libc()]),
        ("a script's", &runs, vec![price(), script()]),
        ("a long name", &runs, vec![long()]),
        ("no stack", &runs, vec![]),
        ("asleep", &asleep, vec![sleeps(), in_libc(), price()]),
        ("asleep, none of its own", &asleep, vec![sleeps(), in_libc()]),
        ("it moved bytes", &moves, vec![price()]),
    ] {
        let mut hold = hold(0, 100, HoldState::Closed);
        hold.moved.truncate(1);
        hold.moved[0].written = Bytes(3);
        how(&mut hold);
        hold.stacks = vec![Stack { time_us: Micros(90_000), frames }];
        let mut ledger = ledger();
        let told = ledger.take(seen(200, calm(0), vec![hold]), &waiting(0));
        lines.extend(told.iter().flat_map(super::hold).map(|line| format!("{what}: {line}")));
    }
    insta::assert_snapshot!("places", lines.join("\n"));
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
