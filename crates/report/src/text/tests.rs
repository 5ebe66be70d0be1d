//! Reports as they are printed, and that they stay within a terminal.

use std::collections::BTreeMap;
use std::path::Path;

use proptest::prelude::*;
use records::{
    Bytes, BytesPerSec, Cause, CauseShare, Caveat, CaveatCode, FetchSummary, HiddenCause, Holder,
    HoldingStep, LateSummary, LatencyUs, Law, LogGap, LogTruth, Micros, Outcome, OutcomeCounts,
    Phase, Rcvbuf, ReadPolicy, Recording, SchedulerFigures, Side, StepEnd, Summary, Verdict,
    WorkerSummary, WorstFetch,
};

use super::{MAX_LINES, Style, json, layout, story, text, timeline};
use analysis::report::{Explanation, FetchReport};
use analysis::{Analysis, summarise};
use testkit::fixture::Run;

const RUN_DIR: &str = "runs/20260921T100000Z-reuseport";

fn report(run: &Run) -> String {
    let summary = summarise(&run.records);
    text(&run.records.manifest, &summary, Path::new(RUN_DIR), Style::Plain)
}

fn explained(run: &Run) -> String {
    let told = Explanation::of(&Analysis::of(&run.records));
    story(&told, Path::new(RUN_DIR), Style::Plain)
}

fn told(run: &Run, phase: Phase, fetch: u64) -> String {
    let told = FetchReport::of(&Analysis::of(&run.records), phase, fetch).expect("the fetch");
    timeline(&told, Path::new(RUN_DIR), Style::Plain)
}

#[test]
fn the_list_of_cases_has_a_line_for_each() {
    let cases = [("herd", "Who is woken".to_owned()), ("x", "y".to_owned())];
    assert_eq!(super::case_list(&cases, Style::Plain), "herd  Who is woken\nx     y\n");
}

#[test]
fn starved() {
    insta::assert_snapshot!(report(&Run::starved()));
}

#[test]
fn starved_and_explained() {
    insta::assert_snapshot!(report(&Run::held()));
}

/// Nobody told of steps: not even that they were short.
#[test]
fn a_minimal_recording_claims_nothing_of_what_it_left_out() {
    let mut run = Run::loaded(&[(60, Outcome::Ok, 6_000), (20, Outcome::TimeoutNoByte, 1_001_000)]);
    run.records.manifest.recording = Recording::Minimal;
    run.records.totals.clear();
    let report = report(&run);
    assert!(!report.contains("<10.0 ms"), "{report}");
    let row = report.lines().find(|line| line.starts_with("     0 ")).expect("worker 0");
    let cells: Vec<&str> = row.split_whitespace().collect();
    assert_eq!(cells[3..7], ["-"; 4], "{row}");
    let hidden: String = report.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(hidden.contains("backlog_overflow: --recording minimal leaves it out"), "{report}");
    assert!(!hidden.contains("the kernel shows no"), "{report}");
}

#[test]
fn explained_at_length() {
    let mut run = Run::held();
    // Under which the law says something.
    run.arm().proxy.read_policy = ReadPolicy::Fionread;
    insta::assert_snapshot!(explained(&run));
}

#[test]
fn a_fetch_from_start_to_end() {
    insta::assert_snapshot!(told(&Run::held(), Phase::Measure, 43));
}

#[test]
fn a_fetch_that_was_served() {
    insta::assert_snapshot!(told(&Run::held(), Phase::Idle, 3));
}

#[test]
fn healthy_without_load() {
    let mut run = Run::good();
    run.command("turnstile --reuseport --slow 0");
    run.fetches(Phase::Measure, 80, Outcome::Ok, 5_300);
    insta::assert_snapshot!(report(&run));
}

#[test]
fn cured_by_the_receive_buffer() {
    let mut run = Run::good();
    run.command("target/debug/turnstile --reuseport --rcvbuf 40960");
    run.arm().proxy.rcvbuf = Rcvbuf::Size(Bytes(40_960));
    run.socket("upstream SO_RCVBUF", Some(Bytes(40_960)), Bytes(81_920));
    for slot in 0..4 {
        run.download(slot, slot % 2, 130_000_000);
    }
    run.fetches(Phase::Measure, 78, Outcome::Ok, 30_000);
    run.fetches(Phase::Measure, 2, Outcome::Ok, 42_000);
    insta::assert_snapshot!(report(&run));
}

#[test]
fn degraded() {
    let mut run = Run::good();
    run.command("turnstile --reuseport --read-policy fionread");
    run.arm().proxy.read_policy = ReadPolicy::Fionread;
    run.download(0, 1, 400_000_000);
    run.fetches(Phase::Measure, 70, Outcome::Ok, 48_000);
    run.fetches(Phase::Measure, 9, Outcome::Ok, 370_000);
    run.fetches(Phase::Measure, 1, Outcome::TimeoutPartial, 1_002_000);
    run.hold(1, 6_000, 96, Bytes::mib(33));
    insta::assert_snapshot!(report(&run));
}

#[test]
fn inconclusive_because_the_proxy_died() {
    let mut run = Run::starved();
    run.fault(Side::Proxy, "the proxy ended with signal 9 while it was needed");
    run.fetches(Phase::Measure, 12, Outcome::Refused, 90);
    insta::assert_snapshot!(report(&run));
}

#[test]
fn interrupted_while_fetches_ran() {
    let mut run = Run::starved();
    run.interrupt(9_000);
    insta::assert_snapshot!(report(&run));
}

#[test]
fn interrupted_before_the_load() {
    let mut run = Run::good();
    run.interrupt(2_000);
    insta::assert_snapshot!(report(&run));
}

#[test]
fn sixty_four_workers() {
    let mut run = Run::good();
    run.arm().proxy.workers = 64;
    run.command(
        "turnstile --workers 64 --slow 128 --slow-size 4GiB --cap 1s --duration 10s --pin off",
    );
    for worker in 2..64 {
        run.worker(worker);
        run.hold(worker, 6_000, u64::from(worker) * 7, Bytes::mib(u64::from(worker)));
    }
    for slot in 0..128 {
        run.download(slot, slot % 63, 9_000_000 + u64::from(slot));
    }
    run.fetches(Phase::Measure, 300, Outcome::Ok, 9_000);
    for (outcome, us) in [
        (Outcome::TimeoutConnect, 1_000_400),
        (Outcome::TimeoutNoByte, 1_000_900),
        (Outcome::Refused, 70),
        (Outcome::Reset, 800_000),
        (Outcome::BadStatus, 4_000),
    ] {
        run.fetches(Phase::Measure, 5, outcome, us);
    }
    insta::assert_snapshot!(report(&run));
}

#[test]
fn colour_adds_escape_sequences_and_nothing_else() {
    let run = Run::starved();
    let summary = summarise(&run.records);
    let plain = text(&run.records.manifest, &summary, Path::new(RUN_DIR), Style::Plain);
    let coloured = text(&run.records.manifest, &summary, Path::new(RUN_DIR), Style::Colour);
    assert!(coloured.contains("\u{1b}[1m\u{1b}[31mstarved"), "{coloured:?}");
    let stripped: String = coloured
        .split('\u{1b}')
        .enumerate()
        .map(|(index, part)| match (index, part.split_once('m')) {
            (0, _) | (_, None) => part,
            (_, Some((_, rest))) => rest,
        })
        .collect();
    assert_eq!(stripped.replace(" \n", "\n"), plain);
}

#[test]
fn json_is_the_summary_and_nothing_else() {
    let summary = summarise(&Run::starved().records);
    let read: Summary = serde_json::from_str(&json(&summary)).expect("a summary document");
    // Outcomes that did not occur are named in the document, so compare documents.
    assert_eq!(json(&read), json(&summary));
    assert_eq!(read.verdict_reasons, summary.verdict_reasons);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn a_report_fits_a_terminal(summary in summary(), words in prop::collection::vec("[a-z-]{1,20}", 0..14)) {
        let mut run = Run::good();
        run.records.manifest.command = words;
        let report = text(&run.records.manifest, &summary, Path::new(RUN_DIR), Style::Plain);
        let lines: Vec<&str> = report.lines().collect();
        prop_assert!(lines.len() <= MAX_LINES, "{} lines:\n{report}", lines.len());
        for line in &lines {
            prop_assert!(layout::columns(line) <= layout::WIDTH, "{line:?}");
        }
        // What is made to be quoted is narrower, from `why` to the next section.
        let why = lines.iter().skip_while(|line| !line.starts_with("why "));
        for line in why.take_while(|line| !line.is_empty() && !line.starts_with("downloads")) {
            prop_assert!(layout::columns(line) <= layout::NARROW, "{line:?}");
        }
        prop_assert_eq!(report.contains("\nwhy "), summary.measure.attempts > 0, "{}", report);
    }
}

/// Figures as large as the largest machine may make them in a day's run.
fn summary() -> impl Strategy<Value = Summary> {
    let verdict = prop_oneof![
        Just(Verdict::Starved),
        Just(Verdict::Degraded),
        Just(Verdict::Healthy),
        Just(Verdict::Inconclusive),
    ];
    let sentence = "[a-z]{1,30}( [a-z0-9.]{1,12}){0,40}";
    let reasons = prop::collection::vec(sentence, 0..12);
    let caveats = prop::collection::vec(sentence, 0..13);
    let statuses = prop::collection::btree_map(200_u16..600, outcome_counts(), 0..12);
    let workers = prop::collection::vec(worker(), 0..200);
    let slots = prop::collection::vec(0..1_000_000_000_000_u64, 0..20);
    let figures = (fetches(), fetches(), statuses, workers, slots, outcome_counts());
    (verdict, reasons, caveats, figures, any::<bool>(), of_late_fetches()).prop_map(
        |(verdict, reasons, caveats, figures, cut, why)| {
            let (idle, measure, statuses, workers, slots, unlogged) = figures;
            let mut summary = summarise(&Run::good().records);
            summary.verdict = verdict;
            summary.verdict_reasons = reasons;
            summary.caveats = caveats
                .into_iter()
                .map(|message| Caveat { code: CaveatCode::UnevenPlacement, message })
                .collect();
            summary.interrupted = cut.then(|| "SIGTERM".to_owned());
            (summary.idle, summary.measure) = (idle, measure);
            summary.slow.downloads = slots.len() as u64;
            summary.slow.bytes = Bytes(slots.iter().sum());
            summary.slow.bytes_per_sec = BytesPerSec(slots.iter().sum());
            summary.slow.fastest_slot = BytesPerSec(slots.iter().copied().max().unwrap_or(0));
            summary.slow.completed = slots.len() as u64;
            summary.slow.completed_us = slots.iter().copied().map(Micros).collect();
            summary.slow.broken = 99_999;
            summary.slow.slot_bytes_per_sec = slots.into_iter().map(BytesPerSec).collect();
            let counted: BTreeMap<u16, u64> =
                statuses.iter().map(|(status, seen)| (*status, seen.attempts())).collect();
            summary.proxy.status_counts = counted;
            summary.proxy.status_outcomes = statuses;
            summary.proxy.unlogged = unlogged;
            summary.proxy.workers = workers;
            summary.late = why.late;
            summary.causes = why.causes;
            summary.law = why.law;
            summary.log_truth = why.log_truth;
            summary.log_gap = Some(LogGap {
                fetch: 99_999_999,
                worker: 1_023,
                status: 499,
                logged_us: Micros(0),
                true_us: Micros(86_400_000_000),
                outcome: Outcome::TimeoutConnect,
            });
            summary
        },
    )
}

/// What a summary has of late fetches.
#[derive(Clone, Debug)]
struct Told {
    late: LateSummary,
    causes: Vec<CauseShare>,
    law: Option<Law>,
    log_truth: LogTruth,
}

fn of_late_fetches() -> impl Strategy<Value = Told> {
    let time = || (0..90_000_000_000_u64).prop_map(Micros);
    let count = || 0..10_000_000_u64;
    let shares = prop::collection::vec((0.0..1.0_f64, time(), count()), 0..11);
    let causes =
        shares.prop_map(|shares| {
            let share = |(cause, (part, time_us, fetches)): (Cause, (f64, Micros, u64))| {
                CauseShare { cause, share_of_late_time: part * part * part, time_us, fetches }
            };
            Cause::ALL.into_iter().zip(shares).map(share).collect::<Vec<_>>()
        });
    let step = (0..1_000_u32, time(), 0..u64::MAX / 2).prop_map(|(slot, waited_us, bytes)| {
        let (length_us, worker) = (Micros(86_400_000_000), 1_023);
        let holder = Holder::Download(slot);
        let ended_by = StepEnd::UpstreamEmpty;
        HoldingStep { holder, worker, length_us, waited_us, bytes: Bytes(bytes), ended_by }
    });
    let cause = prop::sample::select(Cause::ALL.to_vec());
    let worst = (count(), time(), cause, time(), prop::option::of(step)).prop_map(
        |(fetch, response_us, cause, cause_us, step)| WorstFetch {
            fetch,
            response_us,
            outcome: Outcome::TimeoutConnect,
            worker: Some(1_023),
            cause,
            cause_us,
            step,
        },
    );
    let reasons = ["the workers told nothing of their time", "the kernel shows no schedstat"];
    let hidden = prop::sample::subsequence(Cause::ALL.to_vec(), 0..8).prop_map(move |causes| {
        let reason = |cause| reasons[cause as usize % 2].to_owned();
        causes
            .into_iter()
            .map(|cause| HiddenCause { cause, reason: reason(cause) })
            .collect::<Vec<_>>()
    });
    let law = (0.0..1e9_f64, 1.0..1e4_f64, 0..u64::MAX / 2, time(), time()).prop_map(
        |(turns, downloads_per_worker, bytes, predicted_us, measured_us)| Law {
            turns,
            downloads_per_worker,
            bytes_per_step: Bytes(bytes),
            fetch_bytes: Bytes(bytes),
            drain_rate: BytesPerSec(999_999_999_999),
            predicted_us,
            measured_us,
        },
    );
    let late = (0..10_000_000_u64, time(), time(), prop::option::of(worst), hidden);
    let log = (prop::array::uniform5(count()), time());
    (late, causes, prop::option::of(law), log).prop_map(|(late, causes, law, log)| {
        let (fetches, limit_us, time_us, worst, hidden) = late;
        let ([failed, called_ok, unlogged, understated, overstated], largest_gap_us) = log;
        Told {
            late: LateSummary { phase: Phase::Measure, limit_us, fetches, time_us, worst, hidden },
            causes,
            law,
            log_truth: LogTruth {
                failed,
                called_ok,
                unlogged,
                understated,
                overstated,
                largest_gap_us,
            },
        }
    })
}

fn outcome_counts() -> impl Strategy<Value = OutcomeCounts> {
    prop::collection::vec(0..10_000_000_u64, 9)
        .prop_map(|counts| Outcome::ALL.into_iter().zip(counts).collect::<BTreeMap<_, _>>().into())
}

fn fetches() -> impl Strategy<Value = FetchSummary> {
    let latency = || {
        prop::array::uniform6(0..100_000_000_000_u64)
            .prop_map(|[min, p50, p90, p99, max, mean]| LatencyUs { min, p50, p90, p99, max, mean })
    };
    (outcome_counts(), latency(), latency(), latency()).prop_map(
        |(outcomes, latency_us, response_us, lag_us)| FetchSummary {
            attempts: outcomes.attempts(),
            latency_us,
            response_us,
            failed_share: outcomes.failed_share().unwrap_or(0.0),
            censored: 1,
            lag_us,
            completion_us: None,
            outcomes,
        },
    )
}

fn worker() -> impl Strategy<Value = WorkerSummary> {
    let scheduler = prop_oneof![
        Just(SchedulerFigures::All),
        Just(SchedulerFigures::NoWait),
        Just(SchedulerFigures::None),
    ];
    let ended_by = prop_oneof![
        Just(None),
        Just(Some(StepEnd::UpstreamEmpty)),
        Just(Some(StepEnd::DownstreamFull)),
        Just(Some(StepEnd::UpstreamFull)),
    ];
    let counts = prop::array::uniform5(0..1_000_000_000_u64);
    (0..1_024_u32, counts, 0..9_999_999_999_999_u64, 0.0..1.0_f64, scheduler, ended_by).prop_map(
        |(
            worker,
            [sessions, downloads, step, turn, switches],
            bytes,
            share,
            scheduler,
            ended_by,
        )| {
            WorkerSummary {
                worker,
                sessions,
                downloads,
                longest_step_us: step,
                longest_step_bytes: bytes,
                longest_step_ended_by: ended_by,
                longest_loop_turn_us: turn,
                scheduler,
                user_share: share,
                system_share: share,
                cpu_share: share,
                wait_share: share,
                voluntary_per_sec: switches as f64,
                involuntary_per_sec: switches as f64,
                ..WorkerSummary::default()
            }
        },
    )
}
