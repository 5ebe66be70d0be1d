//! Figures from records, whatever the records say.

use records::{
    Absence, Blocked, Bytes, CallTotal, CallTotals, Download, DownloadEnd, DownloadInterval,
    FetchTotals, LogTruth, Micros, MonoNs, Outcome, Phase, ProxyKind, SchedulerFigures, SessionEnd,
    Summary, WorkerSummary, WorkerTotals,
};

use super::log::Logged;
use super::response_differs;
use super::workers::{absences, blocked, calls};
use crate::join::Join;
use crate::summarise;
use crate::window::Window;
use testkit::fixture::{Run, at_ms};

fn summary(run: &Run) -> Summary {
    summarise(&run.records)
}

#[test]
fn times_of_all_outcomes_count_at_their_true_age() {
    let summary = summary(&Run::starved());
    let measure = &summary.measure;
    assert_eq!((measure.attempts, measure.outcomes.failed(), measure.censored), (80, 62, 60));
    assert_eq!((measure.latency_us.min, measure.latency_us.max), (31_000, 1_004_000));
    assert_eq!(
        measure.latency_us.mean,
        (18 * 31_000 + 44 * 1_004_000 + 16 * 1_003_000 + 2 * 912_000) / 80
    );
    assert_eq!(summary.idle.latency_us.p99, 5_000, "exact: never above the largest");
}

#[test]
fn fetches_that_are_only_counted_count_as_the_others() {
    let told = summary(&Run::starved()).measure;
    let mut run = Run::starved();
    let end = run.records.fetches.iter().map(|fetch| fetch.fetch).max().expect("fetches") + 1;
    let totals = |outcome, times: &[(u64, u64)]| FetchTotals {
        phase: Phase::Measure,
        from_ns: at_ms(6_000),
        until_ns: at_ms(7_000),
        outcome,
        times_us: times.iter().map(|(time, count)| (Micros(*time), *count)).collect(),
    };
    run.records.fetch_totals = vec![
        totals(Outcome::Ok, &[(2_000, 9_000), (3_000, 900)]),
        totals(Outcome::Refused, &[(90, 20)]),
    ];
    // Those that have a record have their numbers among all of them.
    run.records.fetches.last_mut().expect("a fetch").fetch = end + 9_920 - 1;
    let summary = summary(&run);
    let measure = &summary.measure;
    assert_eq!(measure.attempts, told.attempts + 9_920);
    assert_eq!(measure.outcomes.failed(), told.outcomes.failed() + 20);
    assert_eq!((measure.latency_us.min, measure.latency_us.p50), (90, 2_000));
    assert_eq!(measure.latency_us.max, told.latency_us.max);
    assert_eq!(measure.response_us.p50, 2_000);
    assert_eq!(super::missing(&run.records.fetches, &run.records.fetch_totals), 0);
    run.records.fetch_totals.pop();
    assert_eq!(super::missing(&run.records.fetches, &run.records.fetch_totals), 20);
}

#[test]
fn response_times_matter_from_one_percent_on() {
    let mut fetches = summary(&Run::starved()).measure;
    assert!(!response_differs(&fetches));
    fetches.response_us.p90 += fetches.response_us.p90 / 100;
    assert!(!response_differs(&fetches));
    fetches.response_us.p90 += 1;
    assert!(response_differs(&fetches));
}

#[test]
fn bytes_of_intervals_at_the_edges_count_in_part() {
    let mut run = Run::good();
    run.arm().load.slow = 1;
    let interval = |start, end, bytes| DownloadInterval {
        start_ns: at_ms(start),
        end_ns: at_ms(end),
        bytes: vec![Bytes(bytes)],
    };
    run.records.intervals = vec![
        interval(4_000, 4_900, 7_000), // before
        interval(4_900, 5_300, 4_000), // three quarters inside
        interval(5_300, 12_900, 50_000),
        interval(12_900, 13_900, 1_000), // a tenth inside
        interval(13_900, 14_000, 9_000), // after
    ];
    let slow = summary(&run).slow;
    assert_eq!(slow.bytes, Bytes(53_100));
    assert_eq!(slow.bytes_per_sec.0, 53_100 / 8);
    assert_eq!(slow.slot_bytes_per_sec.len(), 1);
}

#[test]
fn a_slot_that_nobody_told_of_is_there_with_nothing() {
    let mut run = Run::good();
    run.download(0, 0, 1_000);
    run.arm().load.slow = 3;
    let slow = summary(&run).slow;
    assert_eq!(slow.slot_bytes_per_sec.len(), 3);
    assert_eq!((slow.slowest_slot.0, slow.fastest_slot.0), (0, 1_000));
}

#[test]
fn downloads_end_whole_or_broken_or_as_we_wished() {
    let mut run = Run::good();
    run.download(0, 0, 1_000);
    let whole = run.records.downloads[0].clone();
    for (end, start, total) in [
        (DownloadEnd::Completed, 4_100, 5_000_000),
        (DownloadEnd::Completed, 9_200, 3_000_000),
        (DownloadEnd::Replaced, 4_050, 10),
        (DownloadEnd::Reset, 6_000, 1_000_000),
        (DownloadEnd::ClosedEarly, 6_000, 9_000_000), // ended after the load
    ] {
        let (start_ns, total_us) = (at_ms(start), Micros(total));
        run.records.downloads.push(Download { end, start_ns, total_us, ..whole.clone() });
    }
    let slow = summary(&run).slow;
    assert_eq!((slow.completed, slow.broken), (2, 1));
    assert_eq!(slow.completed_us, [Micros(3_000_000), Micros(5_000_000)]);
}

#[test]
fn statuses_stand_beside_what_their_clients_saw() {
    let mut run = Run::starved();
    // One was never accepted, one asked nothing and is not logged.
    let last = run.records.fetches.len() - 1;
    run.records.fetches[last].client_port = None;
    let unasked = run.records.fetches[60].client_port;
    let session = run.records.sessions.iter_mut().find(|s| Some(s.client_port) == unasked);
    session.expect("a session").status = 0;
    let proxy = summary(&run).proxy;
    assert_eq!(proxy.status_counts.into_iter().collect::<Vec<_>>(), [(200, 35), (499, 43)]);
    assert_eq!(proxy.early_closes, 43);
    assert_eq!(proxy.status_outcomes[&499].count(Outcome::TimeoutNoByte), 43);
    assert_eq!(proxy.status_outcomes[&200].count(Outcome::TimeoutPartial), 16);
    assert_eq!(proxy.unlogged.attempts(), 2);
    assert_eq!(proxy.session_ends[&SessionEnd::ClientClosed], 44 + 16 + 1);
}

#[test]
fn the_log_gap_is_of_the_line_that_misleads_most() {
    let mut run = Run::starved();
    let gap = summary(&run).log_gap.expect("a gap");
    assert_eq!((gap.status, gap.logged_us, gap.true_us), (499, Micros(0), Micros(1_004_000)));
    assert_eq!(gap.outcome, Outcome::TimeoutNoByte);
    // A log that tells of more than the client waited for does, where no other line tells of less.
    let port = run.records.fetches[70].client_port;
    let long = |session: &mut records::Session, rt_ms| session.log.rt_ms = rt_ms;
    let of_70 = run.records.sessions.iter().position(|s| Some(s.client_port) == port).expect("it");
    long(&mut run.records.sessions[of_70], 7_000);
    assert_eq!(summary(&run).log_gap.expect("a gap").logged_us, Micros(0));
    run.records.sessions.iter_mut().for_each(|session| long(session, 6_000));
    long(&mut run.records.sessions[of_70], 7_000);
    let gap = summary(&run).log_gap.expect("a gap");
    assert_eq!((gap.fetch, gap.logged_us), (70, Micros(7_000_000)));
    assert_eq!(summary(&Run::good()).log_gap, None, "nothing was measured");
}

#[test]
fn a_measure_phase_without_end_lasts_until_the_last_record() {
    let mut run = Run::starved();
    run.records.manifest.phases.truncate(4);
    run.records.manifest.phases[3].end_ns = None;
    run.records.intervals.retain(|interval| interval.end_ns <= at_ms(9_000));
    run.records.samples.retain(|sample| sample.at_ns <= at_ms(9_000));
    run.records.fetches.truncate(60);
    assert_eq!(summary(&run).measured_us, Micros(4_000_000));
}

/// A proxy of ours that logs nothing of failed fetches misleads; a program that never logs does not.
#[test]
fn a_program_without_a_log_has_no_lines_missing() {
    let mut run = Run::starved();
    for session in &mut run.records.sessions {
        session.status = 0;
    }
    let logged = |kind| Logged::of(&kind, &Join::of(&run.records));
    let [own, other] = [ProxyKind::Mirror, ProxyKind::Exec("./mine".to_owned())].map(logged);
    assert!(own.truth.unlogged > 0 && own.proxy.unlogged.attempts() > 0);
    assert_eq!((other.truth, other.proxy.unlogged.attempts()), (LogTruth::default(), 0));
}

fn truth(run: &Run) -> LogTruth {
    Logged::of(&ProxyKind::Mirror, &Join::of(&run.records)).truth
}

/// What the client saw, for how long (us), the status and the time (ms) in the log; and whether it failed,
/// was called ok, understated, overstated, and the gap (us).
#[rustfmt::skip]
#[test]
fn one_fetch_and_its_line() {
    use Outcome::{Ok, TimeoutNoByte, TimeoutPartial};
    for (what, outcome, total_us, status, rt_ms, [failed, called_ok, understated, overstated, gap]) in [
        ("a failure, with its time", TimeoutNoByte, 1_004_000, 499, 1_004, [1, 0, 0, 0, 0]),
        ("the published case: a time is hidden", TimeoutNoByte, 1_004_000, 499, 0, [1, 0, 1, 0, 1_004_000]),
        ("a failure is called ok", TimeoutPartial, 1_000_000, 200, 1_000, [1, 1, 0, 0, 0]),
        ("it was ok", Ok, 1_000_000, 200, 1_000, [0, 0, 0, 0, 0]),
        ("a time is overstated", Ok, 5_000, 200, 30, [0, 0, 0, 1, 25_000]),
        // Under 10 ms it is the log's resolution; within a factor of 2 it is near enough.
        ("under 10 ms", Ok, 9_999, 200, 0, [0, 0, 0, 0, 9_999]),
        ("half as long", Ok, 100_000, 200, 50, [0, 0, 0, 0, 50_000]),
        ("twice as long", Ok, 100_000, 200, 200, [0, 0, 0, 0, 100_000]),
    ] {
        let mut run = Run::new();
        run.fetches(Phase::Measure, 1, outcome, total_us);
        let session = &mut run.records.sessions[0];
        (session.status, session.log.rt_ms) = (status, rt_ms);
        let largest_gap_us = Micros(gap);
        let expected = LogTruth { failed, called_ok, understated, overstated, largest_gap_us, unlogged: 0 };
        assert_eq!(truth(&run), expected, "{what}");
    }
}

fn ms(ms: u64) -> MonoNs {
    MonoNs(ms * 1_000_000)
}

#[test]
fn calls_sleeps_and_absences_of_all_workers() {
    let mut run = Run::new().records;
    let nobody = absences(&run, Window::new(ms(0), ms(9)));
    assert_eq!(nobody, None);
    let totals = |worker, at, count| {
        let call = CallTotal { count, time_us: Micros(count * 10), ..CallTotal::default() };
        CallTotals { worker, at_ns: ms(at), calls: [("readv".to_owned(), call)].into() }
    };
    // Of each worker its last counts.
    run.calls = vec![totals(0, 2, 50), totals(0, 1, 20), totals(1, 1, 5)];
    let sleep = |start, end, call: &str| Blocked {
        start_ns: ms(start),
        end_ns: ms(end),
        call: call.to_owned(),
        ..Blocked::default()
    };
    // The first is over before the load.
    run.blocked = vec![
        sleep(1, 8, "close"),
        sleep(20, 60, "pwritev"),
        sleep(70, 80, "pwritev"),
        sleep(90, 99, ""),
    ];
    let absence = |worker, start, end, running| {
        let (start_ns, end_ns, looks) = (ms(start), ms(end), running + 1);
        Absence { worker, start_ns, end_ns, looks, running, waiting: 1, blocked: 0 }
    };
    run.absences = vec![absence(0, 0, 30, 29), absence(1, 5, 1_005, 900)];
    let slept = blocked(&run, Window::new(ms(10), ms(100)));
    let away = absences(&run, Window::new(ms(0), ms(2_000)));
    insta::assert_debug_snapshot!((calls(&run), slept, away));
}

fn worker(run: &Run, number: u32) -> WorkerSummary {
    let summary = summarise(&run.records);
    summary.proxy.workers.into_iter().find(|row| row.worker == number).expect("a row")
}

#[test]
fn steps_are_those_under_load() {
    type Row<'a> = (&'static str, &'a dyn Fn(&mut Run));
    let totals = |run: &mut Run, records_lost: u64| {
        let totals = &mut run.records.totals[0];
        (totals.longest_step_us, totals.longest_turn_us) = (Micros(900_000), Micros(900_000));
        totals.records_lost = records_lost;
    };
    // The totals' longest step was the hold while idle: under load there was none, and no length of
    // a shorter one is known. Unless records were lost: then it may be the very one that is missing.
    let while_idle = |run: &mut Run, lost| {
        run.hold(0, 1_000, 900, Bytes::mib(9));
        totals(run, lost);
    };
    let of_steps = |at_ns, steps| WorkerTotals { at_ns, steps, ..WorkerTotals::default() };
    let rows: [Row<'_>; 6] = [
        ("holds", &|run| {
            run.hold(0, 1_000, 2_900, Bytes::mib(9)); // while idle
            run.hold(0, 4_500, 700, Bytes::mib(2)); // from the load into the measure phase
            run.hold(0, 12_900, 1_050, Bytes::mib(3)); // outlasts the load
            run.hold(0, 13_500, 3_000, Bytes::mib(4)); // begun after it
            run.hold(1, 6_000, 20, Bytes::kib(64));
        }),
        ("the totals tell", &|_| ()),
        ("a hold while idle alone", &|run| while_idle(run, 0)),
        ("the same, with a record lost", &|run| while_idle(run, 1)),
        ("a step that no hold tells of is not short for that", &|run| {
            run.hold(0, 6_000, 20, Bytes::kib(64));
            run.records.holds.clear();
            totals(run, 0);
        }),
        ("between the totals around the load", &|run| {
            let told = [(3_000, 100), (4_000, 150), (8_000, 900), (13_100, 1_500), (14_000, 1_600)];
            run.records.totals = told.map(|(ms, steps)| of_steps(at_ms(ms), steps)).into();
        }),
    ];
    let row = |(what, change): Row<'_>| {
        let mut run = Run::good();
        change(&mut run);
        let row = worker(&run, 0);
        let (holds, turn, steps) = (row.holds, row.longest_loop_turn_us, row.steps);
        let longest = format!("{} us, {} bytes", row.longest_step_us, row.longest_step_bytes);
        format!("{what}: {holds} holds, longest {longest}, turn {turn} us, {steps} steps\n")
    };
    insta::assert_snapshot!(rows.map(row).concat());
}

#[test]
fn shares_and_switches_are_those_of_the_measure_phase() {
    let mut run = Run::good();
    // Another pace before: it must not show.
    for sample in run.records.samples.iter_mut().filter(|sample| sample.at_ns < at_ms(5_000)) {
        (sample.user_ms, sample.run_ns, sample.voluntary_switches) = (0, Some(0), 0);
    }
    insta::assert_debug_snapshot!(worker(&run, 0));
}

#[test]
fn hidden_figures_are_told_as_hidden() {
    let mut run = Run::good();
    for sample in &mut run.records.samples {
        (sample.run_ns, sample.run_wait_ns) = (None, None);
    }
    let row = worker(&run, 0);
    assert_eq!(row.scheduler, SchedulerFigures::NoWait);
    assert!((row.cpu_share - 0.62).abs() < 1e-9, "from ticks: {row:?}");
    run.records.samples.retain(|sample| sample.at_ns <= at_ms(5_000));
    assert_eq!(worker(&run, 0).scheduler, SchedulerFigures::None);
}
