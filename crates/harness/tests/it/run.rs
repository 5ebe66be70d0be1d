//! Whole runs: the files that they leave, their reports, and what is seen of them from outside.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use records::{MonoNs, Phase, Recording, Role, RunRecords, SocketEnd, Verdict, Watched};

use crate::support::{Runs, in_turn, say, turnstile};

#[test]
fn a_run_leaves_every_file_and_its_report_can_be_made_again() {
    let _turn = in_turn();
    let runs = Runs::new();
    let run = say(&mut runs.trial(&["--reuseport"])).ended_well();
    assert!(run.stderr.starts_with("setup: "), "a line for each phase: {}", run.stderr);

    let dir = runs.dir().expect("a run directory");
    let name = dir.display().to_string();
    assert!(name.ends_with("Z-reuseport-slow2"), "{name}");
    let mut names: Vec<_> = fs::read_dir(&dir)
        .expect("read_dir")
        .map(|entry| entry.expect("entry").file_name().into_string().expect("UTF-8"))
        .filter(|name| name != "roles.log")
        .collect();
    names.sort();
    assert_eq!(
        names,
        [
            "access.log",
            "downloads.ndjson",
            "fast.hgrm",
            "fast.hlog",
            "fetches.ndjson",
            "manifest.json",
            "origin.ndjson",
            "report.html",
            "sessions.ndjson",
            "sockets.ndjson",
            "steps.ndjson",
            "summary.json",
            "workers.ndjson",
        ]
    );
    for name in names {
        assert_ne!(fs::metadata(dir.join(&name)).expect("metadata").len(), 0, "{name} is empty");
    }

    assert_eq!(say(turnstile().arg("report").arg(&dir)).ended_well().stdout, run.stdout);
    let json = say(turnstile().args(["report", "--json"]).arg(&dir));
    assert_eq!(json.stdout, fs::read_to_string(dir.join("summary.json")).expect("read"));

    let summary = runs.summary();
    assert!(summary.idle.attempts >= 20 && summary.measure.attempts >= 20, "{summary:?}");
    assert_eq!(summary.slow.workers_holding, 2, "each worker holds a download");
    assert!(summary.slow.bytes.0 > 0);
    assert!(summary.proxy.workers.iter().all(|worker| worker.cpu_share > 0.0), "{summary:?}");

    let manifest = runs.manifest().expect("a manifest");
    let phases: Vec<Phase> = manifest.phases.iter().map(|span| span.phase).collect();
    assert_eq!(
        phases,
        [Phase::Setup, Phase::Idle, Phase::Load, Phase::Measure, Phase::Drain, Phase::Teardown]
    );
    assert!(manifest.phases.iter().all(|span| span.end_ns.is_some()));
    let roles: Vec<Role> = manifest.processes.iter().map(|process| process.role).collect();
    assert_eq!(roles, [Role::Origin, Role::Proxy, Role::Fast, Role::Slow, Role::Fast]);
    assert!(manifest.processes.iter().all(|process| process.effective.max_open_files > 0));
    assert_eq!((manifest.faults.len(), manifest.interrupted.is_none()), (0, true));
    runs.assert_nobody_left();
    is_seen_from_outside(&RunRecords::load(&dir).expect("a whole run"));
}

#[test]
fn faults_reach_their_roles_and_the_baseline_has_no_bursts() {
    let _turn = in_turn();
    let (runs, elsewhere) = (Runs::new(), tempfile::tempdir().expect("a directory"));
    let log = elsewhere.path().join("access.log");
    let cpu = net::cpu::allowed().expect("an affinity mask")[0];
    let words = format!(
        "--slow 0 --fetch-size 1KiB --delay 1ms --origin-workers 9 --burst 3 --log-mode inline \
         --recording minimal --cpus origin={cpu} --quiet"
    );
    let words: Vec<&str> = words.split(' ').collect();
    say(runs.trial(&words).arg("--access-log").arg(&log)).ended_well();

    let dir = runs.dir().expect("a run directory");
    assert!(!dir.join("access.log").exists(), "it was wanted elsewhere");
    let lines = fs::read_to_string(&log).expect("the log").lines().count();
    let manifest = runs.manifest().expect("a manifest");
    assert_eq!(manifest.recording, Recording::Minimal);
    let of = |role| manifest.processes.iter().find(|process| process.role == role).expect("a role");
    assert_eq!(of(Role::Origin).effective.cpus, [cpu]);
    let origin = of(Role::Origin).command.join(" ");
    for part in ["\"delay\":1000,", "\"workers\":9"] {
        assert!(origin.contains(part), "{origin}");
    }
    assert!(of(Role::Proxy).command.join(" ").contains("\"recording\":\"minimal\""));

    let records = RunRecords::load(&dir).expect("a whole run");
    let starts = |phase| {
        let mut starts: BTreeMap<u64, u32> = BTreeMap::new();
        let fetches = records.fetches.iter().filter(|fetch| fetch.phase == phase);
        fetches.for_each(|fetch| *starts.entry(fetch.intended_ns.0).or_default() += 1);
        starts
    };
    assert!(starts(Phase::Idle).values().all(|&fetches| fetches == 1), "alone");
    assert!(starts(Phase::Measure).values().all(|&fetches| fetches == 3), "three together");
    assert!(starts(Phase::Measure).len() >= 20);
    assert_eq!(records.fetches.len(), lines, "a line for each");
    assert_eq!(records.manifest.kernel_counters, BTreeMap::new());
    assert_eq!((records.samples.len(), records.sched.len(), records.stolen.len()), (0, 0, 0));
    assert_eq!((records.listeners.len(), records.sockets.len()), (0, 0));
    assert!(!records.sessions.is_empty());
    assert_eq!((manifest.arm.faults.burst, manifest.arm.faults.origin_workers), (3, Some(9)));
}

#[test]
fn without_downloads_fetches_are_healthy() {
    let _turn = in_turn();
    // Other work on this host can delay fetches, and the verdict says so: it has three chances.
    let mut reasons = Vec::new();
    for _ in 0..3 {
        let runs = Runs::new();
        let run = say(&mut runs.trial(&["--slow", "0", "--json", "--quiet"])).ended_well();
        let dir = runs.dir().expect("a run");
        let filed = fs::read_to_string(dir.join("summary.json")).expect("read");
        assert_eq!((run.stdout, run.stderr.as_str()), (filed, ""), "nothing else");
        let summary = runs.summary();
        assert!(!summary.arm.proxy.reuseport);
        assert_eq!((summary.slow.downloads, summary.slow.bytes.0), (0, 0));
        assert!(summary.measure.attempts >= 20);
        if summary.verdict == Verdict::Healthy {
            return;
        }
        reasons.extend(summary.verdict_reasons);
    }
    panic!("never healthy: {reasons:?}");
}

/// The samples of each, in the order of their times.
fn by<K: Ord, S: Copy>(samples: &[S], key: fn(&S) -> K) -> BTreeMap<K, Vec<S>> {
    let mut all: BTreeMap<K, Vec<S>> = BTreeMap::new();
    samples.iter().for_each(|sample| all.entry(key(sample)).or_default().push(*sample));
    all
}

/// A run of two workers with a listener and downloads each.
fn is_seen_from_outside(records: &RunRecords) {
    let manifest = &records.manifest;
    assert_eq!(manifest.recording, Recording::Full);
    let start = |phase| {
        let span = manifest.phases.iter().find(|span| span.phase == phase);
        span.expect("every phase").start_ns
    };

    // Threads: both workers and every role, on one clock with everything else.
    let threads = by(&records.sched, |sample| sample.who);
    let workers = [Watched::Worker(0), Watched::Worker(1)];
    let roles = [Role::Origin, Role::Proxy, Role::Slow, Role::Fast].map(Watched::Role);
    let who: Vec<_> = threads.keys().copied().collect();
    assert_eq!(who, [workers.as_slice(), &roles].concat());
    for (who, samples) in &threads {
        assert!(samples.len() >= 10, "{who:?}: {samples:?}");
        assert!(samples.is_sorted_by_key(|sample| sample.at_ns), "{samples:?}");
        // There is one fast client for the idle phase, and another one under load.
        if *who != Watched::Role(Role::Fast) {
            assert!(samples.is_sorted_by_key(|sample| sample.run_ns), "{samples:?}");
            assert!(samples.is_sorted_by_key(|sample| sample.run_wait_ns), "{samples:?}");
        }
    }
    let of_workers = by(&records.samples, |sample| sample.worker);
    for samples in of_workers.values() {
        // One as each phase began, from the idle phase to the end.
        assert!(samples.len() >= 5, "{samples:?}");
        assert!(samples.is_sorted_by_key(|sample| sample.system_ms), "{samples:?}");
    }
    assert_eq!(of_workers.len(), 2);

    // CPUs: those that workers may run on.
    let cpus = by(&records.stolen, |sample| sample.cpu);
    let pinned = &manifest.host.worker_cpus;
    let seen: Vec<_> = cpus.keys().map(|&cpu| cpu as usize).collect();
    assert!(pinned.is_empty() || seen == *pinned, "{seen:?}, {pinned:?}");
    assert!(cpus.values().all(|samples| samples.len() >= 5), "{cpus:?}");

    // Listeners: each worker's own.
    let listeners = by(&records.listeners, |sample| sample.inode);
    let told: BTreeSet<u64> = manifest.listeners.iter().copied().collect();
    assert_eq!(listeners.keys().copied().collect::<BTreeSet<_>>(), told);
    assert_eq!(told.len(), 2);
    for samples in listeners.values() {
        assert!(samples.len() >= 10, "{samples:?}");
        assert!(samples.iter().all(|sample| sample.limit == samples[0].limit), "{samples:?}");
    }

    // Sockets: what the downloads have upstream, and only under load.
    let upstream: BTreeSet<u16> =
        records.sessions.iter().filter_map(|session| session.upstream_port).collect();
    assert!(!records.sockets.is_empty());
    for sample in &records.sockets {
        assert!(sample.end == SocketEnd::Upstream && upstream.contains(&sample.port), "{sample:?}");
        assert!(sample.at_ns >= start(Phase::Load), "{sample:?}");
    }

    // Counters of the kernel, and an end to everything.
    assert!(manifest.kernel_counters.contains_key("TcpExt.ListenOverflows"), "{manifest:?}");
    assert!(manifest.kernel_counters.values().all(|span| span.after >= span.before));
    let end = manifest.phases.last().and_then(|span| span.end_ns).expect("an end");
    let last: Option<MonoNs> = records.sched.iter().map(|sample| sample.at_ns).max();
    assert!(last.is_some_and(|last| start(Phase::Measure) < last && last < end), "{last:?}");
}
