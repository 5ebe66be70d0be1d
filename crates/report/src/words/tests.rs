use analysis::summarise;
use records::{Bytes, BytesPerSec, Law, StepEnd};
use testkit::fixture::Run;

use super::*;

fn worst_of(cause: Cause, step: Option<HoldingStep>) -> WorstFetch {
    WorstFetch {
        fetch: 17,
        response_us: Micros(1_004_000),
        outcome: Outcome::TimeoutNoByte,
        worker: Some(1),
        cause,
        cause_us: Micros(998_000),
        step,
    }
}

fn step_of(waited_us: Micros) -> HoldingStep {
    HoldingStep {
        holder: Holder::Download(3),
        worker: 1,
        length_us: Micros(2_400_000),
        waited_us,
        bytes: Bytes::mib(412),
        ended_by: StepEnd::UpstreamEmpty,
    }
}

#[test]
fn each_cause_has_a_sentence_that_fits() {
    let mut sentences: Vec<String> = [998_000, 700_000]
        .map(|waited| worst(&worst_of(Cause::HeldByStep, Some(step_of(Micros(waited))))))
        .to_vec();
    let upload = HoldingStep { holder: Holder::Upload(3), ..step_of(Micros(998_000)) };
    sentences.push(worst(&worst_of(Cause::HeldByStep, Some(upload))));
    sentences.extend(Cause::ALL.map(|cause| worst(&worst_of(cause, None))));
    sentences.push(worst(&WorstFetch { worker: None, ..worst_of(Cause::Upstream, None) }));
    insta::assert_snapshot!(sentences.join("\n"));
}

#[test]
fn the_law_stands_beside_what_was_measured() {
    let law = Law {
        turns: 52.0,
        downloads_per_worker: 2.0,
        bytes_per_step: Bytes::kib(176),
        fetch_bytes: Bytes::mib(3),
        drain_rate: BytesPerSec(560_000_000),
        predicted_us: Micros(33_470),
        measured_us: Micros(29_120),
    };
    let mut run = Run::good();
    run.fetches(Phase::Measure, 40, Outcome::Ok, 29_120);
    let mut summary = summarise(&run.records);
    assert_eq!(super::law(&summary), None);
    summary.law = Some(law);
    assert_eq!(
        super::law(&summary).as_deref(),
        Some(
            "33.5 ms predicted: (52 turns x 2 downloads x 176 KiB + 3.0 MiB) / 560 MB/s; 29.1 ms measured"
        )
    );
    (summary.measure.censored, summary.arm.fetch.cap) = (20, Micros(29_000));
    assert!(
        super::law(&summary)
            .is_some_and(|said| said.ends_with("; measured 29.1 ms, which is the cap"))
    );
    summary.measure.attempts = 0;
    assert_eq!(super::law(&summary), None, "nothing to compare with");
}
