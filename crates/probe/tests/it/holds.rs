//! Holds of threads of this very process, made on purpose.

use std::cmp::Reverse;
use std::env;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use probe::{CountedFrom, Hold, HoldState, Module, READ_EVERY, Seen, Watch};
use testkit::{PATIENCE, in_turn, listen, until};

use crate::support::{THRESHOLD, can_probe};

/// A watch of this process.
fn watch() -> Option<Watch> {
    can_probe().then(|| {
        let watch = Watch::holds(&[std::process::id()], THRESHOLD);
        watch.expect("it can be watched")
    })
}

/// What is under way or over while `body` runs upon a thread of the name `name`, which polls before and
/// after.
fn during(watch: &mut Watch, name: &str, body: impl FnOnce() + Send + 'static) -> Vec<Seen> {
    let body = move || {
        for _ in 0..20 {
            doze();
        }
        body();
        for _ in 0..20 {
            doze();
        }
    };
    let thread = thread::Builder::new().name(name.to_owned()).spawn(body).expect("a thread");
    let mut seen = Vec::new();
    while !thread.is_finished() {
        thread::sleep(READ_EVERY / 10);
        seen.push(watch.read().expect("it can be read"));
    }
    thread.join().expect("no panic");
    seen.push(watch.read().expect("it can be read"));
    seen
}

/// A connection: the end that dialed, and the other.
fn connected() -> (TcpStream, TcpStream) {
    let (listener, addr) = listen();
    let client = TcpStream::connect(addr).expect("it listens");
    (client, listener.accept().expect("it connected").0)
}

/// A poll that sleeps.
fn doze() {
    let patience = rustix::event::Timespec { tv_sec: 0, tv_nsec: 2_000_000 };
    let _ = rustix::event::poll(&mut [], Some(&patience));
}

/// Uses so much of a CPU, however often the thread has to wait for it.
fn compute(length: Duration) {
    let used = || Duration::from_micros(net::clock::thread_cpu().0);
    let until = used() + length;
    while used() < until {}
}

fn of<'a>(seen: &'a [Seen], name: &str, state: HoldState) -> Vec<&'a Hold> {
    let all = seen.iter().flat_map(|seen| seen.open.iter().chain(&seen.closed));
    all.filter(|hold| hold.comm == name && hold.state == state).collect()
}

/// A Python with an epoll, under a watch. Dropped, it is killed.
struct Python {
    child: Child,
    watch: Watch,
}

impl Python {
    /// One that says a line when it has its epoll; `None`: this host has no probe.
    fn watched(script: &str) -> Option<Self> {
        if !can_probe() {
            return None;
        }
        let mut python = Command::new("python3");
        let python = python.args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = python.spawn().expect("python3");
        child.stdout.take().expect("piped").read_exact(&mut [0]).expect("it has its epoll");
        // It says so a moment before it is out of the call that writes it.
        thread::sleep(Duration::from_millis(20));
        let watch = Watch::holds(&[child.id()], THRESHOLD).expect("it can be watched");
        Some(Self { child, watch })
    }

    /// The first that `pick` finds in so many looks, each after a tenth of the time between two.
    fn first(&mut self, looks: usize, pick: fn(Seen) -> Vec<Hold>) -> Option<Hold> {
        let look = || {
            thread::sleep(READ_EVERY / 10);
            pick(self.watch.read().expect("it can be read")).into_iter().next()
        };
        std::iter::repeat_with(look).take(looks).find_map(|told| told)
    }
}

impl Drop for Python {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Loops that nobody saw come out of their poll: they are held since before the watch began.
#[test]
fn a_loop_that_is_held_already_is_told() {
    let _turn = in_turn();
    let helpers = "for _ in range(4): threading.Thread(target=threading.Event().wait).start()";
    let other_loop =
        "other = select.epoll()\nthreading.Thread(target=lambda: other.poll()).start()";
    let spins = "print(flush=True)\nwhile True: pass";
    let sleeps = "print(flush=True)\nos.read(os.pipe()[0], 1)";
    let thread = "def held():\n while True: pass\n\
                  threading.Thread(target=held).start()\nprint(flush=True)\nthreading.Event().wait()";
    for (what, setting, body, call) in [
        ("alone", "", spins, None),
        ("among threads that wait", helpers, spins, None),
        ("among other loops", other_loop, spins, None),
        ("asleep", helpers, sleeps, Some("read")),
        ("a thread that is not the first", helpers, thread, None),
    ] {
        let held =
            format!("import os, select, threading\nloop = select.epoll()\n{setting}\n{body}");
        let Some(mut python) = Python::watched(&held) else { return };
        let told = python.first(100, |seen| seen.open);
        let told = told.unwrap_or_else(|| panic!("{what}: it is told within 2 s"));
        let from = CountedFrom::Watch;
        assert_eq!((told.pid, told.counted_from), (python.child.id(), from), "{what}");
        let asleep_in = told.asleep_in.map(|call| call.to_string());
        assert_eq!(asleep_in.as_deref(), call, "{what}: {told:?}");
    }
}

/// A loop that slept in its poll when the watch began.
#[test]
fn the_first_turn_of_a_loop_is_told() {
    let _turn = in_turn();
    let waits = "import os, select, time\nloop = select.epoll()\nloop.register(0)\nprint(flush=True)\n\
                 loop.poll()\nend = time.process_time() + 0.3\n\
                 while time.process_time() < end: pass\nloop.unregister(0)\nloop.poll()";
    let Some(mut python) = Python::watched(waits) else { return };
    python.child.stdin.as_mut().expect("piped").write_all(b"x").expect("it reads");
    let told = python.first(100, |seen| seen.closed).expect("it is told within 2 s");
    let from = CountedFrom::Poll;
    assert_eq!((told.pid, told.counted_from), (python.child.id(), from), "{told:?}");
    assert!(told.on_cpu_us.0 >= 290_000, "{told:?}");
}

/// A loop in its poll is not held, nor are its helpers that work.
#[test]
fn who_is_at_rest_when_the_watch_begins_is_not_told() {
    let _turn = in_turn();
    let rests = "import select, threading\nloop = select.epoll()\n\
                 def works():\n while True: pass\n\
                 threading.Thread(target=works).start()\nprint(flush=True)\nloop.poll()";
    let Some(mut python) = Python::watched(rests) else { return };
    assert_eq!(python.first(40, |seen| seen.open), None);
}

#[test]
fn a_hold_is_told_while_it_lasts_and_parted_when_it_is_over() {
    let _turn = in_turn();
    let Some(mut watch) = watch() else { return };
    let (mut sender, mut receiver) = connected();
    let ends = (sender.local_addr().expect("bound"), sender.peer_addr().expect("connected"));
    let drain = thread::spawn(move || {
        let mut sum = 0;
        let mut some = [0; 65_536];
        while let Ok(got @ 1..) = receiver.read(&mut some) {
            sum += got;
        }
        sum
    });
    // Names of functions are read from files at first, and a look waits for that.
    during(&mut watch, "first", || compute(Duration::from_millis(150)));
    let seen = during(&mut watch, "held", move || {
        thread::sleep(Duration::from_millis(100));
        compute(Duration::from_millis(75));
        sender.write_all(&[1; 100_000]).expect("it is read");
        compute(Duration::from_millis(75));
    });
    assert_eq!(drain.join().expect("no panic"), 100_000);

    let closed = of(&seen, "held", HoldState::Closed);
    let [hold] = closed.as_slice() else { panic!("one hold: {closed:#?}") };
    assert_eq!(hold.pid, std::process::id());
    let ms = |length: records::Micros| length.0 / 1_000;
    assert!(ms(hold.length_us) >= 245, "{hold:#?}");
    assert!((90..130).contains(&ms(hold.asleep_us)), "{hold:#?}");
    // Whatever it waited for a CPU, as others compute as well.
    assert!((145..175).contains(&ms(hold.on_cpu_us)), "{hold:#?}");
    let parts = ms(hold.on_cpu_us) + ms(hold.runnable_us) + ms(hold.asleep_us);
    assert!(ms(hold.length_us).abs_diff(parts) <= 3, "{hold:#?}");
    let call = hold.asleep_in.expect("it slept").to_string();
    assert!(call.ends_with("nanosleep"), "{call}");
    let [moved] = hold.moved.as_slice() else { panic!("one connection: {hold:#?}") };
    assert_eq!((moved.local, moved.remote), ends);
    assert_eq!((moved.read.0, moved.written.0), (0, 100_000));

    let open = of(&seen, "held", HoldState::Open);
    assert!(open.iter().all(|open| open.began_ns == hold.began_ns), "{open:#?}");
    let first = open.first().expect("told while it lasted");
    assert!(first.length_us <= hold.length_us && ms(first.length_us) < 120, "{first:#?}");
    let last = open.last().expect("the same");
    assert_eq!(last.moved, hold.moved);
    assert_eq!(seen.last().map(|seen| seen.lost), Some(0));
}

/// Takes so long.
#[inline(never)]
fn rambles_here(length: Duration) {
    let until = Instant::now() + length;
    let mut sum = 0_u64;
    while Instant::now() < until {
        for number in 0..200_000 {
            sum = std::hint::black_box(sum ^ number);
        }
    }
}

#[test]
fn a_hold_tells_where_its_thread_ran_and_slept() {
    let _turn = in_turn();
    let Some(mut watch) = watch() else { return };
    assert!(watch.no_stacks().is_none(), "{:?}", watch.no_stacks());
    let seen = during(&mut watch, "rambles", || rambles_here(Duration::from_millis(600)));
    let has = |hold: &Hold, function: &str, place: &Module| {
        let mut frames = hold.stacks.iter().flat_map(|stack| &stack.frames);
        frames.any(|frame| frame.function.contains(function) && frame.module == *place)
    };
    let own = env::current_exe().expect("this program");
    let own = Module::File(own.file_name().expect("a file").to_string_lossy().into_owned());
    for state in [HoldState::Open, HoldState::Closed] {
        let holds = of(&seen, "rambles", state);
        let hold = holds.last().expect("it is told");
        assert!(has(hold, "rambles_here", &own), "{hold:#?}");
        assert!(hold.stacks.is_sorted_by_key(|stack| Reverse(stack.time_us)), "{hold:#?}");
        // What it ran was sampled, some parts of it not.
        let sampled: u64 = hold.stacks.iter().map(|stack| stack.time_us.0).sum();
        assert!(sampled <= hold.length_us.0, "{hold:#?}");
    }

    let seen = during(&mut watch, "dreams", || thread::sleep(Duration::from_millis(300)));
    for state in [HoldState::Open, HoldState::Closed] {
        let holds = of(&seen, "dreams", state);
        let hold = holds.last().expect("it is told");
        assert!(has(hold, "nanosleep", &Module::Kernel), "{hold:#?}");
        let [stack] = hold.stacks.as_slice() else { panic!("one sleep: {hold:#?}") };
        assert!(stack.time_us.0 * 10 > hold.length_us.0 * 9, "{hold:#?}");
        assert!(!has(hold, "schedule", &Module::Kernel), "of the scheduler, no frame: {hold:#?}");
    }
}

#[test]
fn a_hold_that_moves_nothing_tells_whose_request_it_read() {
    let _turn = in_turn();
    let Some(mut watch) = watch() else { return };
    let ((mut one, mut earlier), (mut other, mut last)) = (connected(), connected());
    for client in [&mut one, &mut other] {
        client.write_all(b"x").expect("it is there");
    }
    let ends = (last.local_addr().expect("bound"), last.peer_addr().expect("connected"));
    // Bytes are counted while the hooks are there, as they are when a process has just been added.
    thread::sleep(Duration::from_millis(200));
    watch.read().expect("it can be read");
    thread::sleep(Duration::from_millis(100));
    let seen = during(&mut watch, "asked", move || {
        for server in [&mut earlier, &mut last] {
            server.read_exact(&mut [0]).expect("it asked");
        }
        compute(Duration::from_millis(200));
    });
    for state in [HoldState::Open, HoldState::Closed] {
        let holds = of(&seen, "asked", state);
        let hold = holds.last().expect("it is told");
        assert_eq!(hold.moved, [], "{hold:#?}");
        let read = hold.asked.expect("it read");
        assert_eq!((read.local, read.remote), ends, "{hold:#?}");
    }
}

/// A worker at full speed never sleeps in its poll, so its short turns are a false alarm, after which the
/// hooks rest.
#[test]
fn no_hold_between_short_turns_is_missed() {
    const HOLDS: usize = 8;
    let _turn = in_turn();
    let Some(mut watch) = watch() else { return };
    let (mut one, mut other) = (connected(), connected());
    let seen = during(&mut watch, "busy", move || {
        let at_once = rustix::event::Timespec { tv_sec: 0, tv_nsec: 0 };
        let turn = |(client, server): &mut (TcpStream, TcpStream)| {
            let _ = rustix::event::poll(&mut [], Some(&at_once));
            client.write_all(b"x").expect("it is there");
            server.read_exact(&mut [0]).expect("it asked");
        };
        for _ in 0..HOLDS {
            let until = Instant::now() + Duration::from_millis(60);
            while Instant::now() < until {
                turn(&mut one);
                turn(&mut other);
            }
            compute(Duration::from_millis(150));
        }
    });
    let closed = of(&seen, "busy", HoldState::Closed);
    assert_eq!(closed.len(), HOLDS, "{closed:#?}");
}

#[test]
fn turns_are_counted_and_a_thread_that_ended_is_not_held() {
    let _turn = in_turn();
    let Some(mut watch) = watch() else { return };
    let seen = during(&mut watch, "short", || {});
    assert!(of(&seen, "short", HoldState::Closed).is_empty(), "{seen:#?}");
    let turns = seen.iter().rev().flat_map(|seen| &seen.turns).find(|turns| turns.comm == "short");
    let counted: u64 = turns.expect("it polled").turn_lengths.0.iter().sum();
    assert!((30..45).contains(&counted), "{turns:#?}");
    thread::sleep(Duration::from_millis(100));
    let last = watch.read().expect("it can be read");
    assert!(last.open.iter().all(|hold| hold.comm != "short"), "{last:#?}");
    assert!(last.turns.iter().all(|turns| turns.comm != "short"), "{last:#?}");
}

/// Programs of ours in the kernel: descriptors of this process tell what they are of.
fn programs() -> usize {
    let fds = std::fs::read_dir("/proc/self/fd").expect("it can be read");
    let links = fds.filter_map(|fd| std::fs::read_link(fd.ok()?.path()).ok());
    links.filter(|link| link.to_string_lossy().contains("bpf")).count()
}

#[test]
fn nothing_is_left_when_a_watch_is_dropped() {
    let _turn = in_turn();
    let Some(watch) = watch() else { return };
    assert!(programs() > 5, "{}", programs());
    drop(watch);
    assert_eq!(programs(), 0);
}

/// Set for the process that is to be killed.
const WAITS: &str = "PROBE_TEST_WAITS";

#[test]
fn nothing_is_left_when_a_watching_process_is_killed() {
    let turn = in_turn();
    if env::var_os(WAITS).is_some() {
        let _watch = Watch::holds(&[], THRESHOLD).expect("as its parent could");
        // It is killed long before.
        return thread::sleep(PATIENCE);
    }
    if !can_probe() {
        return;
    }
    let mut command = Command::new(env::current_exe().expect("this program"));
    command.args(["--exact", "holds::nothing_is_left_when_a_watching_process_is_killed"]);
    turn.lend(command.env(WAITS, "1"));
    let mut child = command.spawn().expect("this program");
    let ids = until("its programs", || Some(ids_of(child.id())).filter(|ids| ids.len() == 6));
    let loaded = || -> Vec<u32> {
        let all = aya::programs::loaded_programs().filter_map(Result::ok);
        all.map(|program| program.id()).collect()
    };
    assert!(ids.iter().all(|id| loaded().contains(id)), "{ids:?} of {:?}", loaded());
    child.kill().expect("it runs");
    child.wait().expect("it ends");
    // The kernel frees them a moment later.
    until("the end of its programs", || {
        (!ids.iter().any(|id| loaded().contains(id))).then_some(())
    });
}

/// The kernel's numbers of the programs that a process holds (proc_pid_fdinfo(5)).
fn ids_of(pid: u32) -> Vec<u32> {
    let Ok(fds) = std::fs::read_dir(format!("/proc/{pid}/fdinfo")) else { return Vec::new() };
    let infos = fds.filter_map(|fd| std::fs::read_to_string(fd.ok()?.path()).ok());
    // A link tells the number of its program as well.
    let programs = infos.filter(|info| info.contains("prog_type:") && !info.contains("link_id:"));
    let ids = programs.filter_map(|info| {
        info.lines().find_map(|line| line.strip_prefix("prog_id:")?.trim().parse().ok())
    });
    ids.collect()
}

/// The ring has room for some 1,070 holds.
#[test]
fn holds_that_do_not_fit_into_the_ring_are_counted() {
    const THREADS: usize = 500;
    const EACH: usize = 4;
    let _turn = in_turn();
    let Some(mut watch) = watch() else { return };
    let sleepy = || {
        doze();
        for _ in 0..EACH {
            thread::sleep(Duration::from_millis(150));
            doze();
        }
    };
    let threads: Vec<_> = (0..THREADS).map(|_| thread::spawn(sleepy)).collect();
    threads.into_iter().for_each(|thread| thread.join().expect("no panic"));
    let seen = watch.read().expect("it can be read");
    let (told, lost) = (seen.closed.len(), usize::try_from(seen.lost).expect("few"));
    assert!(told > 900 && lost > 0, "{told} told, {lost} lost");
    assert!(told + lost <= THREADS * EACH, "{told} told, {lost} lost");
    assert_eq!(watch.read().expect("it can be read").lost, seen.lost, "they are counted once");
}

#[test]
fn a_process_that_is_not_there_is_named() {
    let _turn = in_turn();
    let Some(mut watch) = watch() else { return };
    let mut child = Command::new("true").spawn().expect("true(1)");
    let pid = child.id();
    child.wait().expect("it ends");
    let error = watch.add(pid).expect_err("it has ended");
    assert_eq!(
        error.to_string(),
        format!("failed to watch process {pid}: this host has no thread {pid} in it")
    );
}
