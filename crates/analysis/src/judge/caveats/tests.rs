//! Every caveat: when it is said, and how.

use std::collections::BTreeMap;

use records::{
    Bytes, CaveatCode, Outcome, Phase, Pin, Recording, Role, TraceMode, Visibility, WorkerTotals,
};

use crate::judge::tests::Caveats as _;
use crate::summarise;
use testkit::fixture::{Run, at_ms};

#[test]
fn placement_bounds_the_failed_share_only_with_a_listener_each() {
    let uneven = |holding: u32, workers: u32| {
        let mut run = Run::good();
        (2..workers).for_each(|worker| run.worker(worker));
        (0..holding).for_each(|slot| run.download(slot, slot, 1_000_000));
        run.fetches(Phase::Measure, 80, Outcome::Ok, 6_000);
        run
    };
    let code = CaveatCode::UnevenPlacement;
    assert_eq!(uneven(2, 2).caveat(code), None);
    let half = "1 of 2 workers holds a download: at most about 50 % of the fetches can meet it";
    assert_eq!(uneven(1, 2).caveat(code).as_deref(), Some(half));
    let most = "3 of 4 workers hold a download: at most about 75 % of the fetches can meet it";
    assert_eq!(uneven(3, 4).caveat(code).as_deref(), Some(most));
    let mut shared = uneven(1, 2);
    shared.arm().proxy.reuseport = false;
    let message = shared.caveat(code).expect("a caveat");
    assert!(message.ends_with("the others are free to accept every fetch"), "{message}");
    assert_eq!(uneven(0, 2).caveat(code), None, "no download was asked for");
    let mut unheld = uneven(1, 2);
    unheld.records.dialed.clear();
    unheld.records.downloads.clear();
    let message = unheld.caveat(code).expect("a caveat");
    assert!(message.starts_with("none of 2 workers held a download"), "{message}");
}

#[test]
fn a_buffer_that_is_not_twice_what_was_asked_is_told_with_its_limit() {
    let asked = |name: &str, asked: u64, effective: u64| {
        let mut run = Run::loaded(&[(80, Outcome::Ok, 6_000)]);
        run.socket(name, Some(Bytes(asked)), Bytes(effective));
        run.socket("upstream SO_SNDBUF", None, Bytes(16_384));
        run.caveat(CaveatCode::BufferNotAsAsked)
    };
    assert_eq!(asked("upstream SO_RCVBUF", 40_960, 81_920), None);
    assert_eq!(asked("download SO_RCVLOWAT", 4 << 20, 4 << 20), None, "a mark is not doubled");
    let capped = asked("upstream SO_RCVBUF", 1 << 20, 425_984).expect("a caveat");
    assert_eq!(
        capped,
        "proxy, upstream SO_RCVBUF: asked for 1.0 MiB, the kernel grants 208.0 KiB \
         (net.core.rmem_max = 212992); raise that limit or ask for less"
    );
    let sending = asked("accepted SO_SNDBUF", 1 << 20, 425_984).expect("a caveat");
    assert!(sending.contains("(net.core.wmem_max)"), "{sending}");
    let least = asked("upstream SO_RCVBUF", 512, 2_304).expect("a caveat");
    assert!(least.ends_with("the least it allows"), "{least}");
}

#[test]
fn the_machine_is_told_of_where_it_blurs_the_picture() {
    let mut run = Run::loaded(&[(80, Outcome::Ok, 6_000)]);
    for code in [CaveatCode::SharedCpu, CaveatCode::NotPinned, CaveatCode::StolenCpu] {
        assert_eq!(run.caveat(code), None, "{code:?}");
    }
    let host = &mut run.records.manifest.host;
    host.load_cpus = vec![1, 0];
    host.stolen_ms = 280; // of 14 s: 2 %
    assert_eq!(run.caveat(CaveatCode::StolenCpu), None);
    run.records.manifest.host.stolen_ms = 281;
    let stolen = run.caveat(CaveatCode::StolenCpu).expect("a caveat");
    assert!(stolen.contains("took 281 ms of CPU time in 14.000 s (2.01 %"), "{stolen}");
    let shared = run.caveat(CaveatCode::SharedCpu).expect("a caveat");
    assert!(shared.starts_with("workers and load share CPU 0:"), "{shared}");
    let shared = |run: &Run| run.caveat(CaveatCode::SharedCpu).expect("a caveat");
    run.arm().cpus = BTreeMap::from([(Role::Origin, vec![0]), (Role::Fast, vec![1])]);
    let both = shared(&run);
    assert!(both.starts_with("workers, load and origin share CPU 0:"), "{both}");
    run.records.manifest.host.load_cpus = vec![1];
    let one = shared(&run);
    assert!(one.starts_with("workers and origin share CPU 0:"), "{one}");
    run.arm().cpus.clear();
    run.arm().pin = Pin::Off;
    (run.records.manifest.host.worker_cpus, run.records.manifest.host.load_cpus) = (vec![], vec![]);
    let free = run.caveat(CaveatCode::NotPinned).expect("a caveat");
    assert!(free.starts_with("workers and load are not pinned"), "{free}");
    assert_eq!(run.caveat(CaveatCode::SharedCpu), None);
}

#[test]
fn pauses_hidden_figures_few_fetches_and_a_cut_are_told() {
    let mut run = Run::loaded(&[(99, Outcome::Ok, 6_000)]);
    let few = run.caveat(CaveatCode::FewFetches).expect("a caveat");
    assert_eq!(few, "99 fetches under load: p99 is their maximum (from 100 on it is not)");
    run.fetches(Phase::Measure, 1, Outcome::Ok, 6_000);
    assert_eq!(run.caveat(CaveatCode::FewFetches), None);

    let at_ns = at_ms(14_100);
    let paused = WorkerTotals { worker: 1, at_ns, accept_pauses: 3, ..WorkerTotals::default() };
    run.records.totals.push(paused);
    let message = run.caveat(CaveatCode::AcceptPaused).expect("a caveat");
    assert!(
        message.starts_with("worker 1 turned clients away or stopped accepting 3 times"),
        "{message}"
    );

    assert_eq!(run.caveat(CaveatCode::FigureMissing), None);
    run.records.samples.iter_mut().for_each(|sample| sample.run_wait_ns = None);
    let message = run.caveat(CaveatCode::FigureMissing).expect("a caveat");
    assert!(message.starts_with("the kernel hides schedstat"), "{message}");
    run.records.samples.clear();
    let message = run.caveat(CaveatCode::FigureMissing).expect("a caveat");
    assert!(message.starts_with("no CPU figures of worker 0 and 1"), "{message}");
    run.records.manifest.recording = Recording::Minimal;
    let message = run.caveat(CaveatCode::FigureMissing).expect("a caveat");
    assert!(message.starts_with("--recording minimal leaves out"), "{message}");
    assert!(message.contains("nor is it checked whether others took their CPU"), "{message}");

    run.interrupt(9_000);
    let message = run.caveat(CaveatCode::Interrupted).expect("a caveat");
    assert!(message.starts_with("SIGINT cut the run short: "), "{message}");
    assert!(message.ends_with(" of 8.000 s were measured"), "{message}");
    run.interrupt(2_000);
    let message = run.caveat(CaveatCode::Interrupted).expect("a caveat");
    assert_eq!(message, "SIGINT cut the run short before anything was measured");
}

#[test]
fn lines_of_a_log_that_nobody_could_read_are_told() {
    let mut run = Run::loaded(&[(80, Outcome::Ok, 6_000)]);
    assert_eq!(run.caveat(CaveatCode::RecordsLost), None);
    run.records.manifest.log_lines_unread = 3;
    let message = run.caveat(CaveatCode::RecordsLost).expect("a caveat");
    assert!(message.starts_with("3 lines of the access log could not be read"), "{message}");
}

#[test]
fn requests_that_the_origin_could_not_tell_of_are_told() {
    let mut run = Run::loaded(&[(80, Outcome::Ok, 6_000)]);
    run.records.manifest.answers_lost = 3;
    let message = run.caveat(CaveatCode::RecordsLost).expect("a caveat");
    assert!(message.starts_with("the origin has no record of 3 requests"), "{message}");
}

/// A run of a traced program; each of its two workers has a hold.
fn traced() -> Run {
    let mut run = Run::loaded(&[(80, Outcome::Ok, 6_000)]);
    run.hold(0, 6_000, 30, Bytes::mib(3));
    run.hold(1, 7_000, 50, Bytes::mib(5));
    run.records.manifest.visibility = Visibility::Traced;
    run.arm().server.kind = "exec:p {listen}".parse().expect("a proxy");
    run
}

#[test]
fn steps_of_some_threads_are_not_told_for_those_of_all() {
    let known = summarise(&traced().records);
    assert_eq!(traced().caveat(CaveatCode::FigureMissing), None);
    assert_eq!(
        (known.visibility, known.proxy.workers[1].longest_step_us),
        (Visibility::Traced, 50_000)
    );

    // What worker 1 served is served by somebody whom nobody watches.
    let unseen = |fetches: usize, downloads: usize| {
        let mut run = traced();
        let ports: Vec<u16> = run
            .records
            .fetches
            .iter()
            .filter(|fetch| fetch.phase == Phase::Measure)
            .filter_map(|fetch| fetch.client_port)
            .take(fetches)
            .chain(run.records.dialed.iter().map(|dialed| dialed.client_port).take(downloads))
            .collect();
        run.records.sessions.retain(|session| !ports.contains(&session.client_port));
        run.records.accepted.retain(|accepted| !ports.contains(&accepted.client_port));
        run
    };
    assert_eq!(unseen(4, 0).caveat(CaveatCode::FigureMissing), None, "a twentieth");
    for (fetches, downloads, says) in [
        (5, 0, "5 of 80 answered fetches and 0 of 2 downloads were served by threads"),
        (0, 1, "0 of 80 answered fetches and 1 of 2 downloads were served by threads"),
    ] {
        let run = unseen(fetches, downloads);
        let message = run.caveat(CaveatCode::FigureMissing).expect("a caveat");
        assert!(message.starts_with(says), "{message}");
        let summary = summarise(&run.records);
        assert_eq!((summary.visibility, summary.law), (Visibility::ClientsOnly, None));
        let workers = &summary.proxy.workers;
        assert!(workers.iter().all(|worker| worker.longest_step_us == 0), "{workers:?}");
        assert!(workers.iter().all(|worker| worker.longest_loop_turn_us == 0), "{workers:?}");
        assert_eq!(summary.slow.bytes_per_step, None);
    }
    // A download that was dialled again from its port is joined as long as one connection of it is.
    let mut again = traced();
    let mut dialed = again.records.dialed[0].clone();
    dialed.at_ns = at_ms(6_000);
    again.records.dialed.push(dialed);
    assert_eq!(again.caveat(CaveatCode::FigureMissing), None);
    // The mirror tells of itself, and of what it lost.
    let mut own = unseen(5, 1);
    own.records.manifest.visibility = Visibility::Own;
    assert_eq!(own.caveat(CaveatCode::FigureMissing), None);
}

#[test]
fn a_command_whose_threads_hand_work_on_is_told_from_one_that_nobody_watched() {
    let mut run = traced();
    run.records.manifest.visibility = Visibility::ClientsOnly;
    let message = run.caveat(CaveatCode::FigureMissing).expect("a caveat");
    assert!(message.contains("hand work to each other"), "{message}");
    run.arm().server.trace = TraceMode::Off;
    let message = run.caveat(CaveatCode::FigureMissing).expect("a caveat");
    assert!(message.starts_with("only the clients' side is known"), "{message}");
}

/// Two workers on CPU 0 that each run half of the time wait for one another. What they wait beyond
/// that, somebody else has their CPU.
#[test]
fn a_cpu_that_others_use_is_told() {
    let share = |run_percent: u64, wait_percent: u64| {
        let mut run = Run::loaded(&[(80, Outcome::Ok, 6_000)]);
        for sample in &mut run.records.samples {
            let ns = sample.at_ns.since(at_ms(0)).as_secs() * 10_000_000;
            (sample.run_ns, sample.run_wait_ns) = (Some(ns * run_percent), Some(ns * wait_percent));
        }
        run
    };
    let code = CaveatCode::BusyHost;
    assert_eq!(share(50, 50).caveat(code), None);
    assert_eq!(share(40, 49).caveat(code), None);
    let message = share(40, 60).caveat(code).expect("a caveat");
    assert!(message.contains("at least 20 % of CPU 0 (a caveat above 10 %)"), "{message}");
    let mut apart = share(50, 50);
    apart.records.manifest.host.worker_cpus = vec![0, 1];
    let message = apart.caveat(code).expect("a caveat: each has a CPU of its own");
    assert!(message.contains("at least 50 % of CPU "), "{message}");
    let mut free = share(40, 60);
    free.records.manifest.host.worker_cpus.clear();
    assert_eq!(free.caveat(code), None, "nobody knows whose CPU it was");
}
