use proptest::prelude::*;

use super::*;

/// Everything that is reported from now on, until the sampler has ended.
fn reported(events: &Receiver<Event>) -> Vec<Record> {
    let records = |event| match event {
        Event::Sampled(records) => records,
        other => panic!("unexpected: {other:?}"),
    };
    events.iter().flat_map(records).collect()
}

#[test]
fn what_was_seen_is_reported_before_the_end() {
    let (sender, events) = mpsc::channel();
    let mut sampler = Sampler::start(sender, Vec::new(), 0, None).expect("a thread");
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let pid = std::process::id();
    let tids = vec![rustix::thread::gettid().as_raw_nonzero().get()];
    sampler.watch(Watch::Process(Role::Slow, pid));
    sampler.watch(Watch::Workers(tids));
    sampler.watch(Watch::Listening(Role::Proxy, listener.local_addr().expect("bound")));
    let first = events.recv_timeout(Duration::from_secs(20)).expect("a report by itself");
    sampler.watch(Watch::Phase(Phase::Measure));
    sampler.stop();
    sampler.watch(Watch::Phase(Phase::Drain));
    sampler.finish();

    let Event::Sampled(mut records) = first else { panic!("unexpected: {first:?}") };
    // The order that came before the end is heeded, whenever the next look was due.
    let last = reported(&events);
    assert!(last.iter().any(|record| matches!(record, Record::WorkerSample(_))), "{last:?}");
    records.extend(last);
    let has = |kind: fn(&Record) -> bool| records.iter().any(kind);
    assert!(has(|record| matches!(record, Record::CpuSample(_))), "{records:?}");
    assert!(has(|record| matches!(record, Record::ListenerSample(_))), "{records:?}");
    for who in [Watched::Role(Role::Slow), Watched::Worker(0)] {
        let is_it = |record: &Record| matches!(record, Record::SchedSample(s) if s.who == who);
        assert!(records.iter().any(is_it), "{who:?}: {records:?}");
    }
}

#[test]
fn a_sampler_that_nobody_listens_to_ends() {
    let (sender, events) = mpsc::channel();
    drop(events);
    let sampler = Sampler::start(sender, Vec::new(), 0, None).expect("a thread");
    sampler.watch(Watch::Process(Role::Fast, u32::MAX));
    sampler.finish();
}

const EACH: Duration = Duration::from_millis(25);
const LONGEST: Duration = Duration::from_secs(1);

/// A pace of which a first look is due, and what it is after that look took so long.
fn looked(pace: &mut Pace, cost: Duration) -> Duration {
    let due = pace.due;
    pace.looked(due, cost, EACH, LONGEST);
    pace.due - due
}

#[test]
fn a_look_that_was_late_or_cost_much_is_no_reason_to_look_away() {
    let start = Instant::now();
    let mut pace = Pace { due: start, cost: Duration::ZERO };
    pace.looked(start + Duration::from_millis(9), Duration::ZERO, EACH, LONGEST);
    assert_eq!(pace.due, start + EACH);
    // Three intervals were missed: they are not made up for.
    let late = start + Duration::from_millis(110);
    pace.looked(late, Duration::ZERO, EACH, LONGEST);
    assert_eq!(pace.due, late);
    assert!(looked(&mut pace, Duration::from_millis(2)) <= 4 * EACH);
    for _ in 0..20 {
        looked(&mut pace, Duration::from_micros(10));
    }
    assert_eq!(looked(&mut pace, Duration::from_micros(10)), EACH);
}

proptest! {
    /// Whatever looking costs on this host.
    #[test]
    fn looking_takes_its_share_of_a_cpu_at_most(us in 0_u64..4_000) {
        let mut pace = Pace { due: Instant::now(), cost: Duration::ZERO };
        let cost = Duration::from_micros(us);
        // Until the mean has settled.
        for _ in 0..100 {
            looked(&mut pace, cost);
        }
        let elapsed: Duration = (0..50).map(|_| looked(&mut pace, cost)).sum();
        prop_assert!(elapsed >= 50 * EACH && elapsed <= 50 * LONGEST);
        let rounding = Duration::from_micros(1) * 50 * SHARE;
        prop_assert!(elapsed + rounding >= (50 * cost * SHARE).min(50 * LONGEST), "{elapsed:?}");
    }
}
