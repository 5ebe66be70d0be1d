//! What goes into the ring in each extent of recording, and what it takes there.

use records::Bytes;
use testkit::pick;

use super::*;

const MS: u64 = 1_000_000;

/// A worker that turns four times a second for three seconds, with a hold in each turn.
fn busy(recording: Recording) -> Vec<Record> {
    let (mut recorder, mut out) = Recorder::new(0, Micros(10_000), recording, MonoNs(0));
    let at = |ms: u64| MonoNs(ms * MS);
    for turn in 1..=12 {
        let called = (turn - 1) * 250;
        recorder.polled(at(called), at(called + 100));
        recorder.accepted(Accepted::default());
        let (start_ns, end_ns, bytes) = (at(called + 100), at(called + 200), Bytes(7));
        recorder.step(Hold { start_ns, end_ns, bytes, reads: 1, ..Hold::default() });
        let end_ns = at(called + 250);
        recorder.loop_turn(LoopTurn { turn, start_ns, end_ns, ..LoopTurn::default() });
    }
    recorder.finish(at(3_100));
    all(&mut out)
}

/// All that was told; what it came in is freed here.
fn all(out: &mut RingReader) -> Vec<Record> {
    std::iter::from_fn(|| out.pop()).map(|told| told.record).collect()
}

#[test]
fn a_full_recording_tells_all_there_is() {
    let told = busy(Recording::Full);
    assert_eq!(told.iter().filter_map(pick!(Accepted)).count(), 12);
    assert_eq!(told.iter().filter_map(pick!(Hold)).count(), 12);
    assert_eq!(told.iter().filter_map(pick!(LoopTurn)).count(), 12);
    // In each turn the poll, the step and the rest of the turn; and what was after the last.
    assert_eq!(told.iter().filter_map(pick!(Stretch)).count(), 12 * 3 + 1);
    assert_eq!(told.iter().filter_map(pick!(WorkerTotals)).count(), 3 + 1);
}

#[test]
fn a_minimal_recording_tells_sessions_and_the_last_totals() {
    let told = busy(Recording::Minimal);
    assert_eq!(told.iter().filter_map(pick!(Accepted)).count(), 12);
    assert_eq!(told.len(), 13);
    let totals = told.last().and_then(pick!(WorkerTotals)).expect("totals");
    assert_eq!((totals.sessions, totals.steps, totals.turns), (12, 12, 12));
    assert_eq!((totals.longest_step_us.0, totals.longest_step_bytes.0), (100_000, 7));
    assert_eq!((totals.longest_turn_us.0, totals.bytes.0, totals.reads), (150_000, 84, 12));
    assert_eq!(totals.step_lengths.0.iter().sum::<u64>(), 12);
}

#[test]
fn what_does_not_fit_is_counted_once() {
    let (mut recorder, mut out) = Recorder::new(7, Micros(10_000), Recording::Minimal, MonoNs(0));
    (0..RING_RECORDS).for_each(|_| recorder.accepted(Accepted::default()));
    assert_eq!(out.amended(MonoNs(5)), None, "nothing is lost yet");
    // The ring is full: so the last totals do not fit either.
    recorder.accepted(Accepted::default());
    recorder.finish(MonoNs(1));
    let told = all(&mut out);
    assert_eq!(told.iter().filter_map(pick!(WorkerTotals)).count(), 0);
    let amended = out.amended(MonoNs(5)).expect("more was lost than was told");
    assert_eq!((amended.worker, amended.records_lost, amended.at_ns), (7, 2, MonoNs(5)));
    // Totals that have room say it themselves, and nobody says it again.
    recorder.finish(MonoNs(2));
    let told = all(&mut out);
    let totals = told.iter().find_map(pick!(WorkerTotals)).expect("totals");
    assert_eq!(totals.records_lost, 2);
    assert_eq!(out.amended(MonoNs(5)), None);
}

#[test]
fn what_a_worker_allocates_comes_back_to_it_and_is_used_again() {
    let (mut recorder, mut out) = Recorder::new(0, Micros(10_000), Recording::Minimal, MonoNs(0));
    for second in 1..=3 {
        recorder.tell_totals(MonoNs(second));
        let told = out.pop().expect("totals");
        assert_eq!(recorder.ring.spare.slots(), 0, "no other was made");
        out.give_back(told);
        assert_eq!(recorder.ring.spare.slots(), 1);
    }
    // All that a full ring holds, and what is in hand beside it.
    recorder.tell_totals(MonoNs(4));
    let in_hand = out.pop();
    (0..RING_RECORDS).for_each(|_| recorder.tell_totals(MonoNs(5)));
    while let Some(told) = out.pop() {
        out.give_back(told);
    }
    out.give_back(in_hand.expect("totals"));
    assert_eq!(recorder.ring.spare.slots(), RING_RECORDS + 1, "none was freed");
}
