use proptest::prelude::*;
use records::Micros;

use crate::tests::random::{Cpu, runs};
use crate::tests::scene::{Scene, at};

use super::*;

/// A stretch of `turns` loop turns with as many steps.
fn stretch(start: u64, end: u64, poll: u64, turns: u32) -> Stretch {
    Stretch {
        start_ns: at(start),
        end_ns: at(end),
        poll_us: Micros(poll * 1_000),
        cpu_us: Micros((end.saturating_sub(start) - poll) * 1_000),
        turns,
        steps: turns,
        ..Stretch::default()
    }
}

fn hold(start: u64, end: u64) -> Hold {
    Hold { start_ns: at(start), end_ns: at(end), ..Hold::default() }
}

fn timeline(stretches: &[Stretch], holds: &[Hold]) -> Timeline {
    let stretches: Vec<&Stretch> = stretches.iter().collect();
    let holds: Vec<_> = holds.iter().enumerate().collect();
    Timeline::new(&stretches, &holds, Reckoner::default())
}

/// Segments in ms, and what the worker did.
fn segments(timeline: &Timeline) -> Vec<(u64, u64, Doing)> {
    let ms = |at_ns: MonoNs| at_ns.micros_since(at(0)).0 / 1_000;
    let row = timeline.segments.iter();
    row.map(|s| (ms(s.window.start), ms(s.window.end), s.doing)).collect()
}

fn turning(polling: f64, turn_ms: u64) -> Doing {
    Doing::Turning { polling, turn: Duration::from_millis(turn_ms) }
}

#[rustfmt::skip]
#[test]
fn segments_are_of_stretches_and_holds() {
    let between = |polling, us| Doing::Turning { polling, turn: Duration::from_micros(us) };
    let quarter = between(0.0, 12_500);
    for (what, stretches, holds, expected) in [
        ("a stretch is turns or a poll", &[stretch(0, 10, 5, 5), stretch(10, 90, 80, 0)][..], &[][..],
            &[(0, 10, turning(0.5, 1)), (10, 90, Doing::Polling)][..]),
        // A worker that is told to stop ends its sessions: no turn, no step, and no poll.
        ("one of nothing is no poll", &[stretch(0, 7, 0, 0)], &[], &[(0, 7, turning(0.0, 7))]),
        // The polls of the stretch were before its hold.
        ("a hold is cut out of its stretch", &[stretch(0, 100, 3, 2)], &[hold(6, 100)],
            &[(0, 6, between(0.5, 1_500)), (6, 100, Doing::Hold(0))]),
        // As a foreign proxy's tracer may tell them.
        ("several may share one", &[stretch(0, 100, 0, 4)], &[hold(60, 80), hold(10, 40)],
            &[(0, 10, quarter), (10, 40, Doing::Hold(1)), (40, 60, quarter), (60, 80, Doing::Hold(0)),
                (80, 100, quarter)]),
        ("a lost stretch is a gap, and its hold is not told",
            &[stretch(0, 10, 0, 10), stretch(50, 60, 0, 10)], &[hold(20, 40)],
            &[(0, 10, turning(0.0, 1)), (50, 60, turning(0.0, 1))]),
        ("of two tellers of one time the first is heard",
            &[stretch(0, 20, 0, 10), stretch(10, 30, 0, 10)], &[],
            &[(0, 20, turning(0.0, 2)), (20, 30, turning(0.0, 1))]),
    ] {
        assert_eq!(segments(&timeline(stretches, holds)), expected, "{what}");
    }
}

proptest! {
    /// The segments of a worker cover what it told and no more, each instant once.
    #[test]
    fn segments_are_what_was_told(script in runs(Cpu::Random)) {
        let records = Scene::of(&script).run.records;
        for worker in 0..3 {
            let told: Vec<_> = records.stretches.iter().filter(|s| s.worker == worker).collect();
            let holds = records.holds.iter().enumerate();
            let holds: Vec<_> = holds.filter(|(_, hold)| hold.worker == worker).collect();
            let row = Timeline::new(&told, &holds, Reckoner::default());
            for pair in row.segments.windows(2) {
                prop_assert!(pair[0].window.end <= pair[1].window.start);
            }
            let length = |windows: &mut dyn Iterator<Item = Window>| -> Duration {
                windows.map(Window::length).sum()
            };
            let all = length(&mut told.iter().map(|s| Window::new(s.start_ns, s.end_ns)));
            prop_assert_eq!(length(&mut row.segments.iter().map(|segment| segment.window)), all);
            for (at, hold) in holds {
                let of_hold = row.segments.iter().filter(|s| s.doing == Doing::Hold(at));
                let found = length(&mut of_hold.map(|segment| segment.window));
                prop_assert_eq!(found, hold.end_ns.since(hold.start_ns));
            }
        }
    }
}
