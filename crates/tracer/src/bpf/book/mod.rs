//! Records made of what the script tells: sums become differences, threads become workers, the
//! kernel's numbers of sessions become the workers' own.
//!
//! Not for: processes, pipes, clocks. It is fed with lines in the order they come.
//!
//! Invariant: an event that was lost makes a gap, never a wrong record: sums only grow in the
//! script, so the next line knows them again.

mod end;
mod session;
mod worker;

use std::collections::{BTreeMap, HashMap};

use records::{Accepted, Blocked, Bytes, Hold, LoopTurn, MonoNs, Record, StepEnd};

pub(super) use self::end::Last;
use self::session::{Sessions, Told};
use self::worker::{Order, Sums, Worker};
use super::calls;
use super::line::{Line, Map};
use crate::tracer::Target;

/// See the module's head.
#[derive(Debug)]
pub(super) struct Book {
    /// By thread.
    workers: BTreeMap<u64, Worker>,
    sessions: Sessions,
    /// What is to be added to the script's clock: it may be CLOCK_BOOTTIME.
    clock: Clock,
    /// When all probes were there.
    live: MonoNs,
    lost: u64,
    maps: HashMap<String, Map>,
    ended: Option<MonoNs>,
}

/// The script's clock beside ours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Clock {
    /// How far it is ahead, in ns.
    pub(super) ahead: u64,
}

impl Clock {
    fn ours(self, theirs: u64) -> MonoNs {
        MonoNs(theirs.saturating_sub(self.ahead))
    }
}

/// Where records go.
pub(super) type Take<'a> = &'a mut dyn FnMut(Record);

impl Book {
    /// A book about `targets`, all of whose events are seen from `live` on.
    pub(super) fn new(targets: &[Target], clock: Clock, live: MonoNs) -> Self {
        let worker = |target: &Target| (u64::from(target.tid), Worker::new(target.worker));
        Self {
            workers: targets.iter().map(worker).collect(),
            sessions: Sessions::default(),
            clock,
            live,
            lost: 0,
            maps: HashMap::new(),
            ended: None,
        }
    }

    /// Takes in a line.
    pub(super) fn line(&mut self, line: Line, take: Take<'_>) {
        match line {
            Line::Lost(events) => self.lost = self.lost.saturating_add(events),
            Line::Map(name, map) => {
                self.maps.insert(name, map);
            }
            Line::Lengths(lengths) => {
                for (tid, lengths) in lengths {
                    if let Some(worker) = self.workers.get_mut(&tid) {
                        worker.lengths(lengths);
                    }
                }
                if self.ended.is_none() {
                    for worker in self.workers.values_mut() {
                        worker.a_second_has_passed(take);
                        worker.tell_totals(self.lost, take);
                    }
                }
            }
            Line::Told(letter, numbers) => {
                // A line of another form is of no use.
                let _ = self.told(letter, &numbers, take);
            }
        }
    }

    /// Whether bpftrace has said that it ends.
    pub(super) fn has_ended(&self) -> bool {
        self.ended.is_some()
    }

    /// What a line of the script says; the letters are those of its `printf`s.
    fn told(&mut self, letter: char, numbers: &[u64], take: Take<'_>) -> Option<()> {
        let clock = self.clock;
        match (letter, numbers) {
            ('I', &[at]) => self.workers.values_mut().for_each(|worker| worker.at(clock.ours(at))),
            ('E', &[at]) => self.ended = Some(clock.ours(at)),
            ('W', &[tid, called, used, inside, poll]) => {
                let live = (inside != 0).then_some(self.live);
                self.workers.get_mut(&tid)?.first(clock.ours(called), used, poll, live, take);
            }
            ('V', &[tid, at, used]) => self.workers.get_mut(&tid)?.begin(clock.ours(at), used),
            ('P', &[tid, start, called]) => {
                let called = (called != 0).then(|| clock.ours(called));
                self.workers.get_mut(&tid)?.part(clock.ours(start)).last_poll = called;
            }
            ('Y', &[tid, start, accepts, bytes, reads, step, step_bytes, turn]) => {
                let part = self.workers.get_mut(&tid)?.part(clock.ours(start));
                part.sums = Sums {
                    accepts: accepts >> 32,
                    empty: accepts & 0xffff_ffff,
                    bytes,
                    reads,
                    step,
                    step_bytes,
                    turn,
                    ..part.sums
                };
            }
            ('X', &[tid, start, end, cpu, poll, turns, steps]) => {
                let worker = self.workers.get_mut(&tid)?;
                let part = worker.part(clock.ours(start));
                part.sums = Sums { cpu, poll, turns, steps, ..part.sums };
                part.end = Some(clock.ours(end));
                worker.tell_parts(Order::Kept, take);
            }
            ('L', &[tid, turn, start, end, events, steps, accepts]) => {
                take(Record::LoopTurn(LoopTurn {
                    worker: self.workers.get(&tid)?.index(),
                    turn,
                    start_ns: clock.ours(start),
                    end_ns: clock.ours(end),
                    events: narrow(events),
                    steps: narrow(steps),
                    accepts: narrow(accepts),
                }));
            }
            ('A', &[tid, session, port, at]) => {
                self.sessions.accepted(
                    self.workers.get_mut(&tid)?,
                    session,
                    port,
                    clock.ours(at),
                    take,
                );
            }
            ('G', &[tid, start, turns, up, down, counts, last, closed]) => {
                let step = Step { turns, up, down, counts, last, closed };
                self.workers.get_mut(&tid)?.steps.insert(start, step);
            }
            ('H', &[tid, session, port, start, end]) => {
                let worker = self.workers.get_mut(&tid)?;
                let step = worker.steps.remove(&start)?;
                let session = self.sessions.known(worker, session).number;
                let (start, end) = (clock.ours(start), clock.ours(end));
                take(Record::Hold(step.hold(worker.index(), session, port, start, end)));
            }
            ('S', &[tid, session, ref rest @ ..]) => {
                let told = Told::begin(rest, clock)?;
                self.sessions.ended(self.workers.get_mut(&tid)?, session, told);
            }
            ('T', &[session, ref rest @ ..]) => {
                self.sessions.tell(session, rest, clock, take)?;
            }
            ('B', &[tid, start, end, number, session]) => {
                let port = self.sessions.port(session);
                take(Record::Blocked(Blocked {
                    worker: self.workers.get(&tid)?.index(),
                    start_ns: clock.ours(start),
                    end_ns: clock.ours(end),
                    // -1: not in a call.
                    call: if number > 0xffff { String::new() } else { calls::name(number) },
                    client_port: port,
                }));
            }
            _ => {}
        }
        Some(())
    }
}

/// What is told of a long step before its times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Step {
    /// Turns before the one it is in.
    turns: u64,
    up: u64,
    down: u64,
    /// Reads from the upstream << 32 | writes to the client.
    counts: u64,
    /// Its last call: side << 4 | way << 2 | what came of it, as in the script.
    last: u64,
    closed: u64,
}

impl Step {
    /// A step that read nothing from an upstream served a file: what it wrote is what it moved.
    fn hold(self, worker: u32, session: u64, port: u64, start: MonoNs, end: MonoNs) -> Hold {
        let (bytes, reads) = if self.up == 0 {
            (self.down, self.counts & 0xffff_ffff)
        } else {
            (self.up, self.counts >> 32)
        };
        Hold {
            worker,
            turn: self.turns.saturating_add(1),
            session,
            client_port: port_of(port),
            start_ns: start,
            end_ns: end,
            bytes: Bytes(bytes),
            reads,
            ended_by: self.ended_by(),
        }
    }

    fn ended_by(self) -> StepEnd {
        const AGAIN: u64 = 1;
        let (side, way, came) = (self.last >> 4 & 3, self.last >> 2 & 3, self.last & 3);
        match (self.closed, came, side, way) {
            (1, ..) => StepEnd::Closed,
            (_, AGAIN, 2, 1) => StepEnd::UpstreamEmpty,
            (_, AGAIN, 1, 2) => StepEnd::DownstreamFull,
            (_, AGAIN, 1, 1) => StepEnd::DownstreamEmpty,
            (_, AGAIN, 2, 2) => StepEnd::UpstreamFull,
            _ => StepEnd::Unknown,
        }
    }
}

fn narrow(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

fn port_of(number: u64) -> u16 {
    u16::try_from(number).unwrap_or(0)
}

fn accepted(worker: u32, session: u64, port: u16, at: MonoNs) -> Record {
    Record::Accepted(Accepted { worker, session, client_port: port, at_ns: at })
}

#[cfg(test)]
mod tests;
