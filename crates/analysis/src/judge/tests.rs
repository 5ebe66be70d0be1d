//! Every rule at its edge, every caveat, and the wording of figures.

use std::collections::BTreeMap;
use std::time::Duration;

use proptest::prelude::*;
use records::{
    Bytes, CaveatCode, Download, DownloadEnd, Fetch, Micros, Outcome, Phase, Side, Verdict, percent,
};

use super::wording::{count, list};
use crate::report::Why;
use crate::summarise;
use crate::thresholds::Thresholds;
use testkit::fixture::{Run, at_ms};

/// What its summary says of `code`; no caveat is said twice.
pub(crate) trait Caveats {
    fn caveat(&self, code: CaveatCode) -> Option<String>;
}

impl Caveats for Run {
    fn caveat(&self, code: CaveatCode) -> Option<String> {
        let caveats = summarise(&self.records).caveats;
        let mut found = caveats.into_iter().filter(|caveat| caveat.code == code);
        let first = found.next().map(|caveat| caveat.message);
        assert_eq!(found.next(), None, "said twice");
        first
    }
}

/// What comes of a run.
pub(crate) fn verdict(run: &Run) -> Verdict {
    summarise(&run.records).verdict
}

/// The only reason of an inconclusive run.
pub(crate) fn only_reason(run: &Run) -> String {
    let summary = summarise(&run.records);
    assert_eq!(summary.verdict, Verdict::Inconclusive, "{:?}", summary.verdict_reasons);
    match summary.verdict_reasons.as_slice() {
        [reason] => reason.clone(),
        reasons => panic!("not one reason: {reasons:?}"),
    }
}

#[test]
fn the_failed_share_starves_from_five_percent() {
    let edge = Run::loaded(&[(95, Outcome::Ok, 6_000), (5, Outcome::TimeoutNoByte, 1_001_000)]);
    let summary = summarise(&edge.records);
    assert_eq!(summary.verdict, Verdict::Starved);
    let reason = "5 of 100 fetches under load failed (5 %; starved from 5 %)";
    assert_eq!(summary.verdict_reasons, [reason]);
    let below = Run::loaded(&[(96, Outcome::Ok, 6_000), (5, Outcome::TimeoutNoByte, 1_001_000)]);
    let summary = summarise(&below.records);
    assert_eq!(summary.verdict, Verdict::Degraded);
    let reasons = [
        "5 of 101 fetches under load failed (4.95 %; starved from 5 %)",
        "p99 under load is over the 1.000 s cap, idle 5.0 ms (degraded from 5 x and 50.0 ms)",
    ];
    assert_eq!(summary.verdict_reasons, reasons);
}

/// However soon they failed, and however many did not.
#[test]
fn any_failure_under_load_degrades() {
    for (good, failed, outcome, us) in [
        (77, 3, Outcome::Refused, 90),
        (79, 1, Outcome::BadStatus, 400),
        (999, 1, Outcome::TimeoutConnect, 1_001_000),
    ] {
        let run = Run::loaded(&[(good, Outcome::Ok, 6_000), (failed, outcome, us)]);
        let summary = summarise(&run.records);
        assert_eq!(summary.verdict, Verdict::Degraded, "{failed} {outcome}");
        let says = format!("{failed} of {} fetches under load failed (", good + failed);
        assert!(summary.verdict_reasons[0].starts_with(&says), "{:?}", summary.verdict_reasons);
    }
}

#[test]
fn the_median_starves_from_half_the_cap() {
    let slow = Run::loaded(&[(80, Outcome::Ok, 500_000)]);
    let summary = summarise(&slow.records);
    assert_eq!(summary.verdict, Verdict::Starved);
    let reason = "p50 under load is 500 ms, idle 5.0 ms, 100 x (starved from 500 ms, 50 % of cap)";
    assert_eq!(summary.verdict_reasons, [reason]);
    let almost = Run::loaded(&[(80, Outcome::Ok, 499_600)]);
    assert_eq!(verdict(&almost), Verdict::Degraded);
    // The cap is the user's own word for too late.
    let mut patient = Run::loaded(&[(80, Outcome::Ok, 999_000)]);
    patient.arm().fetch.cap = Micros(2_000_000);
    assert_eq!(verdict(&patient), Verdict::Degraded);
    patient.arm().fetch.cap = Micros(1_998_000);
    assert_eq!(verdict(&patient), Verdict::Starved);
}

/// As `--read-policy fionread` was on a slow CPU: 56 x idle, and no fetch too late for anybody.
#[test]
fn a_slow_host_alone_starves_nobody() {
    let run = Run::loaded(&[(79, Outcome::Ok, 280_000), (1, Outcome::Ok, 480_000)]);
    assert_eq!(verdict(&run), Verdict::Degraded);
}

/// A fetch that failed was not done within the cap, however soon it failed. The gate's percentiles are
/// the same (`guard::figures`).
#[test]
fn a_fetch_that_failed_was_never_done() {
    let run = Run::loaded(&[(30, Outcome::Ok, 6_000), (50, Outcome::Refused, 90)]);
    let summary = summarise(&run.records);
    assert_eq!(summary.measure.latency_us.p50, 90);
    let reasons = [
        "50 of 80 fetches under load failed (62 %; starved from 5 %)",
        "p50 under load is over the 1.000 s cap, idle 5.0 ms (starved from 500 ms, 50 % of cap)",
    ];
    assert_eq!(summary.verdict_reasons, reasons);
}

#[test]
fn the_tail_degrades_from_five_times_idle_and_a_twentieth_of_a_second() {
    let tail = |us| Run::loaded(&[(90, Outcome::Ok, 6_000), (2, Outcome::Ok, us)]);
    assert_eq!(verdict(&tail(50_000)), Verdict::Degraded);
    assert_eq!(verdict(&tail(49_900)), Verdict::Healthy);
    // Idle fetches of 12 ms: five times that is above the floor.
    let mut run = tail(59_000);
    for fetch in run.records.fetches.iter_mut().filter(|fetch| fetch.phase == Phase::Idle) {
        fetch.total_us = Micros(12_000);
    }
    assert_eq!(verdict(&run), Verdict::Healthy);
    run.records.fetches.iter_mut().rev().take(2).for_each(|f| f.total_us = Micros(61_000));
    assert_eq!(verdict(&run), Verdict::Degraded);
}

#[test]
fn no_load_is_judged_by_the_same_rules() {
    let mut run = Run::good();
    run.fetches(Phase::Measure, 80, Outcome::Ok, 5_300);
    assert_eq!(verdict(&run), Verdict::Healthy);
}

#[test]
fn twenty_fetches_are_needed_in_both_phases() {
    assert_eq!(verdict(&Run::loaded(&[(20, Outcome::Ok, 6_000)])), Verdict::Healthy);
    let reason = only_reason(&Run::loaded(&[(19, Outcome::Ok, 6_000)]));
    assert!(reason.starts_with("only 19 fetches under load, 20 are needed"), "{reason}");
    let mut few_idle = Run::loaded(&[(80, Outcome::Ok, 6_000)]);
    let renumber = |run: &mut Run| {
        (0..).zip(&mut run.records.fetches).for_each(|(number, fetch)| fetch.fetch = number);
    };
    few_idle.records.fetches.drain(..20);
    renumber(&mut few_idle);
    assert_eq!(verdict(&few_idle), Verdict::Healthy);
    few_idle.records.fetches.remove(0);
    renumber(&mut few_idle);
    let reason = only_reason(&few_idle);
    assert!(reason.starts_with("only 19 fetches before the load"), "{reason}");
}

#[test]
fn a_fault_proves_nothing_whatever_the_figures_say() {
    let mut run = Run::starved();
    run.fault(Side::Origin, "the origin ended with signal 9");
    assert_eq!(only_reason(&run), "the origin ended with signal 9 (in the measure phase)");
}

#[test]
fn an_interruption_matters_only_when_it_left_too_few_fetches() {
    let cut_at = |ms| {
        let mut run = Run::starved();
        run.interrupt(ms);
        run
    };
    assert_eq!(verdict(&cut_at(6_900)), Verdict::Starved, "20 fetches, 2 of which failed");
    let reason = only_reason(&cut_at(6_890));
    assert!(reason.starts_with("SIGINT cut the run short: 19 fetches under load"), "{reason}");
    // In the load phase a download may well not have moved yet.
    let mut early = cut_at(4_600);
    early.arm().load.slow = 9;
    let reason = only_reason(&early);
    assert!(reason.starts_with("SIGINT cut the run short: 0 fetches"), "{reason}");
}

#[test]
fn a_download_that_never_moved_proves_nothing() {
    let mut run = Run::loaded(&[(80, Outcome::Ok, 6_000)]);
    run.arm().load.slow = 3;
    run.bytes(2, 0);
    let reason = only_reason(&run);
    assert_eq!(reason, "1 of 3 downloads never received a byte (slot 2)");
    run.records.downloads.push(Download {
        slot: 2,
        ordinal: 0,
        client_port: None,
        start_ns: at_ms(4_020),
        first_byte_us: None,
        total_us: Micros(0),
        bytes: Bytes(0),
        end: DownloadEnd::LocalError,
    });
    let reason = only_reason(&run);
    assert!(reason.contains("(slot 2): 1 time this host had no descriptor"), "{reason}");
    assert!(reason.contains("ulimit -n"), "{reason}");
}

#[test]
fn downloads_that_wait_as_the_fetches_do_keep_no_run_from_being_starved() {
    let mut run = Run::loaded(&[(80, Outcome::TimeoutNoByte, 1_001_000)]);
    run.arm().load.slow = 3;
    run.bytes(2, 0);
    let judged = summarise(&run.records);
    assert_eq!(judged.verdict, Verdict::Starved);
    let caveat = judged.caveats.iter().find(|caveat| caveat.code == CaveatCode::DownloadsHeld);
    let message = &caveat.expect("it is told").message;
    assert!(message.starts_with("1 of 3 downloads never received a byte (slot 2): "), "{message}");
    // Where nothing moved at all, the fetches waited for something else.
    run.records.downloads.iter_mut().for_each(|download| download.bytes = Bytes(0));
    for interval in &mut run.records.intervals {
        interval.bytes.fill(Bytes(0));
    }
    assert_eq!(only_reason(&run), "3 of 3 downloads never received a byte (slot 0, 1 and 2)");
}

/// One worker served the other downloads while fetches ran: that is what is being measured.
#[test]
fn a_download_that_moved_only_before_the_measure_phase_has_moved() {
    let mut run = Run::loaded(&[(80, Outcome::TimeoutNoByte, 1_001_000)]);
    run.download(2, 0, 1_000_000);
    for interval in run.records.intervals.iter_mut().filter(|i| i.start_ns >= at_ms(5_000)) {
        interval.bytes[2] = Bytes(0);
    }
    assert_eq!(verdict(&run), Verdict::Starved);
}

#[test]
fn a_late_client_proves_nothing_from_a_tenth_of_the_cap_on() {
    let late = |lag_ms: u64, of_80: usize| {
        let mut run = Run::loaded(&[(80, Outcome::Ok, 6_000)]);
        let measured = run.records.fetches.iter_mut().filter(|f| f.phase == Phase::Measure);
        for fetch in measured.take(of_80) {
            fetch.intended_ns = fetch.start_ns - Duration::from_millis(lag_ms);
        }
        run
    };
    let reason = only_reason(&late(101, 9));
    assert!(reason.starts_with("the fast client itself was late under load"), "{reason}");
    assert!(reason.contains("101 ms (above 10 % of the 1.000 s cap"), "{reason}");
    assert_eq!(verdict(&late(100, 80)), Verdict::Healthy, "at the limit");
    assert_eq!(late(100, 80).caveat(CaveatCode::ClientLate), None);
    assert_eq!(verdict(&late(101, 8)), Verdict::Healthy, "p90 is not late");
    let message = late(101, 8).caveat(CaveatCode::ClientLate).expect("late now and then");
    assert!(message.contains("up to 101 ms late"), "{message}");
}

/// Idle fetches of 5 ms and these, then a load that hurts nobody.
fn idle(odd: &[(u64, Outcome, u64)], of: u64) -> Run {
    let mut run = Run::new();
    let odds: u64 = odd.iter().map(|(count, ..)| count).sum();
    run.fetches(Phase::Idle, of - odds, Outcome::Ok, 5_000);
    for &(count, outcome, us) in odd {
        run.fetches(Phase::Idle, count, outcome, us);
    }
    run.fetches(Phase::Measure, 80, Outcome::Ok, 6_000);
    run
}

/// A proxy that stops for 0.8 s every 2 s, downloads or not.
#[test]
fn a_server_that_stalls_by_itself_proves_nothing() {
    let mut run = idle(&[(11, Outcome::Ok, 777_000)], 30);
    for fetch in run.records.fetches.iter_mut().rev().take(30) {
        (fetch.total_us, fetch.response_us) = (Micros(955_000), Micros(955_000));
    }
    let reason = only_reason(&run);
    assert_eq!(
        reason,
        "11 of 30 fetches without any load failed or took over 200 ms (20 x idle p50, at least 20 % \
         and at most 50 % of the 1.000 s cap): a server that stalls by itself is no baseline"
    );
    // What stalled it is explained.
    let late = summarise(&run.records).late;
    assert_eq!((late.phase, late.limit_us, late.fetches), (Phase::Idle, Micros(200_000), 11));
    let why = Why::of(&summarise(&run.records), 2).expect("idle fetches");
    assert_eq!((why.attempts, why.late), (30, 11));
}

#[test]
fn one_slow_idle_fetch_is_any_hosts_mood() {
    for (odd, us) in [(Outcome::Ok, 999_000), (Outcome::TimeoutNoByte, 1_001_000)] {
        assert_eq!(verdict(&idle(&[(1, odd, us)], 20)), Verdict::Healthy, "{odd}");
        let late = summarise(&idle(&[(1, odd, us)], 20).records).late;
        assert_eq!((late.phase, late.fetches), (Phase::Measure, 0));
    }
    let stalls = |count, us, of| verdict(&idle(&[(count, Outcome::Ok, us)], of));
    assert_eq!(stalls(2, 200_000, 30), Verdict::Healthy, "at the limit");
    assert_eq!(stalls(2, 200_001, 30), Verdict::Inconclusive);
    assert_eq!(stalls(2, 900_000, 200), Verdict::Healthy, "their p99 is 5 ms");
    assert_eq!(stalls(3, 900_000, 200), Verdict::Inconclusive);
}

/// What is slow throughout is a baseline, up to half the cap: a multiple of its p50 stalls.
#[test]
fn a_slow_baseline_is_one() {
    let slow = |us: u64, slowest: u64| {
        let mut run = Run::new();
        run.fetches(Phase::Idle, 28, Outcome::Ok, us);
        run.fetches(Phase::Idle, 2, Outcome::Ok, slowest);
        run.fetches(Phase::Measure, 80, Outcome::Ok, us);
        run
    };
    assert_eq!(verdict(&slow(15_000, 300_000)), Verdict::Healthy);
    assert_eq!(verdict(&slow(15_000, 301_000)), Verdict::Inconclusive);
    assert_eq!(verdict(&slow(400_000, 500_000)), Verdict::Healthy);
    let reason = only_reason(&slow(501_000, 501_000));
    assert!(reason.starts_with("30 of 30 fetches without any load failed or took over 500 ms"));
}

#[test]
fn a_baseline_that_fails_proves_nothing() {
    assert_eq!(verdict(&idle(&[(1, Outcome::Reset, 700)], 100)), Verdict::Healthy);
    let reason = only_reason(&idle(&[(2, Outcome::Reset, 700)], 100));
    assert!(
        reason.starts_with("2 of 100 fetches without any load failed or took over"),
        "{reason}"
    );
}

/// The run of the issue: what this host could not try is not what the proxy did.
#[test]
fn what_this_host_could_not_try_proves_nothing_from_a_twentieth_on() {
    let with = |untried: u64| {
        Run::loaded(&[(80 - untried, Outcome::Ok, 6_000), (untried, Outcome::LocalError, 90)])
    };
    let reason = only_reason(&with(4));
    assert_eq!(
        reason,
        "4 of 80 fetches under load could not be tried: this host had no descriptor, port or memory \
         left (5 %; from 5 % on nothing is proven); raise `ulimit -n`, widen \
         net.ipv4.ip_local_port_range, or lower --arrivals"
    );
    let few = summarise(&with(3).records);
    assert_eq!(few.verdict, Verdict::Healthy);
    assert_eq!(few.verdict_reasons[0], "none of 77 fetches under load failed (starved from 5 %)");
    let caveat = with(3).caveat(CaveatCode::FetchesUntried).expect("it is told");
    assert!(caveat.starts_with("3 fetches could not be tried: this host had no"), "{caveat}");
    assert_eq!(with(0).caveat(CaveatCode::FetchesUntried), None);
    // They neither make a run starved nor keep it from being so.
    let both = |failed, untried| {
        summarise(
            &Run::loaded(&[
                (80 - failed - untried, Outcome::Ok, 6_000),
                (failed, Outcome::TimeoutNoByte, 1_001_000),
                (untried, Outcome::LocalError, 90),
            ])
            .records,
        )
    };
    assert_eq!(both(3, 3).verdict, Verdict::Degraded, "3 of 77");
    let starved = both(4, 3);
    assert_eq!(starved.verdict, Verdict::Starved);
    let says = "4 of 77 fetches under load failed (5.2 %; starved from 5 %)";
    assert_eq!(starved.verdict_reasons[0], says);
    // The same for the gate, the page and every table.
    assert!((starved.measure.failed_share - 4.0 / 77.0).abs() < 1e-9);
    let completion = few.measure.completion_us.expect("fetches that were tried");
    assert_eq!(completion.max, Some(6_000), "nobody was asked, so nobody was late");
    assert_eq!(few.late.fetches, 0);
}

#[test]
fn a_baseline_that_could_not_be_tried_is_this_hosts_fault() {
    let mut run = Run::new();
    run.fetches(Phase::Idle, 38, Outcome::Ok, 5_000);
    run.fetches(Phase::Idle, 2, Outcome::LocalError, 90);
    run.fetches(Phase::Measure, 80, Outcome::Ok, 6_000);
    let reason = only_reason(&run);
    assert!(reason.starts_with("2 of 40 fetches without any load could not be tried"), "{reason}");
}

#[test]
fn lost_fetches_matter_where_they_could_change_the_verdict() {
    let lose = |mut run: Run, lost: usize| {
        let numbers = run.records.fetches.iter_mut().rev().take(10);
        numbers.for_each(|fetch| fetch.fetch += lost as u64);
        run
    };
    let degraded = || Run::loaded(&[(90, Outcome::Ok, 6_000), (2, Outcome::Reset, 500)]);
    assert_eq!(verdict(&lose(degraded(), 2)), Verdict::Degraded, "4 of 94 at worst");
    let message = lose(degraded(), 2).caveat(CaveatCode::RecordsLost).expect("a caveat");
    assert_eq!(message, "2 fetches left no record");
    let reason = only_reason(&lose(degraded(), 3));
    let says = "3 fetches left no record: between 2.1 % and 5.3 % failed (degraded or starved; ";
    assert!(reason.starts_with(says), "{reason}");
    let reason = only_reason(&lose(Run::loaded(&[(90, Outcome::Ok, 6_000)]), 1));
    let says = "1 fetch left no record: between 0 % and 1.1 % failed (healthy or degraded; ";
    assert!(reason.starts_with(says), "{reason}");
    assert_eq!(verdict(&lose(Run::starved(), 3)), Verdict::Starved, "starved either way");
    let mut cut = lose(degraded(), 3);
    cut.records.manifest.interrupted = Some("SIGTERM".to_owned());
    assert_eq!(verdict(&cut), Verdict::Degraded, "fetches under way are not lost");
}

#[test]
fn a_client_that_counts_from_zero_in_each_phase_has_lost_nothing() {
    let mut run = Run::loaded(&[(80, Outcome::Ok, 6_000)]);
    let measured = run.records.fetches.iter_mut().filter(|fetch| fetch.phase == Phase::Measure);
    for (number, fetch) in (0..).zip(measured) {
        fetch.fetch = number;
    }
    assert_eq!(verdict(&run), Verdict::Healthy);
    assert_eq!(run.caveat(CaveatCode::RecordsLost), None);
    // Numbers that the other phase has do not fill the gap.
    run.records.fetches.drain(50..53);
    let message = run.caveat(CaveatCode::RecordsLost).expect("a caveat");
    assert_eq!(message, "3 fetches left no record");
}

#[test]
fn records_the_proxy_lost_matter_when_fetches_lack_their_sessions() {
    let lose = |sessions: usize| {
        let mut run = Run::loaded(&[(80, Outcome::Ok, 6_000)]);
        run.records.totals[0].records_lost = 7;
        let last = run.records.sessions.len() - sessions;
        run.records.sessions.truncate(last);
        run
    };
    assert_eq!(verdict(&lose(4)), Verdict::Healthy);
    let message = lose(4).caveat(CaveatCode::RecordsLost).expect("a caveat");
    assert!(message.starts_with("the proxy lost 7 records"), "{message}");
    let reason = only_reason(&lose(5));
    assert!(reason.contains("5 of 80 fetches were answered by a session"), "{reason}");
    let mut foreign = lose(5);
    foreign.records.totals[0].records_lost = 0;
    assert_eq!(verdict(&foreign), Verdict::Healthy, "a proxy that tells nothing lost nothing");
}

/// Every reason names the threshold it applied, so a change of one is a change of the text.
#[test]
fn reasons_carry_the_thresholds_in_force() {
    let thresholds = Thresholds::default();
    let starved = summarise(&Run::starved().records).verdict_reasons;
    assert!(starved[0].contains(&format!("starved from {}", percent(thresholds.starved_share))));
    let p50 = format!("starved from 500 ms, {} of cap", percent(thresholds.starved_p50_of_cap));
    assert!(starved[1].contains(&p50), "{starved:?}");
}

#[test]
fn figures_are_worded_without_false_zeros() {
    for (share, text) in [
        (0.0, "0 %"),
        (0.0004, "<0.1 %"),
        (0.0249, "2.5 %"),
        (0.05, "5 %"),
        (0.775, "78 %"),
        (0.998, "99.8 %"),
        (0.9999, "99.9 %"),
        (1.0, "100 %"),
    ] {
        assert_eq!(percent(share), text, "{share}");
    }
    assert_eq!(count(1, "fetch", "fetches"), "1 fetch");
    assert_eq!(count(0, "fetch", "fetches"), "0 fetches");
    for (items, text) in [
        (0..0, ""),
        (0..1, "0"),
        (0..2, "0 and 1"),
        (0..3, "0, 1 and 2"),
        (0..5, "0, 1, 2, 3 and 4"),
        (0..9, "0, 1, 2, 3, 4 and 4 more"),
    ] {
        assert_eq!(list(&items.collect::<Vec<u32>>()), text);
    }
}

proptest! {
    /// More failures never make a verdict milder.
    #[test]
    fn verdicts_follow_the_failed_share(
        failed in 0..=80_u64,
        (outcome, us) in prop::sample::select(vec![
            (Outcome::TimeoutNoByte, 1_001_000),
            (Outcome::Refused, 90),
        ]),
    ) {
        let run = Run::loaded(&[(80 - failed, Outcome::Ok, 6_000), (failed, outcome, us)]);
        let summary = summarise(&run.records);
        let wanted = match failed {
            0 => Verdict::Healthy,
            1..4 => Verdict::Degraded,
            _ => Verdict::Starved,
        };
        prop_assert_eq!(summary.verdict, wanted);
        let counted: BTreeMap<Outcome, u64> = summary.measure.outcomes.into();
        prop_assert_eq!(counted[&outcome], failed);
        let fetches: &[Fetch] = &run.records.fetches;
        prop_assert_eq!(fetches.len(), 120);
    }
}

#[test]
fn a_run_whose_cpu_was_stolen_proves_nothing() {
    let mut run = Run::starved();
    run.records.manifest.host.stolen_ms = 4_800; // of 14 s: 34 %
    assert_eq!(verdict(&run), Verdict::Starved);
    run.records.manifest.host.stolen_ms = 4_900; // 35 %
    let summary = summarise(&run.records);
    assert_eq!(summary.verdict, Verdict::Inconclusive);
    assert!(
        summary.verdict_reasons[0].contains("35 % of the run"),
        "{:?}",
        summary.verdict_reasons
    );
}
