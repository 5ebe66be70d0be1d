//! Every caveat: when it is said, and how.

use std::collections::BTreeMap;

use records::{
    Arrivals, Bytes, Capture, CaveatCode, Micros, Outcome, Phase, Pin, ProxyKind, Recording, Role,
    ThrottleSample, TraceMode, Visibility, WorkerTotals,
};

use super::{changed, healthy, late, loaded, lose, sessions_lost, starved};
use crate::summarise;
use testkit::fixture::{Run, at_ms};

/// What the summary of a run says of `code`, at most once; empty: nothing.
pub(super) fn of(run: &Run, code: CaveatCode) -> String {
    let caveats = summarise(&run.records).caveats;
    let mut found = caveats.into_iter().filter(|caveat| caveat.code == code);
    let first = found.next().map(|caveat| caveat.message);
    assert_eq!(found.next(), None, "said twice");
    first.unwrap_or_default()
}

/// What is said of `code` in each of these runs; `-`: nothing.
fn told<const N: usize>(code: CaveatCode, rows: [(&str, Run); N]) -> String {
    all_told(rows.map(|(what, run)| (code, what, run)))
}

/// The same, each of a code of its own.
fn all_told<const N: usize>(rows: [(CaveatCode, &str, Run); N]) -> String {
    let row = |(code, what, run): (CaveatCode, &str, Run)| {
        let said = of(&run, code);
        format!("{what}: {}\n", if said.is_empty() { "-" } else { &said })
    };
    rows.map(row).concat()
}

#[test]
fn placement_bounds_the_failed_share_only_with_a_listener_each() {
    let uneven = |holding: u32, workers: u32| {
        let mut run = Run::good();
        (2..workers).for_each(|worker| run.worker(worker));
        (0..holding).for_each(|slot| run.download(slot, slot, 1_000_000));
        run.fetches(Phase::Measure, 80, Outcome::Ok, 6_000);
        run
    };
    let shared = changed(uneven(1, 2), |run| run.arm().proxy.reuseport = false);
    let command = changed(uneven(1, 2), |run| {
        run.arm().server.kind = ProxyKind::Exec("./mine".to_owned());
        run.records.accepted.retain(|accepted| accepted.worker == 0);
        run.records.sessions.retain(|session| session.worker == 0);
    });
    let unheld = changed(uneven(1, 2), |run| {
        run.records.dialed.clear();
        run.records.downloads.clear();
    });
    insta::assert_snapshot!(told(
        CaveatCode::UnevenPlacement,
        [
            ("two of two", uneven(2, 2)),
            ("one of two", uneven(1, 2)),
            ("three of four", uneven(3, 4)),
            ("a shared listener", shared),
            ("no download was asked for", uneven(0, 2)),
            ("none holds one", unheld),
            ("a command of which one thread accepts", command),
        ]
    ));
}

#[test]
fn a_buffer_that_is_not_twice_what_was_asked_is_told_with_its_limit() {
    let asked = |name: &str, asked: u64, effective: u64| {
        let mut run = healthy();
        run.socket(name, Some(Bytes(asked)), Bytes(effective));
        run.socket("upstream SO_SNDBUF", None, Bytes(16_384));
        run
    };
    insta::assert_snapshot!(told(
        CaveatCode::BufferNotAsAsked,
        [
            ("as asked", asked("upstream SO_RCVBUF", 40_960, 81_920)),
            ("a mark is not doubled", asked("download SO_RCVLOWAT", 4 << 20, 4 << 20)),
            ("capped", asked("upstream SO_RCVBUF", 1 << 20, 425_984)),
            ("of what is sent", asked("accepted SO_SNDBUF", 1 << 20, 425_984)),
            ("raised", asked("upstream SO_RCVBUF", 512, 2_304)),
        ]
    ));
}

#[test]
fn the_machine_is_told_of_where_it_blurs_the_picture() {
    let stolen = |ms| changed(healthy(), |run| run.records.manifest.host.stolen_ms = ms);
    let on = |load_cpus: &[usize], own: &[(Role, usize)]| {
        changed(healthy(), |run| {
            run.records.manifest.host.load_cpus = load_cpus.to_vec();
            let own = own.iter().map(|(role, cpu)| (*role, vec![*cpu]));
            run.arm().cpus = own.collect::<BTreeMap<_, _>>();
        })
    };
    let own = [(Role::Origin, 0), (Role::Fast, 1)];
    let free = changed(healthy(), |run| {
        run.arm().pin = Pin::Off;
        let host = &mut run.records.manifest.host;
        (host.worker_cpus, host.load_cpus) = (vec![], vec![]);
    });
    assert_eq!(of(&free, CaveatCode::SharedCpu), "");
    insta::assert_snapshot!(all_told([
        (CaveatCode::StolenCpu, "nothing stolen", healthy()),
        (CaveatCode::StolenCpu, "2 % of 14 s", stolen(280)),
        (CaveatCode::StolenCpu, "more", stolen(281)),
        (CaveatCode::SharedCpu, "CPUs apart", healthy()),
        (CaveatCode::SharedCpu, "the load", on(&[1, 0], &[])),
        (CaveatCode::SharedCpu, "the origin too", on(&[1, 0], &own)),
        (CaveatCode::SharedCpu, "the origin alone", on(&[1], &own)),
        (CaveatCode::NotPinned, "pinned", healthy()),
        (CaveatCode::NotPinned, "free", free),
    ]));
}

/// Two workers on CPU 0 that each run half of the time wait for one another. What they wait beyond
/// that, somebody else has their CPU.
#[test]
fn a_cpu_that_others_use_is_told() {
    let share = |run_percent: u64, wait_percent: u64| {
        changed(healthy(), |run| {
            for sample in &mut run.records.samples {
                let ns = sample.at_ns.since(at_ms(0)).as_secs() * 10_000_000;
                (sample.run_ns, sample.run_wait_ns) =
                    (Some(ns * run_percent), Some(ns * wait_percent));
            }
        })
    };
    let apart = changed(share(50, 50), |run| run.records.manifest.host.worker_cpus = vec![0, 1]);
    let free = changed(share(40, 60), |run| run.records.manifest.host.worker_cpus.clear());
    let quota = changed(share(40, 60), |run| {
        run.records.throttled = [(0, 0), (20_000, 12_000_000)]
            .map(|(ms, us)| ThrottleSample {
                at_ns: at_ms(ms),
                periods: 0,
                throttled_us: Micros(us),
            })
            .to_vec();
    });
    insta::assert_snapshot!(told(
        CaveatCode::BusyHost,
        [
            ("a quota withheld it", quota),
            ("half and half", share(50, 50)),
            ("a tenth", share(40, 49)),
            ("a fifth", share(40, 60)),
            ("each has a CPU of its own", apart),
            ("nobody knows whose CPU it was", free),
        ]
    ));
}

#[test]
fn what_was_lost_or_late_or_not_to_be_had_is_told() {
    let unread = changed(healthy(), |run| run.records.manifest.log_lines_unread = 3);
    let unanswered = changed(healthy(), |run| run.records.manifest.answers_lost = 3);
    let held = changed(starved(), |run| {
        run.arm().load.slow = 3;
        run.bytes(2, 0);
    });
    let paused = changed(healthy(), |run| {
        let totals = WorkerTotals { worker: 1, accept_pauses: 3, ..WorkerTotals::default() };
        run.records.totals.push(WorkerTotals { at_ns: at_ms(14_100), ..totals });
    });
    let closed = changed(healthy(), |run| run.arm().fetch.arrivals = Arrivals::Closed(500));
    let kept = |dropped, ended: Option<&str>| {
        let ended = ended.map(str::to_owned);
        changed(healthy(), |run| {
            let capture = Capture { packets: 40_000, dropped, ended, ..Capture::default() };
            run.records.manifest.capture = Some(capture);
        })
    };
    let cut = |ms| changed(healthy(), |run| run.interrupt(ms));
    insta::assert_snapshot!(all_told([
        (CaveatCode::RecordsLost, "nothing lost", healthy()),
        (CaveatCode::RecordsLost, "fetches", lose(loaded("90 ok 6000, 2 reset 500"), 2)),
        (CaveatCode::RecordsLost, "sessions", sessions_lost(4, 7)),
        (CaveatCode::RecordsLost, "lines", unread),
        (CaveatCode::RecordsLost, "answers", unanswered),
        (CaveatCode::ClientLate, "at the limit", late(100, 80)),
        (CaveatCode::ClientLate, "now and then", late(101, 8)),
        (CaveatCode::FetchesUntried, "all were tried", healthy()),
        (CaveatCode::FetchesUntried, "three were not", loaded("77 ok 6000, 3 local_error 90")),
        (CaveatCode::DownloadsHeld, "all moved", starved()),
        (CaveatCode::DownloadsHeld, "one was held", held),
        (CaveatCode::AcceptPaused, "no pause", healthy()),
        (CaveatCode::AcceptPaused, "paused", paused),
        (CaveatCode::FewFetches, "99", loaded("99 ok 6000")),
        (CaveatCode::FewFetches, "100", loaded("100 ok 6000")),
        (CaveatCode::PacketsMissing, "none were asked for", healthy()),
        (CaveatCode::PacketsMissing, "all", kept(0, None)),
        (CaveatCode::PacketsMissing, "some", kept(3, None)),
        (CaveatCode::PacketsMissing, "room", kept(0, Some("no room"))),
        (CaveatCode::ClosedLoop, "open", healthy()),
        (CaveatCode::ClosedLoop, "closed", closed),
        (CaveatCode::Interrupted, "whole", healthy()),
        (CaveatCode::Interrupted, "in the middle", cut(9_000)),
        (CaveatCode::Interrupted, "early", cut(2_000)),
    ]));
}

/// A run of a traced program; each of its two workers has a hold.
fn traced() -> Run {
    changed(healthy(), |run| {
        run.hold(0, 6_000, 30, Bytes::mib(3));
        run.hold(1, 7_000, 50, Bytes::mib(5));
        run.records.manifest.visibility = Visibility::Traced;
        run.arm().server.kind = "exec:p {listen}".parse().expect("a proxy");
    })
}

/// The same, but so many fetches and downloads are served by somebody whom nobody watches.
fn unseen(fetches: usize, downloads: usize) -> Run {
    changed(traced(), |run| {
        let records = &mut run.records;
        let measured = records.fetches.iter().filter(|fetch| fetch.phase == Phase::Measure);
        let ports: Vec<u16> = measured
            .filter_map(|fetch| fetch.client_port)
            .take(fetches)
            .chain(records.dialed.iter().map(|dialed| dialed.client_port).take(downloads))
            .collect();
        records.sessions.retain(|session| !ports.contains(&session.client_port));
        records.accepted.retain(|accepted| !ports.contains(&accepted.client_port));
    })
}

#[test]
fn figures_that_are_missing_are_told() {
    let no_waits = |run: &mut Run| {
        run.records.samples.iter_mut().for_each(|sample| sample.run_wait_ns = None);
    };
    let no_samples = |run: &mut Run| run.records.samples.clear();
    let minimal = |run: &mut Run| run.records.manifest.recording = Recording::Minimal;
    // A download that was dialled again from its port is joined as long as one connection of it is.
    let again = |run: &mut Run| {
        let mut dialed = run.records.dialed[0].clone();
        dialed.at_ns = at_ms(6_000);
        run.records.dialed.push(dialed);
    };
    // All of them go over the first one's connection, which has one session.
    let kept = |run: &mut Run| {
        let records = &mut run.records;
        let mut measured = records.fetches.iter_mut().filter(|of| of.phase == Phase::Measure);
        let port = measured.next().and_then(|first| first.client_port).expect("a fetch");
        let rest = measured.map(|fetch| {
            fetch.connect_us = Some(Micros(0));
            fetch.client_port.replace(port)
        });
        let gone: Vec<u16> = rest.flatten().collect();
        records.sessions.retain(|session| !gone.contains(&session.client_port));
        records.accepted.retain(|accepted| !gone.contains(&accepted.client_port));
        let of_port = records.sessions.iter_mut().filter(|session| session.client_port == port);
        of_port.for_each(|session| session.closed_ns = at_ms(60_000));
    };
    // The mirror tells of itself, and of what it lost.
    let own = |run: &mut Run| run.records.manifest.visibility = Visibility::Own;
    let clients = |run: &mut Run| run.records.manifest.visibility = Visibility::ClientsOnly;
    let unwatched = |run: &mut Run| {
        clients(run);
        run.arm().server.trace = TraceMode::Off;
    };
    insta::assert_snapshot!(told(
        CaveatCode::FigureMissing,
        [
            ("none", healthy()),
            ("no waits", changed(healthy(), no_waits)),
            ("no samples", changed(healthy(), no_samples)),
            ("minimal", changed(healthy(), minimal)),
            ("traced", traced()),
            ("a twentieth unseen", unseen(4, 0)),
            ("more unseen", unseen(5, 0)),
            ("a download unseen", unseen(0, 1)),
            ("a download dialled again", changed(traced(), again)),
            ("kept connections", changed(traced(), kept)),
            ("the mirror", changed(unseen(5, 1), own)),
            ("threads that hand work on", changed(traced(), clients)),
            ("a command that nobody watched", changed(traced(), unwatched)),
        ]
    ));
}

#[test]
fn steps_of_some_threads_are_not_told_for_those_of_all() {
    let known = summarise(&traced().records);
    assert_eq!(
        (known.visibility, known.proxy.workers[1].longest_step_us),
        (Visibility::Traced, 50_000)
    );
    for (fetches, downloads) in [(5, 0), (0, 1)] {
        let summary = summarise(&unseen(fetches, downloads).records);
        assert_eq!((summary.visibility, summary.law), (Visibility::ClientsOnly, None));
        let workers = &summary.proxy.workers;
        assert!(workers.iter().all(|worker| worker.longest_step_us == 0), "{workers:?}");
        assert!(workers.iter().all(|worker| worker.longest_loop_turn_us == 0), "{workers:?}");
        assert_eq!(summary.slow.bytes_per_step, None);
    }
}
