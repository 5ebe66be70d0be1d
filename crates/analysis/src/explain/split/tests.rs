//! What each cause means, on timelines made by hand ([`Scene::of`] says how scripts read).

use records::{Cause, Holder, Micros, StepEnd};

use crate::tests::scene::Scene;

/// What each scene shows, its script, and where the time of its fetches went, ms.
type Row = (&'static str, &'static str, &'static str);

#[track_caller]
fn assert_causes(rows: &[Row]) {
    for (what, script, causes) in rows {
        assert_eq!(Scene::of(script).all_causes(), *causes, "{what}: {script}");
    }
}

#[rustfmt::skip]
#[test]
fn steps_and_turns() {
    assert_causes(&[
        ("a step of another session holds",
            "hold 0 d3 1000; fetch 0 awaiting 100..900", "held_by_step 800"),
        ("those in the queue as well",
            "hold 0 d3 1000; turns 0 100; fetch 0 queued 100..1050 accepted=1000 closed=1050",
            "held_by_step 900, convoy 50"),
        ("a step of another worker holds nobody here",
            "workers 2; hold 0 d3 1000; poll 1 1000; fetch 1 awaiting 100..900", "upstream 800"),
        ("a long step of its own is its own transfer",
            "fetch 0 body 100..900; hold 0 own 1000", "own_transfer 800"),
        ("known without a session, which was open when the run ended",
            "fetch 0 body 0..800 closed=-; hold 0 own 1000", "own_transfer 800"),
        ("short steps of others are a convoy, and its own are not",
            "turns 0 1000; fetch 0 body 0..1000; steps 300", "convoy 700, own_transfer 300"),
        ("of its steps those in its hold of 400 ms are not counted twice",
            "fetch 0 body 0..1000; steps 500; turns 0 600; hold 0 own 400",
            "convoy 500, own_transfer 500"),
        ("the turn in which it came is a convoy, later ones are the accept queue",
            "turns 0 1000 turn=5000; fetch 0 queued 100..300 accepted=300 closed=300",
            "convoy 5, accept_queue 195"),
        ("a long turn is known to its end",
            "turns 0 1000; turn 0 50..250; fetch 0 queued 100..300 accepted=300 closed=300",
            "convoy 150, accept_queue 50"),
        ("the turn in which it came is as long as turns were then",
            "turns 0 5; turns 0 95 turn=5000; fetch 0 queued 3..100 accepted=100 closed=100",
            "convoy 1, accept_queue 96"),
        ("a lost stretch is unexplained",
            "turns 0 300; lost 0 400; turns 0 300; fetch 0 awaiting 0..1000",
            "convoy 600, unexplained 400"),
        ("so is a worker that tells nothing", "fetch 0 awaiting 100..900", "unexplained 800"),
        ("nobody accepted it, and every worker was held",
            "workers 2; hold 0 d3 1000; poll 1 400; hold 1 d1 600; fetch 0 queued 100..900",
            "held_by_step 500, unexplained 300"),
        ("nobody accepted it, and of one worker nothing is told",
            "workers 2; hold 0 d3 1000; fetch 0 queued 100..900", "unexplained 800"),
        ("nobody accepted it, and one worker was free",
            "workers 2; shared; hold 0 d3 1000; hold 1 d1 50; poll 1 950; fetch 0 queued 100..900",
            "unexplained 800"),
        ("unless that one never accepts: a master, say",
            "workers 2; shared; hold 0 d3 1000; poll 1 1000; fetch 0 queued 100..900",
            "held_by_step 800"),
    ]);
}

#[rustfmt::skip]
#[test]
fn many_threads() {
    assert_causes(&[
        ("busy with a download, whoever has the fetch",
            "threads 0 1000 run=100 for=d3; fetch 0 awaiting 100..900", "threads_busy 800"),
        ("in the queue as well, accepted or not",
            "threads 0 1000 run=100 for=d3; fetch 0 queued 100..900", "threads_busy 800"),
        ("what they ran for the fetch is its own",
            "fetch 0 awaiting 100..900; threads 0 1000 run=100 for=own", "own_transfer 800"),
        ("for two CPUs one thread is half of it",
            "apart; threads 0 100 run=200 for=d3; threads 0 900 run=100 for=d3; \
             fetch 0 awaiting 100..900", "threads_busy 400, behind_lock 400"),
        ("unless no more than one ever ran",
            "apart; threads 0 1000 run=100 for=d3; fetch 0 awaiting 100..900", "threads_busy 800"),
        ("ready, and others had the CPU",
            "threads 0 1000 run=20 wait=60 for=d3; fetch 0 awaiting 0..1000",
            "off_cpu_runnable 600, threads_busy 200, behind_lock 200"),
        ("ready, and a quota withheld it",
            "threads 0 1000 run=20 wait=80 for=d3; quota 0 0..1000 800; fetch 0 awaiting 0..1000",
            "cpu_withheld 800, threads_busy 200"),
        ("those that wait for each other want no more than one CPU",
            "threads 0 1000 run=100 wait=300 for=d3; fetch 0 awaiting 0..1000", "threads_busy 1000"),
        ("asleep in the disk, and nobody ran",
            "threads 0 1000; asleep 0 nobody 100..700 deep=1; fetch 0 awaiting 0..1000",
            "off_cpu_blocked 600, behind_lock 400"),
        ("in many short sleeps there as well, one thread after the other",
            "threads 0 1000 run=20 blocked=70 for=d3; fetch 0 awaiting 0..1000",
            "off_cpu_blocked 700, threads_busy 200, behind_lock 100"),
        ("one thread wants a CPU while another sleeps in the disk: half of it each",
            "threads 0 1000 run=20 wait=160 blocked=100 for=d3; fetch 0 awaiting 0..1000",
            "off_cpu_runnable 400, off_cpu_blocked 400, threads_busy 200"),
        ("read, and nobody ran", "threads 0 1000; fetch 0 awaiting 0..1000", "behind_lock 1000"),
        ("one thread asleep in a request has what the others wait for",
            "threads 0 1000; asleep 0 d1 0..1000; fetch 0 awaiting 0..1000", "behind_lock 1000"),
        ("two are a pool",
            "threads 0 1000; asleep 0 d1 0..1000; asleep 0 nobody 0..500; fetch 0 awaiting 0..1000",
            "behind_lock 500, pool_used_up 500"),
        ("but not where its own thread sleeps",
            "fetch 0 awaiting 0..1000; threads 0 1000; asleep 0 own 0..1000; asleep 0 d1 0..1000; \
             asleep 0 d2 0..1000", "behind_lock 1000"),
        ("nobody has read it, and all sleep in requests",
            "threads 0 1000; asleep 0 d1 0..1000; asleep 0 d2 0..1000; \
             fetch 0 awaiting 0..1000 accepted=300 request=-", "pool_used_up 1000"),
        ("nobody has read it, and nothing keeps them from it: there was nothing to read",
            "threads 0 1000; fetch 0 awaiting 0..1000 request=-", "client 1000"),
        ("it asked an upstream", "threads 0 1000; fetch 0 awaiting 0..1000; dialled 10", "upstream 1000"),
        ("beyond what is told of them nothing is known",
            "threads 0 500; fetch 0 awaiting 0..1000", "behind_lock 500, unexplained 500"),
        ("nor of a lost slice between two",
            "threads 0 300; lost 0 400; threads 0 300; fetch 0 awaiting 0..1000",
            "behind_lock 600, unexplained 400"),
        ("nobody accepted it, and one of two processes was free",
            "workers 2; threads 0 1000 run=100 for=d3; threads 1 1000 run=1 for=d1; \
             fetch 0 queued 0..1000", "threads_busy 10, unexplained 990"),
    ]);
}

#[rustfmt::skip]
#[test]
fn handshakes() {
    assert_causes(&[
        ("dropped: the kernel counted it",
            "fetch 0 queued 0..1000 connected=- outcome=timeout_connect; overflow",
            "backlog_overflow 1000"),
        ("dropped twice", "fetch 0 queued 0..3050 connected=3050; overflow", "backlog_overflow 3050"),
        ("dropped once", "fetch 0 queued 0..1010 connected=1010; overflow", "backlog_overflow 1010"),
        ("the kernel counted none",
            "fetch 0 queued 0..1000 connected=- outcome=timeout_connect", "unexplained 1000"),
        ("nor here", "fetch 0 queued 0..3050 connected=3050", "unexplained 3050"),
        ("the kernel shows no counters",
            "fetch 0 queued 0..1000 connected=- outcome=timeout_connect; counterless",
            "unexplained 1000"),
        ("too short for a drop: the client waited for a CPU",
            "fetch 0 queued 0..150 connected=150; overflow", "client 150"),
        ("whatever was counted", "fetch 0 queued 0..150 connected=150", "client 150"),
        ("neither short nor as long as a drop",
            "fetch 0 queued 0..500 connected=500; overflow", "unexplained 500"),
        // A dropped SYN is answered by silence, not by a refusal.
        ("refused",
            "fetch 0 queued 0..3 connected=- outcome=timeout_connect; overflow", "unexplained 3"),
    ]);
}

#[rustfmt::skip]
#[test]
fn the_origin_and_the_client() {
    assert_causes(&[
        ("an idle worker waits for the origin until the head",
            "turns 0 1000 turn=100 poll=50; poll 0 1000; fetch 0 awaiting 0..2000",
            "convoy 500, upstream 1500"),
        ("an idle worker waits for its client until the request",
            "poll 0 1000; fetch 0 awaiting 100..900 request=600", "upstream 300, client 500"),
        // A poll of a second, and steps of 100 ms in it: the stalls are parts of the other 900 ms.
        ("long waits in the body are of the side that made them",
            "poll 0 1000; fetch 0 body 0..1000; steps 100; stalls 450 180",
            "upstream 500, own_transfer 300, client 200"),
        ("short waits in the body are bytes on their way",
            "poll 0 1000; fetch 0 body 0..1000", "own_transfer 1000"),
        ("a client may be late at both ends",
            "turns 0 1000; fetch 0 awaiting 0..1000 started=300 connected=300 accepted=300 request=300 \
             closed=800", "convoy 500, client 500"),
        ("an origin that thinks while the worker turns",
            "turns 0 1000; fetch 0 awaiting 0..1000; origin 0 600", "convoy 400, upstream 600"),
        ("a step holds nobody whose answer is not there",
            "hold 0 d3 1000; fetch 0 awaiting 100..900; origin 100 400",
            "held_by_step 500, upstream 300"),
        ("an origin whose workers are all busy, and then thinks",
            "turns 0 1000; fetch 0 awaiting 0..1000; origin 0 600 taken=450",
            "convoy 400, upstream 150, upstream_workers 450"),
        ("an origin whose workers never came to it",
            "hold 0 d3 1000; fetch 0 awaiting 100..900; origin 100 - taken=950",
            "upstream_workers 800"),
        ("no port to dial it from, however busy the worker was",
            "hold 0 d3 1000; turns 0 100; fetch 0 queued 0..1100 accepted=1000 closed=1100; portless",
            "no_ports 1100"),
        ("no port either, but its client had gone before it was accepted",
            "hold 0 d3 1000; turns 0 100; fetch 0 queued 0..900 accepted=1000 closed=1100; portless",
            "held_by_step 900"),
        ("an origin that never answered",
            "hold 0 d3 1000; fetch 0 awaiting 100..900; origin 100 -", "upstream 800"),
        ("an origin that answered when the proxy had given up",
            "hold 0 d3 1000; fetch 0 awaiting 100..900; origin 100 950", "upstream 800"),
        ("an origin that answered at once",
            "hold 0 d3 1000; fetch 0 awaiting 100..900; origin 100 100", "held_by_step 800"),
        ("the worker was held, saw its connection stand and asked, and was held again",
            "hold 0 d3 1000; fetch 0 awaiting 100..900; dialled 300; origin 350 500",
            "held_by_step 600, upstream 200"),
        ("where nobody tells when it was sent, the origin does",
            "hold 0 d3 1000; fetch 0 awaiting 100..900; origin 350 500",
            "held_by_step 650, upstream 150"),
        ("a worker without a CPU reads nothing, but there was nothing to read",
            "turns 0 1000 off=75; fetch 0 awaiting 0..1000; origin 0 600",
            "convoy 100, off_cpu_blocked 300, upstream 600"),
    ]);
}

#[rustfmt::skip]
#[test]
fn time_without_a_cpu() {
    assert_causes(&[
        ("a foreign process takes the CPU",
            "workers 2; hold 0 d3 1000 off=40; poll 1 1000; waits 0 0..1000 400; fetch 0 awaiting 100..900",
            "held_by_step 480, off_cpu_runnable 320"),
        ("another worker on the same CPU is none",
            "workers 2; hold 0 d3 1000 off=40; hold 1 d1 1000 off=60; waits 0 0..1000 400; \
             waits 1 0..1000 600; fetch 0 awaiting 100..900; fetch 1 awaiting 100..900",
            "held_by_step 800 | held_by_step 800"),
        // Each of three has a third: of the two thirds that a worker waits, one is the other worker's.
        ("a foreign process is told from another worker",
            "workers 2; hold 0 d3 1000 off=66; hold 1 d1 1000 off=66; waits 0 0..1000 660; \
             waits 1 0..1000 660; fetch 0 awaiting 0..1000",
            "held_by_step 680, off_cpu_runnable 320"),
        ("with a CPU of its own, the other worker takes nothing",
            "workers 2; apart; hold 0 d3 1000 off=40; hold 1 d1 1000; waits 0 0..1000 400; \
             fetch 0 awaiting 100..900",
            "held_by_step 480, off_cpu_runnable 320"),
        ("the hypervisor takes the CPU",
            "hold 0 d3 1000 off=40; steals 0 0..1000 400; steals 1 0..1000 900; fetch 0 awaiting 100..900",
            "held_by_step 480, cpu_withheld 320"),
        ("of a worker that may be on any, it takes any",
            "unpinned; hold 0 d3 1000 off=40; steals 1 0..1000 400; fetch 0 awaiting 100..900",
            "held_by_step 480, cpu_withheld 320"),
        ("a quota withholds the CPU",
            "hold 0 d3 1000 off=40; waits 0 0..1000 400; quota 0 0..1000 400; fetch 0 awaiting 100..900",
            "held_by_step 480, cpu_withheld 320"),
        ("beside a neighbour it has its own part",
            "hold 0 d3 1000 off=40; waits 0 0..1000 400; quota 0 0..1000 100; fetch 0 awaiting 100..900",
            "held_by_step 480, off_cpu_runnable 240, cpu_withheld 80"),
        ("a worker that is woken with its quota used up was not idle",
            "poll 0 1000; waits 0 0..1000 250; quota 0 0..1000 250; fetch 0 awaiting 0..1000",
            "cpu_withheld 250, upstream 750"),
        ("so was one with a connection in its queue, whoever else was ready",
            "poll 0 1000; waits 0 0..1000 400; quota 0 0..1000 300; \
             fetch 0 queued 0..1000 accepted=1000 closed=1000",
            "off_cpu_runnable 250, cpu_withheld 750"),
        ("of two workers on one CPU each loses what the group does",
            "workers 2; hold 0 d3 1000 off=80; hold 1 d1 1000 off=80; waits 0 0..1000 800; \
             waits 1 0..1000 800; quota 0 0..1000 600; fetch 0 awaiting 0..1000",
            "held_by_step 400, cpu_withheld 600"),
        ("on two CPUs the kernel tells the sum",
            "workers 2; apart; hold 0 d3 1000 off=40; hold 1 d1 1000 off=40; waits 0 0..1000 400; \
             waits 1 0..1000 400; quota 0 0..1000 400; fetch 0 awaiting 0..1000",
            "held_by_step 600, off_cpu_runnable 200, cpu_withheld 200"),
        ("what no worker waited for is nobody's",
            "turns 0 1000 off=40; quota 0 0..1000 400; fetch 0 awaiting 0..1000",
            "convoy 600, off_cpu_blocked 400"),
        ("a worker that sleeps outside its poll is blocked",
            "turns 0 1000 off=75; fetch 0 awaiting 100..900", "convoy 200, off_cpu_blocked 600"),
        ("half of what it has no CPU for it waits, the rest it sleeps",
            "turns 0 1000 off=80; waits 0 0..1000 500; fetch 0 awaiting 0..1000",
            "convoy 200, off_cpu_runnable 500, off_cpu_blocked 300"),
        ("4 % is what two clocks may differ",
            "hold 0 d3 1000 off=4; fetch 0 awaiting 0..1000", "held_by_step 1000"),
        ("a worker that is woken and has no CPU was not idle",
            "poll 0 1000; waits 0 0..1000 250; fetch 0 awaiting 0..1000",
            "off_cpu_runnable 250, upstream 750"),
        ("a step had half a CPU, whoever waited for it",
            "hold 0 d3 1000 off=50; waits 0 0..1000 500; fetch 0 queued 100..900",
            "held_by_step 400, off_cpu_runnable 400"),
        ("the worker knows that it had no CPU, and nobody knows why",
            "blind; hold 0 d3 1000 off=40; fetch 0 awaiting 100..900",
            "held_by_step 480, unexplained 320"),
    ]);
}

/// A few readings of the kernel meet many short stretches.
#[rustfmt::skip]
#[test]
fn readings_and_stretches() {
    assert_causes(&[
        // It stands in the reading of 225 ms, when the stretch, and with it the epoch, is long over.
        ("a wait that stands in the reading after it is no sleep",
            "turns 0 100; hold 0 d0 110 off=91; turns 0 300 turn=100 poll=50; waits 0 205..205 100; \
             fetch 0 awaiting 100..210; fetch 0 awaiting 210..410",
            "held_by_step 10, off_cpu_runnable 100 | convoy 100, upstream 100"),
        ("stolen time is known from the reading after it",
            "turns 0 150; hold 0 d0 100 off=80; turns 0 200; steals 0 210..290 80; \
             fetch 0 awaiting 150..250; fetch 0 awaiting 250..450",
            "held_by_step 20, cpu_withheld 80 | convoy 200"),
        ("a wait counts once, though its reading is there for two steps",
            "turns 0 100; hold 0 d0 110 off=91; hold 0 d0 110 off=91; waits 0 205..205 100; \
             fetch 0 awaiting 100..210; fetch 0 awaiting 210..320",
            "held_by_step 10, off_cpu_runnable 100 | held_by_step 10, off_cpu_blocked 100"),
        ("a stretch has only its own time off the CPU",
            "turns 0 95; hold 0 d0 905 off=90; fetch 0 awaiting 0..95; fetch 0 awaiting 95..995",
            "convoy 95 | held_by_step 90, off_cpu_blocked 810"),
        ("waits of a lost stretch explain no other",
            "turns 0 50; lost 0 950; turns 0 50 off=80; waits 0 100..900 500; fetch 0 awaiting 1000..1050",
            "convoy 10, off_cpu_blocked 40"),
        ("after the last reading it may have waited or slept",
            "poll 0 4000; turns 0 200 off=80; fetch 0 awaiting 4000..4200",
            "convoy 40, unexplained 160"),
    ]);
}

/// Where the records do not suffice, and what is said instead. A better reckoning changes these.
#[rustfmt::skip]
#[test]
fn limits() {
    assert_causes(&[
        // Worker 1 runs while worker 0 is in its poll, and somebody else while worker 0 is ready: 250 ms.
        // But nobody tells when who ran: the wait is divided as the two used the CPU, 250 ms and 500 ms.
        ("within a stretch a sibling and a foreign process share the wait",
            "workers 2; turns 0 1000 turn=100 poll=50 off=50; turns 1 1000 turn=100 poll=50; \
             waits 0 0..1000 250; runs 0 0..1000 1000; fetch 0 awaiting 0..1000",
            "convoy 417, off_cpu_runnable 83, upstream 500"),
        ("the same in records of an earlier build, which do not tell what the CPU ran",
            "workers 2; turns 0 1000 turn=100 poll=50 off=50; turns 1 1000 turn=100 poll=50; \
             waits 0 0..1000 250; fetch 0 awaiting 0..1000",
            "convoy 500, upstream 500"),
        // There is no work of its own that this could be left with.
        ("a sibling that ran when the worker was woken is a foreign process",
            "workers 2; poll 0 1000; hold 1 d0 1000 off=30; waits 0 0..1000 300; waits 1 0..1000 300; \
             fetch 0 awaiting 0..1000",
            "off_cpu_runnable 300, upstream 700"),
        // Of 500 ms in polls it was ready for 250 ms, and of 500 ms out of them it slept for 250 ms.
        ("waits to be woken stand for sleep in the same epoch",
            "turns 0 1000 turn=100 poll=50 off=50; waits 0 0..1000 250; fetch 0 awaiting 0..1000",
            "convoy 250, off_cpu_runnable 250, upstream 500"),
        ("without schedstat a woken worker looks idle",
            "blind; poll 0 1000; fetch 0 awaiting 0..1000", "upstream 1000"),
        // A kernel without CONFIG_PARAVIRT_TIME_ACCOUNTING lets a thread's clock go on meanwhile.
        ("stolen time that looks like CPU time is the work's",
            "hold 0 d0 1000; steals 0 0..1000 400; fetch 0 awaiting 0..1000", "held_by_step 1000"),
        ("an origin that thinks untold while the worker turns is a convoy",
            "turns 0 1000; fetch 0 awaiting 0..1000", "convoy 1000"),
        // The origin tells when it was sent, and nobody when it came.
        ("so is a head on its way to a worker that turns",
            "turns 0 1000; fetch 0 awaiting 0..700 head=700; origin 0 200", "convoy 500, upstream 200"),
    ]);
}

#[test]
fn what_repeats() {
    // Worker 0 is busy for 40 of each 100 ms, of which it waits 20; worker 1 runs in the other 60 only.
    let sibling = "turns 0 40 off=50; poll 0 60; poll 1 40; turns 1 60;".repeat(10);
    let sibling = format!("workers 2; {sibling} waits 0 0..1000 200; fetch 0 awaiting 0..1000");
    let expected = "convoy 200, off_cpu_runnable 200, upstream 600";
    assert_eq!(Scene::of(&sibling).all_causes(), expected, "a sibling that ran is no excuse");
    // Ticks are coarse, and seem to say now more and now less than the workers used.
    let ticks = (0..1_000).step_by(200).map(|from| {
        let (middle, to) = (from + 100, from + 200);
        format!("runs 0 {from}..{middle} 110; runs 0 {middle}..{to} 90;")
    });
    let ticks = format!(
        "workers 2; hold 0 d3 1000 off=50; hold 1 d1 1000 off=50; waits 0 0..1000 500; \
         waits 1 0..1000 500; {} fetch 0 awaiting 0..1000",
        ticks.collect::<String>()
    );
    assert_eq!(Scene::of(&ticks).all_causes(), "held_by_step 1000", "no foreign process");
    // A cgroup's quota takes 60 ms of every 100 ms, in one piece.
    let quota = (0..10).map(|period| {
        let end = period * 101 + 100;
        format!(
            "turns 0 40; hold 0 d0 61 off=98; waits 0 {end}..{end} 60; quota 0 {end}..{end} 60;"
        )
    });
    let quota = format!("{} fetch 0 awaiting 0..1010", quota.collect::<String>());
    let expected = "held_by_step 12, convoy 400, cpu_withheld 598";
    assert_eq!(Scene::of(&quota).all_causes(), expected, "waits in lumps are waits, all of them");
}

/// Over two seconds of waits, sleeps and polls, epochs and readings never coincide. Then a worker that
/// is idle but for 1 ms in 100, and waits when it is woken.
#[test]
fn in_the_long_run_every_reason_has_its_time() {
    // Of 1,600 ms busy 960 ms off the CPU: 560 ms waiting, 160 ms stolen, 240 ms asleep.
    let turns = "turns 0 13 turn=100 poll=20 off=60;".repeat(154);
    let mixed =
        format!("{turns} waits 0 0..2002 560; steals 0 0..2002 160; fetch 0 awaiting 0..2002");
    let idle = "poll 0 99; turns 0 1;".repeat(10);
    let idle = format!("{idle} waits 0 0..1000 300; fetch 0 awaiting 0..1000");
    for (script, runnable, withheld, blocked) in
        [(mixed, 550..=570, 150..=170, 220..=260), (idle, 290..=300, 0..=0, 0..=0)]
    {
        let scene = Scene::of(&script);
        let shares = scene.split(0).shares;
        let of = |cause| shares.of(cause).as_millis();
        assert!(runnable.contains(&of(Cause::OffCpuRunnable)), "{}", scene.causes(0));
        assert!(withheld.contains(&of(Cause::CpuWithheld)), "{}", scene.causes(0));
        assert!(blocked.contains(&of(Cause::OffCpuBlocked)), "{}", scene.causes(0));
        assert_eq!(of(Cause::Unexplained), 0);
    }
}

#[test]
fn the_step_that_held_longest_is_named() {
    for (script, holder, length, waited) in [
        ("hold 0 d3 1000; fetch 0 awaiting 100..900", 3, 1_000, 800),
        ("hold 0 d0 200; hold 0 d1 500; hold 0 d2 300; fetch 0 awaiting 0..1000", 1, 500, 500),
        ("hold 0 d3 1000; fetch 0 awaiting 100..900; origin 100 400", 3, 1_000, 500),
    ] {
        let worst = Scene::of(script).late().worst.expect("it failed");
        assert_eq!(worst.cause, Cause::HeldByStep, "{script}");
        let step = worst.step.expect("a step held it");
        assert_eq!((step.holder, step.worker), (Holder::Download(holder), 0), "{script}");
        let [length, waited] = [length, waited].map(|ms: u64| Micros(ms * 1_000));
        assert_eq!((step.length_us, step.waited_us), (length, waited), "{script}");
        assert_eq!(step.ended_by, StepEnd::UpstreamEmpty);
    }
    // Nobody accepted it: a step it was, but whose is not known.
    let two = Scene::of("workers 2; hold 0 d0 1000; hold 1 d1 1000; fetch 0 queued 0..1000");
    let worst = two.late().worst.expect("it failed");
    assert_eq!((worst.worker, worst.cause, worst.step), (None, Cause::HeldByStep, None));
    let kept = Scene::of("hold 0 d3 1000; fetch 0 awaiting 100..900; origin 100 -");
    assert!(kept.split(0).held.is_empty(), "it waited in no step");
}

/// Two clients used one port, the download's, one after the other: the step was the first one's.
#[test]
fn a_step_of_an_earlier_user_of_its_port_is_not_its_own() {
    let scene = Scene::of("hold 0 d3 1000; fetch 0 awaiting 100..900 closed=- port=40001");
    assert_eq!(scene.run.records.holds[0].client_port, 40_001);
    assert_eq!(scene.causes(0), "held_by_step 800");
}
