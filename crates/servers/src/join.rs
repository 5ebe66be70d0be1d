//! One session from two witnesses: the trace, which saw when bytes moved, and the access log, which
//! knows what was asked and answered.
//!
//! Pure, and done once, when nothing more comes: nobody reads sessions before a run has ended. A line
//! belongs to the connection from its client's port that was open at its time; connections from one port
//! follow each other, so there is one at most. The log's clock may stand still for as long as a loop
//! turn takes, so a line may be early: it goes to the nearest connection.
//!
//! Invariants:
//! - Every session that the trace saw end is told once.
//! - Every line belongs to one session.

use std::collections::BTreeMap;

use records::{Accepted, Bytes, MonoNs, Session};

use crate::log::Entry;

/// How much earlier than its connection a line may be: the longest loop turn anybody would believe.
const EARLY: u64 = 60_000_000_000;
/// How much later than its connection: the log of some programs is written after the close, or says
/// only when we read it.
const LATE: u64 = 200_000_000;
/// How much later it may be as if it was not: times in a log are rounded.
const ROUNDED: u64 = 2_000_000;
/// Numbers of sessions that the trace did not see, in a run with a trace.
const UNSEEN: u64 = 1 << 32;

/// What the trace saw.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// By the clients' ports.
    connections: BTreeMap<u16, Vec<Connection>>,
}

/// A connection that the trace saw.
#[derive(Debug)]
struct Connection {
    accepted: Accepted,
    /// Absent: it did not see the end.
    session: Option<Session>,
    /// What the log says of it.
    lines: Vec<Entry>,
}

impl Seen {
    /// The trace saw an accept.
    pub(crate) fn accepted(&mut self, accepted: Accepted) {
        let connection = Connection { accepted, session: None, lines: Vec::new() };
        self.connections.entry(accepted.client_port).or_default().push(connection);
    }

    /// The trace saw a session end.
    pub(crate) fn ended(&mut self, session: Session) {
        let Session { worker, session: number, client_port, accepted_ns: at_ns, .. } = session;
        let same =
            |of: &&mut Connection| (of.accepted.worker, of.accepted.session) == (worker, number);
        let of_port = self.connections.entry(client_port).or_default();
        match of_port.iter_mut().rfind(same) {
            Some(connection) => connection.session = Some(session),
            None => of_port.push(Connection {
                accepted: Accepted { worker, session: number, client_port, at_ns },
                session: Some(session),
                lines: Vec::new(),
            }),
        }
    }

    /// All sessions, in the order in which they ended. A line was logged when its session was closed, by the
    /// log's clock, told as that of the trace.
    pub(crate) fn join(mut self, lines: impl IntoIterator<Item = Entry>) -> Vec<Session> {
        let first = if self.connections.is_empty() { 0 } else { UNSEEN };
        let mut numbers: BTreeMap<u32, u64> = BTreeMap::new();
        let mut sessions = Vec::new();
        for line in lines {
            let of_port = self.connections.entry(line.session.client_port).or_default().iter_mut();
            let near =
                of_port.filter_map(|connection| Some((connection.distance(&line)?, connection)));
            match near.min_by_key(|(distance, _)| *distance) {
                Some((_, connection)) => connection.lines.push(line),
                None => {
                    let worker = line.worker().unwrap_or(0);
                    let number = numbers.entry(worker).or_insert(first);
                    sessions.push(alone(line, worker, *number));
                    *number += 1;
                }
            }
        }
        sessions.extend(self.connections.into_values().flatten().filter_map(Connection::told));
        sessions.sort_by_key(|session| session.closed_ns);
        sessions
    }
}

/// How far a line is from a connection: first whether another worker served it (threads hand
/// connections on, so that is possible), then the time between them.
type Distance = (bool, u64);

impl Connection {
    /// `None`: it is not its line.
    fn distance(&self, line: &Entry) -> Option<Distance> {
        let (at, from) = (line.session.closed_ns.0, self.accepted.at_ns.0);
        let to = self.session.as_ref().map_or(u64::MAX, |session| session.closed_ns.0);
        let early = from.saturating_sub(at);
        let late = at.saturating_sub(to.saturating_add(ROUNDED));
        let other = line.worker().is_some_and(|served| served != self.accepted.worker);
        (early <= EARLY && late <= LATE).then_some((other, early.max(late)))
    }

    /// What the trace saw, with what the log says of it: of several requests the first, and the last
    /// answer. `None`: it did not end, and nothing was logged.
    fn told(mut self) -> Option<Session> {
        let Accepted { worker, session: number, at_ns, .. } = self.accepted;
        self.lines.sort_by_key(|line| line.session.closed_ns);
        let body_bytes = self.lines.iter().map(|line| line.session.body_bytes).sum::<Bytes>();
        let request = self.lines.first().map(|line| line.session.request.clone());
        let Some(last) = self.lines.pop() else { return self.session };
        let Session { status, end, log, .. } = last.session;
        let seen = self
            .session
            .unwrap_or_else(|| Session { accepted_ns: at_ns, ..alone(last, worker, number) });
        Some(Session { request: request?, status, end, body_bytes, log, ..seen })
    }
}

/// The session of a line that nobody else saw.
fn alone(Entry { session: logged, .. }: Entry, worker: u32, session: u64) -> Session {
    let took = logged.log.rt_ms.saturating_mul(1_000_000);
    let accepted_ns = MonoNs(logged.closed_ns.0.saturating_sub(took));
    Session { worker, session, accepted_ns, ..logged }
}

#[cfg(test)]
mod tests;
