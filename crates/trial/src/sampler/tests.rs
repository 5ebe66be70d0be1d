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
    let mut sampler = Sampler::start(sender, Vec::new(), None).expect("a thread");
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
    let sampler = Sampler::start(sender, Vec::new(), None).expect("a thread");
    sampler.watch(Watch::Process(Role::Fast, u32::MAX));
    sampler.finish();
}
