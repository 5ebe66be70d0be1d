//! What is seen of a trial from outside, and what is not when nothing is to be recorded.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;

use records::{MonoNs, Phase, Recording, Role, RunRecords, SocketEnd, Watched};

/// The samples of each, in the order of their times.
fn by<K: Ord, S: Copy>(samples: &[S], key: fn(&S) -> K) -> BTreeMap<K, Vec<S>> {
    let mut all: BTreeMap<K, Vec<S>> = BTreeMap::new();
    samples.iter().for_each(|sample| all.entry(key(sample)).or_default().push(*sample));
    all
}

fn assert_never_back<S: Debug, T: PartialOrd>(samples: &[S], figure: fn(&S) -> T) {
    for pair in samples.windows(2) {
        assert!(figure(&pair[0]) <= figure(&pair[1]), "{pair:?}");
    }
}

/// A run of two workers with a listener and downloads each.
pub(crate) fn is_seen_from_outside(records: &RunRecords) {
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
        assert_never_back(samples, |sample| sample.at_ns);
        // There is one fast client for the idle phase, and another one under load.
        if *who != Watched::Role(Role::Fast) {
            assert_never_back(samples, |sample| sample.run_ns);
            assert_never_back(samples, |sample| sample.run_wait_ns);
        }
    }
    let of_workers = by(&records.samples, |sample| sample.worker);
    for samples in of_workers.values() {
        // One as each phase began, from the idle phase to the end.
        assert!(samples.len() >= 5, "{samples:?}");
        assert_never_back(samples, |sample| sample.system_ms);
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

    // Sockets: every end of the downloads, and only under load.
    let sockets = by(&records.sockets, |sample| sample.end);
    let dialed: BTreeSet<u16> = records.dialed.iter().map(|dialed| dialed.client_port).collect();
    let upstream: BTreeSet<u16> =
        records.sessions.iter().filter_map(|session| session.upstream_port).collect();
    for (end, ports) in [
        (SocketEnd::Origin, &upstream),
        (SocketEnd::Upstream, &upstream),
        (SocketEnd::Downstream, &dialed),
        (SocketEnd::Slow, &dialed),
    ] {
        let samples = sockets.get(&end).unwrap_or_else(|| panic!("{end:?}: {sockets:?}"));
        assert!(samples.iter().all(|sample| ports.contains(&sample.port)), "{samples:?}");
        assert!(samples.iter().all(|sample| sample.rcv_space.is_some()), "{samples:?}");
    }
    assert!(records.sockets.iter().all(|sample| sample.at_ns >= start(Phase::Load)));

    // Counters of the kernel, and an end to everything.
    assert!(manifest.kernel_counters.contains_key("TcpExt.ListenOverflows"), "{manifest:?}");
    assert!(manifest.kernel_counters.values().all(|span| span.after >= span.before));
    let end = manifest.phases.last().and_then(|span| span.end_ns).expect("an end");
    let last: Option<MonoNs> = records.sched.iter().map(|sample| sample.at_ns).max();
    assert!(last.is_some_and(|last| start(Phase::Measure) < last && last < end), "{last:?}");
}

/// A run of which little was to be recorded.
pub(crate) fn is_not_sampled(records: &RunRecords) {
    let manifest = &records.manifest;
    assert_eq!(manifest.recording, Recording::Minimal);
    assert_eq!(manifest.kernel_counters, BTreeMap::new());
    assert_eq!((records.samples.len(), records.sched.len(), records.stolen.len()), (0, 0, 0));
    assert_eq!((records.listeners.len(), records.sockets.len()), (0, 0));
    assert!(!records.fetches.is_empty() && !records.sessions.is_empty());
}
