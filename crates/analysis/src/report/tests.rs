use std::collections::{BTreeMap, BTreeSet};

use records::{Bytes, Holder, Outcome, Phase, ReadPolicy, SocketEnd, SocketSample, StepEnd};
use serde_json::Value;

use super::*;
use crate::summarise;
use testkit::fixture::{Run, at_ms};

fn story(run: &Run) -> Explanation {
    Explanation::of(&Analysis::of(&run.records))
}

#[test]
fn the_causes_are_those_of_the_summary_with_their_evidence() {
    let run = Run::held();
    let (summary, story) = (summarise(&run.records), story(&run));
    let shares: Vec<CauseShare> = story.causes.iter().map(|cause| cause.share.clone()).collect();
    assert_eq!(shares[..summary.causes.len()], summary.causes);
    assert_eq!(story.unexplained().map(|share| share.time_us), Some(Micros(0)), "also at zero");
    let [first, ..] = story.causes.as_slice() else { panic!("no cause") };
    assert_eq!(first.share.cause, Cause::HeldByStep);
    let Evidence::Steps { steps, longest: Some(step), .. } = &first.evidence else {
        panic!("another kind: {:?}", first.evidence);
    };
    assert_eq!((step.worker, step.ended_by), (1, StepEnd::UpstreamEmpty));
    assert_eq!(step.length_us, Micros(1_200_000));
    let held: BTreeSet<u64> = story.holders.iter().map(|holder| holder.steps).collect();
    assert!(held.iter().all(|of_one| of_one < steps), "{held:?} of {steps}");
}

#[test]
fn every_cause_is_in_the_table_absent_or_hidden() {
    for run in [Run::held(), Run::starved()] {
        let story = story(&run);
        let mut told: Vec<Cause> = story.causes.iter().map(|cause| cause.share.cause).collect();
        told.extend(story.absent());
        told.extend(story.late.hidden.iter().map(|hidden| hidden.cause));
        told.sort_unstable();
        assert_eq!(told, Cause::ALL);
    }
}

#[test]
fn the_worst_fetches_are_the_longest_of_the_late_ones() {
    let run = Run::held();
    let story = story(&run);
    assert_eq!(story.worst.len(), 10);
    assert!(story.worst.is_sorted_by_key(|late| std::cmp::Reverse(late.response_us)));
    assert_eq!(Some(story.worst[0].fetch), story.late.worst.as_ref().map(|worst| worst.fetch));
    for late in &story.worst {
        let step = late.step.as_ref().expect("each waited in a step");
        assert_eq!(Some(step.worker), late.worker);
        assert!(matches!(step.holder, Holder::Download(_)), "{step:?}");
        assert!(late.cause_us <= late.response_us && late.cause_share <= 1.0);
    }
}

#[test]
fn the_time_in_steps_is_that_of_their_holders() {
    let story = story(&Run::held());
    let holders: Vec<Holder> = story.holders.iter().map(|holder| holder.holder).collect();
    let downloads: BTreeSet<Holder> = (0..4).map(Holder::Download).collect();
    assert_eq!(holders.iter().copied().collect::<BTreeSet<_>>(), downloads);
    assert!(story.holders.is_sorted_by_key(|holder| std::cmp::Reverse(holder.fetch_time_us)));
    let held: u64 = story.holders.iter().map(|holder| holder.fetch_time_us.0).sum();
    let cause = story.causes.iter().find(|cause| cause.share.cause == Cause::HeldByStep);
    let cause = cause.expect("held by steps").share.time_us.0;
    // Whole us each, and every worker had its CPU all the time.
    assert!(cause.abs_diff(held) <= story.holders.len() as u64, "{cause} {held}");
}

#[test]
fn the_rows_of_the_log_are_all_fetches_and_the_unlogged_come_last() {
    let mut run = Run::held();
    let refused = run.records.fetches.last_mut().expect("a fetch");
    (refused.outcome, refused.client_port) = (Outcome::Refused, None);
    let story = story(&run);
    assert_eq!(story.log.rows.iter().map(|row| row.fetches).sum::<u64>(), story.attempts);
    let last = story.log.rows.last().expect("a row");
    assert_eq!((last.status, last.outcome, last.fetches), (None, Outcome::Refused, 1));
    assert_eq!((last.worst.as_ref(), story.log.truth.unlogged), (None, 1));
    let hidden = story.log.rows.iter().find(|row| row.status == Some(499)).expect("499");
    let gap = hidden.worst.as_ref().expect("its worst");
    assert_eq!((gap.logged_us, gap.true_us), (Micros(0), Micros(1_000_000)));
}

#[test]
fn a_run_in_which_nothing_was_late_has_no_causes() {
    let mut run = Run::good();
    run.fetches(Phase::Measure, 40, Outcome::Ok, 5_000);
    let story = story(&run);
    assert_eq!((story.causes.len(), story.worst.len(), story.holders.len()), (0, 0, 0));
    assert_eq!((story.attempts, story.failed), (40, 0));
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
    let turn = LongTurn { worker: 0, length_us: Micros(30_000), steps: 40 };
    assert_eq!(of(Cause::Convoy), Evidence::Turns { long_turns: 1, longest: Some(turn) });
    let deepest = Some(QueueDepth { queue: 17, limit: 511 });
    assert_eq!(of(Cause::AcceptQueue), Evidence::Queues { samples: 2, deepest });
    assert_eq!(of(Cause::BacklogOverflow), Evidence::Counters { moved: BTreeMap::new() });
    let nothing = Evidence::Ready { run_wait_us: Micros(0), stolen_us: Micros(0) };
    assert_eq!(of(Cause::OffCpuRunnable), nothing);
    let Evidence::Asleep { busy_us, cpu_us, .. } = of(Cause::OffCpuBlocked) else { panic!() };
    assert!(busy_us == cpu_us && busy_us > Micros(15_000_000), "{busy_us} {cpu_us}");
    let longest = Some(Longest { time_us: Micros(70), fetch: 119 });
    assert_eq!(of(Cause::Client), Evidence::Lag { longest });
    let Evidence::Origin { longest: Some(head) } = of(Cause::Upstream) else { panic!() };
    assert!(head.time_us > Micros(1_000_000), "{head:?}");
    let silence = Evidence::Silence { never_accepted: 0, without_session: 0, records_lost: 5 };
    assert_eq!(of(Cause::Unexplained), silence);
}

#[test]
fn figures_in_the_documents_have_their_unit_in_their_name() {
    let mut run = Run::held();
    // So that the law says something.
    run.arm().proxy.read_policy = ReadPolicy::Fionread;
    let of_run = serde_json::to_value(story(&run)).expect("JSON");
    let fetch = FetchReport::of(&Analysis::of(&run.records), Phase::Measure, 43).expect("a fetch");
    let of_fetch = serde_json::to_value(fetch).expect("JSON");
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
        send_queue: Bytes(0),
        rcv_space: None,
        rwnd_limited_us: Some(Micros(0)),
        retransmits: None,
    });
}

fn reserve(run: &Run) -> Option<Reserve> {
    reserve::of(&Context::of(&run.records), [0])
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
