use super::*;
use crate::Show;
use crate::tests::fixture;

/// What fits into the two lines of a screen of 80, with a blank on either side.
const ROOM: usize = 2 * 78;

fn said(show: &Show) -> String {
    let arms = [show.arm(Side::Left).clone(), show.arm(Side::Right).clone()];
    line(show.act(), &arms)
}

#[test]
fn every_act_has_a_line_that_fits() {
    let mut show = fixture::judged("starved", 127, 53);
    fixture::tick(&mut show, 26_000);
    let shows = [
        fixture::show(),
        fixture::idle(),
        fixture::starving(),
        fixture::judged("starved", 127, 53),
        fixture::judged("degraded", 170, 0),
        show,
        fixture::curing(),
        fixture::closing(),
    ];
    let lines: Vec<String> = shows.iter().map(said).collect();
    for line in &lines {
        assert!(line.chars().count() <= ROOM, "{}: {line}", line.chars().count());
    }
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn a_line_promises_nothing_that_did_not_happen() {
    for (verdict, failed, hoped, says) in [
        ("starved", 53, Hoped::Starved, "Starved: 53 of 80"),
        ("degraded", 2, Hoped::Starved, "Not starved here: p99 under load"),
        ("healthy", 0, Hoped::Starved, "Not starved here: none of 80"),
        ("inconclusive", 70, Hoped::Starved, "This run proves nothing: the hypervisor"),
        ("degraded", 2, Hoped::Cured, "Degraded: p99 under load"),
        ("healthy", 0, Hoped::Cured, "Cured: none of 80"),
        ("starved", 53, Hoped::Cured, "Not cured here, still starved: 53 of 80"),
        ("inconclusive", 0, Hoped::Cured, "This run proves nothing: the hypervisor"),
    ] {
        let summary = fixture::summary(verdict, 80 - failed, failed, 61_000);
        let line = judged(&summary, hoped);
        assert!(line.starts_with(says), "{verdict}: {line}");
        // Every reason that the trial gives, and no other.
        let (_, reasons) = line.split_once(": ").expect("a lead");
        assert_eq!(reasons.trim_end_matches('.'), summary.verdict_reasons.join("; "));
    }
}
