use std::collections::BTreeSet;

use records::{Bytes, Outcome, Phase, ReadPolicy, SocketEnd, SocketSample};
use serde_json::Value;

use super::*;
use crate::summarise;
use testkit::fixture::{Run, at_ms};

fn story(run: &Run) -> Explanation {
    Explanation::of(&Analysis::of(&run.records))
}

#[test]
fn every_cause_is_in_the_table_absent_or_hidden() {
    for run in [Run::held(), Run::starved()] {
        let story = story(&run);
        let mut told: Vec<Cause> = story.causes.iter().map(|cause| cause.share.cause).collect();
        told.extend(story.absent());
        told.extend(story.summary.late.hidden.iter().map(|hidden| hidden.cause));
        // Of no server that was traced by its loops.
        told.extend([Cause::ThreadsBusy, Cause::BehindLock, Cause::PoolUsedUp]);
        told.extend(story.unexplained().is_none().then_some(Cause::Unexplained));
        told.sort_unstable();
        assert_eq!(told, Cause::ALL);
    }
}

#[test]
fn a_run_in_which_nothing_was_late_has_no_causes() {
    let mut run = Run::good();
    run.fetches(Phase::Measure, 40, Outcome::Ok, 5_000);
    let story = story(&run);
    assert_eq!((story.causes.len(), story.worst.len(), story.holders.len()), (0, 0, 0));
    assert_eq!(story.late_limit_us(), Some(Micros(15_000)));
    let mut run = Run::new();
    run.fetches(Phase::Measure, 40, Outcome::Ok, 5_000);
    assert_eq!(self::story(&run).late_limit_us(), None, "nothing idle to compare with");
}

#[test]
fn evidence_is_told_for_each_cause_there_is() {
    let mut run = Run::held();
    run.hold(0, 4_010, 20, Bytes::mib(1));
    let turn = run.records.turns.last_mut().expect("its turn");
    // A long loop turn of short steps.
    (turn.turn, turn.steps, turn.start_ns, turn.end_ns) = (99, 40, at_ms(6_000), at_ms(6_030));
    run.listener(6_000, 3);
    run.listener(6_025, 17);
    run.listener(20_000, 400);
    run.records.totals[0].records_lost = 5;
    let mut analysis = Analysis::of(&run.records);
    analysis.summary.late = LateSummary { limit_us: Micros(15_000), ..LateSummary::default() };
    let (context, late) = (&analysis.context, analysis.late());
    let measure = context.windows.of_phase(Phase::Measure);
    let of = |cause| evidence::of(context, &late, cause, measure);
    let told = Cause::ALL.map(|cause| format!("{cause}: {:?}\n", of(cause)));
    insta::assert_snapshot!(told.concat());
}

fn told(run: &Run, phase: Phase, fetch: u64) -> FetchReport {
    FetchReport::of(&Analysis::of(&run.records), phase, fetch).expect("the fetch")
}

#[test]
fn a_fetch_that_nobody_accepted_still_has_its_time() {
    let mut run = Run::held();
    let fetch = run.records.fetches.last_mut().expect("a fetch");
    (fetch.client_port, fetch.connect_us) = (None, None);
    fetch.outcome = Outcome::TimeoutConnect;
    let number = fetch.fetch;
    let story = told(&run, Phase::Measure, number);
    assert_eq!((story.worker, story.logged()), (None, None));
    assert!(story.timeline.iter().all(|moment| moment.what != Happening::Accepted));
    let stays = story.timeline.iter().flat_map(|moment| &moment.then);
    let hands: Vec<Hands> = stays.map(|stay| stay.hands).collect();
    assert_eq!(hands, [Hands::Unsent, Hands::Handshake]);
}

#[test]
fn an_unknown_fetch_is_refused_with_those_that_there_are() {
    let run = Run::held();
    for (phase, number, says) in [
        (Phase::Measure, 120, "its measure phase has fetches 40 to 119"),
        (Phase::Measure, 39, "its measure phase has fetches 40 to 119"),
        (Phase::Idle, 40, "its idle phase has fetches 0 to 39"),
        (Phase::Drain, 0, "its drain phase has no fetch"),
    ] {
        let error =
            FetchReport::of(&Analysis::of(&run.records), phase, number).expect_err("no such fetch");
        assert_eq!(error, format!("fetch {number} is not in this run: {says}"));
    }
}

#[test]
fn hidden_causes_are_named_by_reason() {
    let summary = summarise(&Run::starved().records);
    insta::assert_debug_snapshot!(hidden_by_reason(&summary.late));
}

#[test]
fn a_median_that_met_the_cap_is_no_measurement() {
    let law = |run: &Run| {
        let summary = summarise(&run.records);
        summary.law.is_some().then(|| summary.median_is_cap())
    };
    let mut run = Run::held();
    assert_eq!(law(&run), None, "a step that drains has no bound");
    run.arm().proxy.read_policy = ReadPolicy::Fionread;
    assert_eq!(law(&run), Some(true));
    run.arm().fetch.cap = Micros(5_000_000);
    assert_eq!(law(&run), Some(false));
}

#[test]
fn figures_in_the_documents_have_their_unit_in_their_name() {
    let mut run = Run::held();
    // So that the law says something.
    run.arm().proxy.read_policy = ReadPolicy::Fionread;
    let mut of_run = serde_json::to_value(story(&run)).expect("JSON");
    // Its schema has that.
    of_run["summary"].take();
    let of_fetch = serde_json::to_value(told(&run, Phase::Measure, 43)).expect("JSON");
    let mut names = BTreeSet::new();
    figures(&of_run, &mut names);
    figures(&of_fetch, &mut names);
    // Bytes, shares, numbers and counts say themselves what they are.
    names.retain(|name| {
        !["_us", "_ns", "_share", "_bytes", "_time"].iter().any(|unit| name.ends_with(unit))
    });
    insta::assert_snapshot!(names.into_iter().collect::<Vec<_>>().join(" "));
}

/// Names of all figures in a document.
fn figures(document: &Value, names: &mut BTreeSet<String>) {
    match document {
        Value::Object(fields) => {
            for (name, value) in fields {
                if value.is_number() {
                    names.insert(name.clone());
                }
                figures(value, names);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| figures(item, names)),
        _ => {}
    }
}

/// A run whose only hold goes from 6 s to 8 s; its session's upstream port is 5,000.
fn reserved() -> Run {
    let mut run = Run::new();
    run.download(0, 0, 1_000_000);
    run.hold(0, 6_000, 2_000, Bytes::mib(500));
    let session = &mut run.records.sessions[0];
    session.upstream_port = Some(5_000);
    run.records.holds[0].session = session.session;
    run
}

fn look(run: &mut Run, port: u16, end: SocketEnd, ms: u64, receive_queue: Bytes) {
    run.records.sockets.push(SocketSample {
        at_ns: at_ms(ms),
        end,
        port,
        receive_queue,
        rwnd_limited_us: Some(Micros(0)),
        ..SocketSample::default()
    });
}

fn reserve(run: &Run) -> Option<Reserve> {
    evidence::reserve(&Context::of(&run.records), [0])
}

#[test]
fn only_its_own_upstream_socket_counts_and_only_inside_the_hold() {
    let mut run = reserved();
    assert_eq!(reserve(&run), None, "nobody looked");
    for (ms, depth) in [(5_999, 9), (6_000, 0), (6_500, 70), (7_000, 30), (8_000, 9)] {
        look(&mut run, 5_000, SocketEnd::Upstream, ms, Bytes(depth));
    }
    look(&mut run, 5_001, SocketEnd::Upstream, 7_000, Bytes(999));
    look(&mut run, 5_000, SocketEnd::Origin, 7_000, Bytes(999));
    let expected = Reserve { samples: 3, empty: 1, median: Bytes(30), most: Bytes(70) };
    assert_eq!(reserve(&run), Some(expected));
}
