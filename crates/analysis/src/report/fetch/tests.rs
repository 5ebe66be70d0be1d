use records::{Holder, StepEnd};

use super::*;
use crate::analysis::Analysis;
use testkit::fixture::Run;

fn told(run: &Run, phase: Phase, fetch: u64) -> FetchReport {
    FetchReport::of(&Analysis::of(&run.records), phase, fetch).expect("the fetch")
}

#[test]
fn both_sides_are_on_one_clock() {
    let story = told(&Run::held(), Phase::Measure, 43);
    let events: Vec<(Happening, u64)> =
        story.events.iter().map(|event| (event.what, event.at_us().0)).collect();
    assert_eq!(
        events,
        [
            (Happening::Wanted, 0),
            (Happening::Started, 70),
            (Happening::Connected, 150),
            (Happening::Accepted, 59_570),
            (Happening::RequestWhole, 59_610),
            (Happening::Ended, 1_000_070),
            // The worker was held, and went on with it when its client had given up.
            (Happening::UpstreamConnected, 1_261_570),
            (Happening::Closed(SessionEnd::ClientClosed), 1_262_570),
        ]
    );
    let logged = Logged { status: 499, rt_us: Micros(0), uct_us: Some(Micros(0)) };
    assert_eq!((story.worker, story.logged), (Some(1), Some(logged)));
}

#[test]
fn a_hold_says_whose_it_was_and_how_long_the_fetch_waited_in_it() {
    let story = told(&Run::held(), Phase::Measure, 43);
    let hold = story.stays.iter().find_map(|stay| match &stay.worker_did {
        Some(WorkerDid::Hold { step, began_ns }) => Some((step, *began_ns, stay)),
        _ => None,
    });
    let (step, began_ns, stay) = hold.expect("a hold");
    assert_eq!((step.holder, step.worker), (Holder::Download(1), 1));
    assert_eq!(step.length_us, Micros(1_200_000));
    assert_eq!(step.waited_us, Micros(stay.length_ns / 1_000));
    assert!(step.waited_us < step.length_us, "it came into the middle of it");
    assert_eq!(began_ns + 1_200_000_000, 59_070_000, "which had begun before");
    assert_eq!((step.bytes, step.ended_by), (Bytes::mib(480), StepEnd::UpstreamEmpty));
    assert_eq!((stay.hands, stay.causes[0].cause), (Hands::Queued, Cause::HeldByStep));
}

#[test]
fn a_fetch_that_nobody_accepted_still_has_its_time() {
    let mut run = Run::held();
    let fetch = run.records.fetches.last_mut().expect("a fetch");
    (fetch.client_port, fetch.connect_us) = (None, None);
    fetch.outcome = Outcome::TimeoutConnect;
    let number = fetch.fetch;
    let story = told(&run, Phase::Measure, number);
    assert_eq!((story.worker, story.logged), (None, None));
    assert!(story.events.iter().all(|event| event.what != Happening::Accepted));
    let hands: Vec<Hands> = story.stays.iter().map(|stay| stay.hands).collect();
    assert_eq!(hands, [Hands::Unsent, Hands::Handshake]);
}

#[test]
fn an_unknown_fetch_is_refused_with_those_that_there_are() {
    let run = Run::held();
    for (phase, number, says) in [
        (
            Phase::Measure,
            120,
            "fetch 120 is not in this run: its measure phase has fetches 40 to 119",
        ),
        (
            Phase::Measure,
            39,
            "fetch 39 is not in this run: its measure phase has fetches 40 to 119",
        ),
        (Phase::Idle, 40, "fetch 40 is not in this run: its idle phase has fetches 0 to 39"),
        (Phase::Drain, 0, "fetch 0 is not in this run: its drain phase has no fetch"),
    ] {
        let error =
            FetchReport::of(&Analysis::of(&run.records), phase, number).expect_err("no such fetch");
        assert_eq!(error.to_string(), says);
    }
}
