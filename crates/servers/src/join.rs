//! One session from two witnesses: the trace, which saw when bytes moved, and the access log, which
//! knows what was asked and answered.
//!
//! Pure: time comes with what is told. A line belongs to the connection from its client's port that
//! was open at its time; connections from one port follow each other, so there is one at most. The
//! log's clock may stand still for as long as a loop turn takes, so a line may be early: it then
//! waits until every connection that it could belong to must have been told, and goes to the nearest.
//!
//! Invariants:
//! - Every traced session is told once, every line belongs to one session.
//! - What one witness alone tells is told after [`PATIENCE`], or at the end.

use std::collections::BTreeMap;

use records::{Accepted, Bytes, MonoNs, Session};

use crate::log::Entry;

/// How long a session waits for its line, or a line for its session: the log is looked at every
/// 20 ms, the trace as often as its program writes.
const PATIENCE: u64 = 2_000_000_000;
/// How much earlier than its connection a line may be: the longest loop turn anybody would believe.
const EARLY: u64 = 60_000_000_000;
/// How much later than its connection: the log of some programs is written after the close, or says
/// only when we read it.
const LATE: u64 = 200_000_000;
/// How much later it may be as if it was not: times in a log are rounded.
const ROUNDED: u64 = 2_000_000;
/// Numbers of sessions that the trace did not see, in a run with a trace.
const UNSEEN: u64 = 1 << 32;

/// What tells of sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Witnesses {
    /// A trace, and an access log.
    Both,
    /// The trace alone.
    Trace,
    /// The access log alone.
    Log,
}

/// A line of the log on the clock of the trace.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Line {
    pub(crate) entry: Entry,
    /// Who served it, if the log tells.
    pub(crate) worker: Option<u32>,
    /// When it was logged, by the log's clock.
    pub(crate) at_ns: MonoNs,
}

/// Sessions that are not told yet.
#[derive(Debug)]
pub(crate) struct Join {
    witnesses: Witnesses,
    ports: BTreeMap<u16, Port>,
    /// Next number of a session that only the log knows, by worker.
    numbers: BTreeMap<u32, u64>,
}

/// What is known of connections from one port.
#[derive(Debug, Default)]
struct Port {
    open: Vec<Accepted>,
    closed: Vec<(Session, MonoNs)>,
    lines: Vec<(Line, MonoNs)>,
}

/// Which lines are given away.
#[derive(Clone, Copy)]
enum Settle {
    /// Those that were logged while their connection was open.
    Certain,
    /// These, and those that by now have waited long enough for a nearer one, or whose session has.
    Nearest(MonoNs),
}

/// How far a line is from a connection: first whether another worker served it (threads hand
/// connections on, so that is possible), then the time between them.
type Distance = (bool, u64);
const CERTAIN: Distance = (false, 0);

/// The connection that a line is nearest to.
#[derive(Clone, Copy)]
enum Nearest {
    /// One that will be told when it closes.
    Open,
    /// One that waits for its line, by its place.
    Closed(usize),
}

impl Join {
    pub(crate) const fn new(witnesses: Witnesses) -> Self {
        Self { witnesses, ports: BTreeMap::new(), numbers: BTreeMap::new() }
    }

    /// The trace saw an accept.
    pub(crate) fn accepted(&mut self, accepted: Accepted) {
        if self.witnesses == Witnesses::Both {
            self.ports.entry(accepted.client_port).or_default().open.push(accepted);
        }
    }

    /// The trace saw a session end.
    pub(crate) fn traced(&mut self, session: Session, now: MonoNs) -> Vec<Session> {
        if self.witnesses != Witnesses::Both {
            return vec![session];
        }
        let number = session.client_port;
        let port = self.ports.entry(number).or_default();
        let same =
            |open: &Accepted| (open.worker, open.session) == (session.worker, session.session);
        port.open.retain(|open| !same(open));
        port.closed.push((session, now));
        self.settle(number, Settle::Certain)
    }

    /// A line was read.
    pub(crate) fn logged(&mut self, line: Line, now: MonoNs) -> Vec<Session> {
        match self.witnesses {
            Witnesses::Trace => Vec::new(),
            Witnesses::Log => vec![self.alone(line)],
            Witnesses::Both => {
                let number = line.entry.client_port;
                self.ports.entry(number).or_default().lines.push((line, now));
                self.settle(number, Settle::Certain)
            }
        }
    }

    /// Sessions that have waited long enough.
    pub(crate) fn due(&mut self, now: MonoNs) -> Vec<Session> {
        let over = |since: MonoNs| now.since(since).as_nanos() >= u128::from(PATIENCE);
        let late = |port: &Port| {
            port.closed.iter().any(|(_, since)| over(*since))
                || port.lines.iter().any(|(_, since)| over(*since))
        };
        let late: Vec<u16> =
            self.ports.iter().filter(|(_, port)| late(port)).map(|(number, _)| *number).collect();
        let mut told = Vec::new();
        for number in late {
            told.extend(self.settle(number, Settle::Nearest(now)));
            let Some(port) = self.ports.get_mut(&number) else { continue };
            told.extend(port.closed.extract_if(.., |(_, since)| over(*since)).map(|(s, _)| s));
            // One that is open will be told by the trace when it closes.
            let lines = std::mem::take(&mut port.lines);
            let waits = |line: &Line| matches!(port.nearest(line), Some((_, Nearest::Open)));
            let (lost, kept) = lines
                .into_iter()
                .partition::<Vec<_>, _>(|(line, since)| over(*since) && !waits(line));
            port.lines = kept;
            if port.is_empty() {
                self.ports.remove(&number);
            }
            told.extend(lost.into_iter().map(|(line, _)| self.alone(line)));
        }
        told
    }

    /// Whether anything waits for time to pass.
    pub(crate) fn is_waiting(&self) -> bool {
        self.ports.values().any(|port| !port.closed.is_empty() || !port.lines.is_empty())
    }

    /// All that is left, when nothing more comes.
    pub(crate) fn finish(&mut self) -> Vec<Session> {
        let mut told = Vec::new();
        let numbers: Vec<u16> = self.ports.keys().copied().collect();
        for number in numbers {
            told.extend(self.settle(number, Settle::Nearest(MonoNs(u64::MAX))));
        }
        for port in std::mem::take(&mut self.ports).into_values() {
            told.extend(port.closed.into_iter().map(|(session, _)| session));
            for (line, _) in port.lines {
                // The trace saw it accepted, and ended before it did.
                let near = |open: &&Accepted| distance_open(&line, open).is_some();
                let seen = port.open.iter().rfind(near).copied();
                let mut session = self.alone(line);
                if let Some(open) = seen {
                    session.accepted_ns = open.at_ns;
                    session.worker = open.worker;
                    session.session = open.session;
                }
                told.push(session);
            }
        }
        told
    }

    /// Gives lines to the sessions they belong to.
    fn settle(&mut self, number: u16, how: Settle) -> Vec<Session> {
        let Some(port) = self.ports.get_mut(&number) else { return Vec::new() };
        let mut given: BTreeMap<usize, Vec<Line>> = BTreeMap::new();
        let mut kept = Vec::new();
        for (line, since) in std::mem::take(&mut port.lines) {
            let of = match (port.nearest(&line), how) {
                (Some((CERTAIN, Nearest::Closed(index))), _) => Some(index),
                (Some((_, Nearest::Closed(index))), Settle::Nearest(now)) => {
                    let told = port.closed.get(index).map_or(since, |(_, told)| *told);
                    let waited = now.since(since.min(told)).as_nanos();
                    (waited >= u128::from(PATIENCE)).then_some(index)
                }
                _ => None,
            };
            match of {
                Some(index) => given.entry(index).or_default().push(line),
                None => kept.push((line, since)),
            }
        }
        port.lines = kept;
        let mut told = Vec::new();
        // From the last, so that the places of the others stay.
        for (index, lines) in given.into_iter().rev() {
            let (session, _) = port.closed.remove(index);
            told.push(merge(session, lines));
        }
        if port.is_empty() {
            self.ports.remove(&number);
        }
        told
    }

    /// The session of a line that nobody else saw.
    fn alone(&mut self, line: Line) -> Session {
        let worker = line.worker.unwrap_or(0);
        let first = if self.witnesses == Witnesses::Log { 0 } else { UNSEEN };
        let next = self.numbers.entry(worker).or_insert(first);
        let session = *next;
        *next = next.saturating_add(1);
        let Line { entry, at_ns, .. } = line;
        Session {
            worker,
            session,
            client_port: entry.client_port,
            upstream_port: None,
            request: entry.request,
            status: entry.status,
            end: entry.end,
            body_bytes: entry.body_bytes,
            accepted_ns: MonoNs(
                at_ns.0.saturating_sub(entry.times.rt_ms.saturating_mul(1_000_000)),
            ),
            request_ns: None,
            connected_ns: None,
            head_ns: None,
            closed_ns: at_ns,
            log: entry.times,
            steps: 0,
            longest_step_us: records::Micros(0),
            steps_us: records::Micros(0),
            stalled_upstream_us: records::Micros(0),
            stalled_client_us: records::Micros(0),
        }
    }
}

impl Port {
    fn is_empty(&self) -> bool {
        self.open.is_empty() && self.closed.is_empty() && self.lines.is_empty()
    }

    fn nearest(&self, line: &Line) -> Option<(Distance, Nearest)> {
        let closed = self.closed.iter().enumerate().filter_map(|(index, (session, _))| {
            let key = distance(line, session.worker, session.accepted_ns, session.closed_ns)?;
            Some((key, Nearest::Closed(index)))
        });
        let open = self.open.iter();
        let open = open.filter_map(|open| Some((distance_open(line, open)?, Nearest::Open)));
        closed.chain(open).min_by_key(|(key, _)| *key)
    }
}

/// `None`: it is not its line.
fn distance(line: &Line, worker: u32, from: MonoNs, to: MonoNs) -> Option<Distance> {
    let at = line.at_ns.0;
    let early = from.0.saturating_sub(at);
    let late = at.saturating_sub(to.0.saturating_add(ROUNDED));
    let other = line.worker.is_some_and(|served| served != worker);
    (early <= EARLY && late <= LATE).then_some((other, early.max(late)))
}

fn distance_open(line: &Line, open: &Accepted) -> Option<Distance> {
    distance(line, open.worker, open.at_ns, MonoNs(u64::MAX))
}

/// What the trace saw, with what the log says of it. A connection with several requests is told
/// with the first request and the last answer.
fn merge(mut session: Session, mut lines: Vec<Line>) -> Session {
    lines.sort_by_key(|line| line.at_ns);
    session.body_bytes = lines.iter().map(|line| line.entry.body_bytes).sum::<Bytes>();
    if let Some(first) = lines.first() {
        session.request.clone_from(&first.entry.request);
    }
    if let Some(Line { entry, .. }) = lines.pop() {
        session.status = entry.status;
        session.end = entry.end;
        session.log = entry.times;
    }
    session
}

#[cfg(test)]
mod tests;
