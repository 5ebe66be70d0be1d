//! Every rule at its edge, every precondition, and the wording of figures.

mod caveats;

use std::time::Duration;

use records::{
    Bytes, CaveatCode, Download, DownloadEnd, Micros, Outcome, Phase, Side, Verdict, percent,
};

use super::{count, list};
use crate::summarise;
use testkit::fixture::{Run, at_ms};

use Verdict::{Degraded, Healthy, Inconclusive, Starved};

/// Fetches as `95 ok 6000, 5 timeout_no_byte 1001000`: how many, how they ended, after how many us.
fn fetches(text: &str) -> Vec<(u64, Outcome, u64)> {
    let of = |part: &str| {
        let [count, name, us] = part.split(' ').collect::<Vec<_>>()[..] else { panic!("{part}") };
        (count.parse().expect(part), name.parse().expect(part), us.parse().expect(part))
    };
    text.split(", ").map(of).collect()
}

/// A good run with these fetches under load.
fn loaded(text: &str) -> Run {
    Run::loaded(&fetches(text))
}

/// Fetches as fast as without load, beside two downloads that move at a constant rate.
fn healthy() -> Run {
    loaded("80 ok 6000")
}

/// All fetches failed, beside the same downloads.
fn starved() -> Run {
    loaded("80 timeout_no_byte 1001000")
}

fn changed(mut run: Run, change: impl FnOnce(&mut Run)) -> Run {
    change(&mut run);
    run
}

/// What is judged of each of these runs: the verdict, and its reasons with `|` between them.
fn judged<const N: usize>(rows: [(&str, Run); N]) -> String {
    let row = |(what, run): (&str, Run)| {
        let summary = summarise(&run.records);
        let (verdict, reasons) = (summary.verdict, summary.verdict_reasons);
        assert!(
            verdict != Inconclusive || reasons.len() == 1,
            "{what}: one thing is wrong with it"
        );
        format!("{what}: {verdict}: {}", reasons.join(" | "))
    };
    rows.map(row).join("\n")
}

#[test]
fn rules_at_their_edges() {
    let rows = [
        "95 ok 6000, 5 timeout_no_byte 1001000",
        "96 ok 6000, 5 timeout_no_byte 1001000",
        // Any failure degrades, however soon it was, and however many others there are.
        "77 ok 6000, 3 refused 90",
        "79 ok 6000, 1 bad_status 400",
        "999 ok 6000, 1 timeout_connect 1001000",
        "80 ok 500000",
        "80 ok 499600",
        // As `--read-policy fionread` was on a slow CPU: 56 x idle, and no fetch too late for anybody.
        "79 ok 280000, 1 ok 480000",
        // A fetch that failed was never done, however soon it failed; the gate says so too.
        "30 ok 6000, 50 refused 90",
        "90 ok 6000, 2 ok 50000",
        "90 ok 6000, 2 ok 49900",
        "20 ok 6000",
        "19 ok 6000",
        // What this host could not try is not what the proxy did.
        "76 ok 6000, 4 local_error 90",
        "77 ok 6000, 3 local_error 90",
        "74 ok 6000, 3 timeout_no_byte 1001000, 3 local_error 90",
        "73 ok 6000, 4 timeout_no_byte 1001000, 3 local_error 90",
    ];
    insta::assert_snapshot!(judged(rows.map(|load| (load, loaded(load)))));
    // The cap is the user's own word for too late: the median starves from half of it.
    let capped = |cap| changed(loaded("80 ok 999000"), |run| run.arm().fetch.cap = Micros(cap));
    let verdict = |cap| summarise(&capped(cap).records).verdict;
    assert_eq!([2_000_000, 1_998_000].map(verdict), [Degraded, Starved]);
}

/// What stalled a baseline is explained; of one that is sound, what is late under load.
#[test]
fn idle_phases_that_are_a_baseline_and_some_that_are_none() {
    let rows = [
        ("40 ok 5000", "80 ok 5300"),
        // One slow fetch is any host's mood.
        ("19 ok 5000, 1 ok 999000", "80 ok 6000"),
        ("19 ok 5000, 1 timeout_no_byte 1001000", "80 ok 6000"),
        ("28 ok 5000, 2 ok 200000", "80 ok 6000"),
        ("28 ok 5000, 2 ok 200001", "80 ok 6000"),
        // p99 of them is 5 ms.
        ("198 ok 5000, 2 ok 900000", "80 ok 6000"),
        ("197 ok 5000, 3 ok 900000", "80 ok 6000"),
        ("99 ok 5000, 1 reset 700", "80 ok 6000"),
        ("98 ok 5000, 2 reset 700", "80 ok 6000"),
        // What is slow throughout is a baseline, up to half the cap: a multiple of its p50 stalls.
        ("28 ok 15000, 2 ok 300000", "80 ok 15000"),
        ("28 ok 15000, 2 ok 301000", "80 ok 15000"),
        ("28 ok 400000, 2 ok 500000", "80 ok 400000"),
        ("30 ok 501000", "80 ok 501000"),
        ("38 ok 5000, 2 local_error 90", "80 ok 6000"),
        ("20 ok 5000", "80 ok 6000"),
        ("19 ok 5000", "80 ok 6000"),
        // Five times idle is above the floor of 50 ms.
        ("40 ok 12000", "90 ok 6000, 2 ok 59000"),
        ("40 ok 12000", "90 ok 6000, 2 ok 61000"),
        // A proxy that stops for 0.8 s every 2 s, downloads or not.
        ("19 ok 5000, 11 ok 777000", "50 ok 6000, 30 ok 955000"),
    ];
    let row = |(idle, load)| {
        let mut run = Run::new();
        for (phase, text) in [(Phase::Idle, idle), (Phase::Measure, load)] {
            for (count, outcome, us) in fetches(text) {
                run.fetches(phase, count, outcome, us);
            }
        }
        let late = summarise(&run.records).late;
        let (of, limit) = (late.phase.name(), late.limit_us);
        format!("{}; late: {} of {of}, over {limit}\n", judged([(idle, run)]), late.fetches)
    };
    insta::assert_snapshot!(rows.map(row).concat());
}

/// No download receives anything from then on.
fn stall(run: &mut Run, from_ms: u64, to_ms: u64) {
    let stalled = |start| (at_ms(from_ms)..at_ms(to_ms)).contains(&start);
    for interval in run.records.intervals.iter_mut().filter(|i| stalled(i.start_ns)) {
        interval.bytes.fill(Bytes(0));
    }
}

/// Each download breaks off `times` in the measure phase of 8 s.
fn cut(run: &mut Run, times: u64, end: DownloadEnd) {
    let whole = std::mem::take(&mut run.records.downloads);
    for download in &whole {
        for part in 0..times {
            let mut one = download.clone();
            one.ordinal = u32::try_from(part).expect("few");
            one.start_ns = at_ms(5_000 + part * 8_000 / times);
            (one.total_us, one.bytes, one.end) = (Micros(900), Bytes::kib(64), end);
            run.records.downloads.push(one);
        }
    }
}

/// A load that is not there makes every fetch fast; what starves fetches may starve downloads too.
#[test]
fn a_run_needs_its_load_unless_it_is_starved() {
    let stopped = |run| changed(run, |run| stall(run, 5_000, 20_000));
    let stalled = |from, to| changed(healthy(), |run| stall(run, from, to));
    let slow_tail = || loaded("80 ok 6000, 2 ok 60000");
    let slowly = |run: &mut Run| {
        for (index, interval) in run.records.intervals.iter_mut().enumerate() {
            interval.bytes.fill(Bytes(u64::from(index % 2 == 0)));
        }
    };
    let missing = |run: &mut Run| {
        run.records.intervals.retain(|interval| interval.start_ns < at_ms(7_000));
    };
    let one_moves = |run: &mut Run| {
        run.records.intervals.iter_mut().for_each(|interval| interval.bytes[1] = Bytes(1));
    };
    let cut_by = |times, end| changed(healthy(), |run| cut(run, times, end));
    let before = |run: &mut Run| {
        run.records.downloads.iter_mut().for_each(|one| one.start_ns = at_ms(4_100));
    };
    let reset = DownloadEnd::Reset;
    insta::assert_snapshot!(judged([
        ("it moves", healthy()),
        ("it stopped", stopped(healthy())),
        ("it stopped, of a starved run", stopped(starved())),
        ("it stopped, of a slow median", stopped(loaded("80 ok 500000"))),
        ("it moves, of a degraded run", slow_tail()),
        ("it stopped, of a degraded run", stopped(slow_tail())),
        ("4 s of 8 s", stalled(6_000, 10_000)),
        ("4.5 s of 8 s", stalled(5_500, 10_000)),
        ("one that moves is enough", changed(stalled(5_500, 10_000), one_moves)),
        ("read at 1 B/s, a byte each second", changed(healthy(), slowly)),
        ("no interval", changed(healthy(), missing)),
        ("closed early", cut_by(200, DownloadEnd::ClosedEarly)),
        ("reset", cut_by(200, reset)),
        ("bad status", cut_by(200, DownloadEnd::BadStatus)),
        ("refused", cut_by(200, DownloadEnd::Refused)),
        ("no descriptor", cut_by(200, DownloadEnd::LocalError)),
        ("small ones that are whole", cut_by(200, DownloadEnd::Completed)),
        ("reset, of a starved run", changed(starved(), |run| cut(run, 200, reset))),
        ("one each four seconds", cut_by(2, reset)),
        ("more often", cut_by(3, reset)),
        ("before fetches were measured", changed(cut_by(3, reset), before)),
    ]));
}

/// Downloads that never received a byte: a load that was not there, or the effect at its strongest.
#[test]
fn downloads_that_never_moved() {
    let third = |run: Run| {
        changed(run, |run| {
            run.arm().load.slow = 3;
            run.bytes(2, 0);
        })
    };
    let undialled = |run: &mut Run| {
        run.records.downloads.push(Download {
            slot: 2,
            start_ns: at_ms(4_020),
            end: DownloadEnd::LocalError,
            ..Download::default()
        });
    };
    let none_moved = |run: &mut Run| {
        run.records.downloads.iter_mut().for_each(|download| download.bytes = Bytes(0));
        run.records.intervals.iter_mut().for_each(|interval| interval.bytes.fill(Bytes(0)));
    };
    // One worker served the other downloads while fetches ran: that is what is being measured.
    let moved_before = |run: &mut Run| {
        run.download(2, 0, 1_000_000);
        for interval in run.records.intervals.iter_mut().filter(|i| i.start_ns >= at_ms(5_000)) {
            interval.bytes[2] = Bytes(0);
        }
    };
    insta::assert_snapshot!(judged([
        ("one of three", third(healthy())),
        ("for want of a descriptor", changed(third(healthy()), undialled)),
        ("it waited as the fetches did", third(starved())),
        (
            "nothing moved: the fetches waited for something else",
            changed(third(starved()), none_moved)
        ),
        ("it moved before", changed(starved(), moved_before)),
    ]));
}

/// So many of the fetches under load started so late.
fn late(lag_ms: u64, fetches: usize) -> Run {
    changed(healthy(), |run| {
        let measured = run.records.fetches.iter_mut().filter(|f| f.phase == Phase::Measure);
        for fetch in measured.take(fetches) {
            fetch.intended_ns = fetch.start_ns - Duration::from_millis(lag_ms);
        }
    })
}

/// Of a run so many fetches left no record.
fn lose(run: Run, lost: u64) -> Run {
    changed(run, |run| {
        run.records.fetches.iter_mut().rev().take(10).for_each(|fetch| fetch.fetch += lost);
    })
}

/// The proxy lost records, and so many fetches lack their session.
fn sessions_lost(sessions: usize, records_lost: u64) -> Run {
    changed(healthy(), |run| {
        run.records.totals[0].records_lost = records_lost;
        let last = run.records.sessions.len() - sessions;
        run.records.sessions.truncate(last);
    })
}

#[test]
fn preconditions() {
    let cut_at = |ms| changed(Run::starved(), |run| run.interrupt(ms));
    // In the load phase a download may well not have moved yet.
    let early = changed(cut_at(4_600), |run| run.arm().load.slow = 9);
    let faulty = changed(Run::starved(), |run| run.fault(Side::Origin, "the origin ended"));
    let degraded = || loaded("90 ok 6000, 2 reset 500");
    let killed = changed(lose(degraded(), 3), |run| {
        run.records.manifest.interrupted = Some("SIGTERM".to_owned());
    });
    let stolen = |ms| changed(Run::starved(), |run| run.records.manifest.host.stolen_ms = ms);
    insta::assert_snapshot!(judged([
        ("a fault", faulty),
        ("cut short after 20 fetches", cut_at(6_900)),
        ("after 19", cut_at(6_890)),
        ("before any", early),
        ("a late client", late(101, 9)),
        ("at the limit", late(100, 80)),
        ("its p90 is not late", late(101, 8)),
        ("lost: 4 of 94 at worst", lose(degraded(), 2)),
        ("lost: starved at worst", lose(degraded(), 3)),
        ("lost: degraded at worst", lose(loaded("90 ok 6000"), 1)),
        ("lost: starved either way", lose(Run::starved(), 3)),
        ("fetches under way are not lost", killed),
        ("4 of 80 sessions lost", sessions_lost(4, 7)),
        ("5 of 80 sessions lost", sessions_lost(5, 7)),
        ("a proxy that tells nothing lost nothing", sessions_lost(5, 0)),
        ("34 % of 14 s stolen", stolen(4_800)),
        ("35 % stolen", stolen(4_900)),
    ]));
}

#[test]
fn a_client_that_counts_from_zero_in_each_phase_has_lost_nothing() {
    let mut run = healthy();
    let measured = run.records.fetches.iter_mut().filter(|fetch| fetch.phase == Phase::Measure);
    (0..).zip(measured).for_each(|(number, fetch)| fetch.fetch = number);
    assert_eq!(summarise(&run.records).verdict, Healthy);
    assert_eq!(caveats::of(&run, CaveatCode::RecordsLost), "");
    // Numbers that the other phase has do not fill the gap.
    run.records.fetches.drain(50..53);
    assert_eq!(caveats::of(&run, CaveatCode::RecordsLost), "3 fetches left no record");
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
    let counts = [0, 1].map(|fetches| count(fetches, "fetch", "fetches"));
    assert_eq!(counts, ["0 fetches", "1 fetch"]);
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
