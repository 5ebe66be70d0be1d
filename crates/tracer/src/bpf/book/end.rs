//! The end of a book: what was under way, from the maps that bpftrace prints when it ends.

use std::collections::BTreeMap;

use records::{Bytes, CallTotal, CallTotals, LoopTurn, Micros, MonoNs, Record};

use super::session::Told;
use super::worker::{Order, Part, Sums};
use super::{Book, Map, Step, Take, calls, narrow};
use crate::bpf::script::LONG_NS;

/// The rate of the script's `profile` probe, in Hz.
const PROFILE_HZ: u64 = 997;

/// What the book does not know by itself when it ends.
pub(in crate::bpf) struct Last<'a> {
    /// Steps and turns of this length are told one by one.
    pub(in crate::bpf) hold: Micros,
    /// Stands for the end when bpftrace did not say when that was.
    pub(in crate::bpf) now: MonoNs,
    /// Whether a thread is asleep in its poll.
    pub(in crate::bpf) is_polling: &'a dyn Fn(u64) -> bool,
}

impl Book {
    /// Tells what was under way when the probes were taken away, open sessions and the last totals.
    pub(in crate::bpf) fn finish(mut self, last: &Last<'_>, take: Take<'_>) {
        let end = self.ended.unwrap_or(last.now);
        let tids: Vec<u64> = self.workers.keys().copied().collect();
        for &tid in &tids {
            let _ = self.finish_worker(tid, end, last, take);
        }
        for id in self.sessions.ids() {
            let _ = self.finish_session(id, end, take);
        }
        let lost = self.lost;
        for tid in tids {
            if let Some(worker) = self.workers.get_mut(&tid) {
                worker.at(end);
                worker.tell_totals(lost, take);
            }
            self.tell_calls(tid, end, take);
        }
    }

    fn map(&self, name: &str) -> &Map {
        static NONE: Map = Map(BTreeMap::new());
        self.maps.get(name).unwrap_or(&NONE)
    }

    fn finish_worker(
        &mut self,
        tid: u64,
        end: MonoNs,
        last: &Last<'_>,
        take: Take<'_>,
    ) -> Option<()> {
        let hold = last.hold;
        let clock = self.clock;
        let [poll_ns, turns, longest_turn, turn_start, events, steps0, accepts0] =
            self.map("@t").get(&[tid]);
        let [steps, bytes, reads, longest, its_bytes] = self.map("@u").get(&[tid]);
        let accepts = self.map("@a").number(tid);
        let called = self.map("@poll").number(tid);
        let start = self.map("@start").number(tid);
        let [on, ran] = self.map("@cpu").get(&[tid]);
        let [left, ..] = self.map("@off").get::<3>(&[tid]);
        let step_start = self.map("@step").number(tid);
        let [_, up, down, counts, ..] = self.map("@w").get::<7>(&[tid]);
        let owner = self.map("@owner").number(tid);
        let port = self.map("@port").number(owner);
        let calls = self.map("@c").0.keys().any(|key| key.first() == Some(&tid));

        let live = self.live;
        let worker = self.workers.get_mut(&tid)?;
        if start == 0 {
            // Never seen at all: in its poll, all along. Or it never came to one, which is another
            // matter, and unknown.
            if !calls
                && !self.sessions.any_of(worker.index())
                && (last.is_polling)(tid)
                && live < end
            {
                take(Record::Stretch(worker.slept(live, end)));
            }
            return None;
        }
        let ended_ns = end.0.saturating_add(clock.ahead);
        let turning = turn_start > called;
        let step = (step_start != 0 && turning).then(|| {
            let step = Step { turns, up, down, counts, last: 0, closed: 0 };
            let session = self.sessions.known(worker, owner).number;
            let hold = step.hold(worker.index(), session, port, clock.ours(step_start), end);
            (hold, counts >> 32)
        });
        let all_steps = steps.saturating_add(u64::from(step.is_some()));
        let turn_end = if turning { ended_ns } else { called };
        let turn = LoopTurn {
            worker: worker.index(),
            turn: turns.saturating_add(1),
            start_ns: clock.ours(turn_start),
            end_ns: clock.ours(turn_end),
            events: narrow(events),
            steps: narrow(all_steps.saturating_sub(steps0)),
            accepts: narrow((accepts >> 32).saturating_sub(accepts0)),
        };
        let turn_us = turn.end_ns.micros_since(turn.start_ns);
        if let Some((told, _)) = step.filter(|(told, _)| told.length_us() >= hold) {
            take(Record::Hold(told));
        }
        if turn_us >= hold {
            take(Record::LoopTurn(turn));
        }
        worker.tell_parts(Order::Any, take);
        let slept = if turning { 0 } else { ended_ns.saturating_sub(called) };
        let (step_bytes, step_reads) = step.map_or((0, 0), |(_, reads)| (up, reads));
        let mut longest_step = (longest, its_bytes);
        if let Some((told, _)) = step {
            longest_step = longest_step.max((told.end_ns.0.saturating_sub(told.start_ns.0), up));
        }
        let on_cpu = left <= on;
        let sums = Sums {
            cpu: ran.saturating_add(if on_cpu { ended_ns.saturating_sub(on) } else { 0 }),
            poll: poll_ns.saturating_add(slept),
            turns: turns.saturating_add(1),
            steps: all_steps,
            accepts: accepts >> 32,
            empty: accepts & 0xffff_ffff,
            bytes: bytes.saturating_add(step_bytes),
            reads: reads.saturating_add(step_reads),
            step: longest_step.0,
            step_bytes: longest_step.1,
            turn: longest_turn.max(turn.end_ns.0.saturating_sub(turn.start_ns.0)),
        };
        let last_poll = (slept >= LONG_NS).then(|| clock.ours(called));
        *worker.part(clock.ours(start)) = Part { end: Some(end), last_poll, sums };
        worker.tell_parts(Order::Any, take);
        if let Some((told, _)) = step {
            worker.count_length(told.length_us());
        }
        Some(())
    }

    fn finish_session(&mut self, id: u64, end: MonoNs, take: Take<'_>) -> Option<()> {
        let one = |name: &str| self.map(name).number(id);
        let [steps, steps_ns, longest, down, up] = self.map("@s").get(&[id]);
        let told = Told::begin(
            &[
                one("@port"),
                one("@accepted"),
                end.0.saturating_add(self.clock.ahead),
                steps,
                steps_ns,
                longest,
            ],
            self.clock,
        )?;
        let rest =
            [down, up, one("@asked"), one("@sent"), one("@head"), one("@uport"), one("@ends")];
        self.sessions.tell_open(id, told, &rest, self.clock, take)
    }

    fn tell_calls(&self, tid: u64, end: MonoNs, take: Take<'_>) {
        let Some(worker) = self.workers.get(&tid) else { return };
        let mut calls: BTreeMap<String, CallTotal> = BTreeMap::new();
        let of_worker = |key: &[u64]| match *key {
            [of, number] if of == tid && number <= 0xffff => Some(calls::name(number)),
            _ => None,
        };
        for (key, values) in &self.map("@c").0 {
            if let (Some(name), &[count, bytes]) = (of_worker(key), values.as_slice()) {
                let call = calls.entry(name).or_default();
                (call.count, call.bytes) = (count, Bytes(bytes));
            }
        }
        for (key, values) in &self.map("@asleep").0 {
            if let (Some(name), &[slept]) = (of_worker(key), values.as_slice()) {
                let call = calls.entry(name).or_default();
                call.asleep_us = Micros(slept / 1_000);
                call.time_us = call.asleep_us;
            }
        }
        for (key, values) in &self.map("@sample").0 {
            if let (Some(name), &[samples]) = (of_worker(key), values.as_slice()) {
                let time = samples.saturating_mul(1_000_000) / PROFILE_HZ;
                let call = calls.entry(name).or_default();
                call.time_us = Micros(call.asleep_us.0.saturating_add(time));
            }
        }
        if let Some(poll) = worker.poll {
            let call = calls.entry(calls::name(poll)).or_default();
            call.count = worker.turns();
            call.time_us = worker.polled().max(call.asleep_us);
        }
        // A call that has not returned yet has no count.
        if !calls.is_empty() {
            take(Record::CallTotals(CallTotals { worker: worker.index(), at_ns: end, calls }));
        }
    }
}
