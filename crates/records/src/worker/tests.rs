//! Whatever a worker does: no gap, no overlap, nothing counted twice or left out.

use proptest::prelude::*;

use super::*;

const HOLD_NS: u64 = 10_000_000;

/// A loop turn and the poll before it. Times in nanoseconds.
#[derive(Clone, Debug)]
struct Turn {
    poll: u64,
    work: Vec<(u64, Work)>,
    tail: u64,
}

#[derive(Clone, Copy, Debug)]
enum Work {
    Accept,
    Step(u64),
}

fn time() -> impl Strategy<Value = u64> {
    prop_oneof![Just(0), 0..2_000u64, 0..1_000_000u64, 4_990_000..5_010_000u64, 0..20_000_000u64]
}

fn turn() -> impl Strategy<Value = Turn> {
    let work = prop_oneof![1 => Just(Work::Accept), 3 => time().prop_map(Work::Step)];
    (time(), prop::collection::vec((0..3_000u64, work), 0..8), 0..3_000u64)
        .prop_map(|(poll, work, tail)| Turn { poll, work, tail })
}

/// What a worker has told, and what it really did.
#[derive(Debug, Default)]
struct Life {
    start: MonoNs,
    now: MonoNs,
    told: Vec<Stretch>,
    turns: u64,
    steps: u64,
    accepts: u64,
    polls_ns: u64,
    /// The thread's CPU clock.
    cpu_ns: u64,
    cpu_reads: u64,
    /// Ends of holds.
    holds: Vec<MonoNs>,
    /// Polls of 5 ms and more: call and return.
    long_polls: Vec<(MonoNs, MonoNs)>,
}

impl StretchSink for Life {
    fn cpu(&mut self) -> Micros {
        self.cpu_reads += 1;
        Micros(self.cpu_ns / 1_000)
    }

    fn tell(&mut self, stretch: Stretch) {
        self.told.push(stretch);
    }
}

impl Life {
    /// So much time passes, and `cpu_ns` of it on the CPU.
    fn pass(&mut self, ns: u64, cpu_ns: u64) -> MonoNs {
        self.cpu_ns += cpu_ns;
        self.now = MonoNs(self.now.0 + ns);
        self.now
    }
}

/// The thread's CPU time when its life begins.
const CPU_BEFORE: Micros = Micros(55);

/// Lets a worker live that is on the CPU for `busy` percent of its work and 1 us of every poll.
fn live(turns: &[Turn], busy: u64) -> Life {
    let start = MonoNs(7_000_000_123);
    let mut life = Life { start, now: start, cpu_ns: 55_500, ..Life::default() };
    let mut stretches = Stretches::begin(3, start, CPU_BEFORE);
    let on_cpu = |ns: u64| ns * busy / 100;
    for turn in turns {
        let called = life.now;
        let returned = life.pass(turn.poll, turn.poll.min(1_000));
        life.polls_ns += turn.poll;
        if turn.poll >= LONG_NS {
            life.long_polls.push((called, returned));
        }
        stretches.polled(called, returned, &mut life);
        for &(gap, work) in &turn.work {
            life.pass(gap, on_cpu(gap));
            match work {
                Work::Accept => {
                    stretches.accepted();
                    life.accepts += 1;
                }
                Work::Step(length) => {
                    let end = life.pass(length, on_cpu(length));
                    life.steps += 1;
                    stretches.stepped();
                    if length >= HOLD_NS {
                        life.holds.push(end);
                        stretches.end(end, &mut life);
                    } else {
                        stretches.end_if_long(end, &mut life);
                    }
                }
            }
        }
        let end = life.pass(turn.tail, on_cpu(turn.tail));
        life.turns += 1;
        stretches.turned();
        stretches.end_if_long(end, &mut life);
    }
    let end = life.pass(1_000, on_cpu(1_000));
    stretches.finish(end, &mut life);
    life
}

fn life() -> impl Strategy<Value = Life> {
    (prop::collection::vec(turn(), 0..60), 0..=100u64).prop_map(|(turns, busy)| live(&turns, busy))
}

fn sum(life: &Life, of: impl Fn(&Stretch) -> u64) -> u64 {
    life.told.iter().map(of).sum()
}

proptest! {
    #[test]
    fn a_life_is_told_without_a_gap_and_nothing_twice(life in life()) {
        let first = life.told.first().map(|stretch| stretch.start_ns);
        let last = life.told.last().map(|stretch| stretch.end_ns);
        prop_assert_eq!((first, last), (Some(life.start), Some(life.now)));
        for pair in life.told.windows(2) {
            prop_assert_eq!(pair[0].end_ns, pair[1].start_ns);
        }
        prop_assert_eq!(sum(&life, |s| s.turns.into()), life.turns);
        prop_assert_eq!(sum(&life, |s| s.steps.into()), life.steps);
        prop_assert_eq!(sum(&life, |s| s.accepts.into()), life.accepts);
        prop_assert_eq!(sum(&life, |s| s.cpu_us.0), life.cpu_ns / 1_000 - CPU_BEFORE.0);
        // Whole microseconds of each stretch: what is missing is less than one for each.
        let polls_us = sum(&life, |s| s.poll_us.0);
        prop_assert!(polls_us * 1_000 <= life.polls_ns);
        prop_assert!(life.polls_ns < (polls_us + life.told.len() as u64 + 1) * 1_000);

        // What makes a stretch end: it is long, or a hold ended it, or a long poll cut it short, or it
        // is the last. So there are few, and few CPU times are read.
        for hold in &life.holds {
            prop_assert!(life.told.iter().any(|stretch| stretch.end_ns == *hold));
        }
        for &(called, returned) in &life.long_polls {
            let alone = life.told.iter().find(|s| s.start_ns == called && s.end_ns == returned);
            let alone = alone.expect("a long poll is told");
            prop_assert_eq!(alone.poll_us, alone.length_us());
            prop_assert_eq!((alone.turns, alone.steps, alone.accepts), (0, 0, 0));
            prop_assert!(alone.cpu_us <= alone.length_us());
        }
        prop_assert!(life.cpu_reads <= life.told.len() as u64);
        for stretch in &life.told {
            prop_assert!(stretch.start_ns <= stretch.end_ns);
            prop_assert!(stretch.poll_us <= stretch.length_us(), "{:?}", stretch);
            let long = stretch.end_ns.0 - stretch.start_ns.0 >= LONG_NS;
            let cut = life.long_polls.iter().any(|(called, _)| *called == stretch.end_ns);
            let held = life.holds.contains(&stretch.end_ns);
            prop_assert!(long || cut || held || stretch.end_ns == life.now, "{:?}", stretch);
        }
    }
}

#[test]
fn many_short_turns_make_one_stretch() {
    let short = Turn { poll: 100_000, work: vec![(0, Work::Step(900_000))], tail: 0 };
    let life = live(&vec![short; 12], 50);
    let told: Vec<_> =
        life.told.iter().map(|s| (s.turns, s.steps, s.poll_us.0, s.length_us().0)).collect();
    // Each fifth step ends one, in the middle of its turn: that turn counts in the next.
    assert_eq!(told, [(4, 5, 500, 5_000), (5, 5, 500, 5_000), (3, 2, 200, 2_001)]);
    assert!(life.told.iter().all(|s| s.worker == 3));
}
