//! Sessions: the kernel's numbers and the workers' own, and how one is told when it has ended.

use std::collections::HashMap;

use records::{Bytes, LogTimes, Micros, MonoNs, Record, Session, SessionEnd};

use super::worker::Worker;
use super::{Clock, Take, accepted, port_of};

/// Sessions that are open, by the script's number.
#[derive(Debug, Default)]
pub(super) struct Sessions {
    open: HashMap<u64, Open>,
}

/// A session as its worker knows it.
#[derive(Clone, Debug, Default)]
pub(super) struct Open {
    worker: u32,
    pub(super) number: u64,
    port: Option<u16>,
    accept_told: bool,
    told: Option<Told>,
}

/// The first half of what is told of a session that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Told {
    port: u16,
    accepted: MonoNs,
    closed: MonoNs,
    steps: u64,
    steps_ns: u64,
    longest_ns: u64,
}

impl Told {
    pub(super) fn begin(numbers: &[u64], clock: Clock) -> Option<Self> {
        let &[port, accepted, closed, steps, steps_ns, longest_ns] = numbers else { return None };
        Some(Self {
            port: port_of(port),
            accepted: clock.ours(accepted),
            closed: clock.ours(closed),
            steps,
            steps_ns,
            longest_ns,
        })
    }
}

/// What the script knows of how a session went: `@ends`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Ends(u64);

/// TCP_ESTABLISHED, TCP_CLOSE and TCP_CLOSE_WAIT (include/net/tcp_states.h).
const ESTABLISHED: u64 = 1;
const CLOSE: u64 = 7;
const CLOSE_WAIT: u64 = 8;

impl Ends {
    const WRITE_FAILED: u64 = 4;
    const BEFORE_US: u64 = 8;
    const UPSTREAM_HAD_MORE: u64 = 16;
    const READ_FAILED: u64 = 32;

    fn has(self, bit: u64) -> bool {
        self.0 & bit != 0
    }

    /// State of the client's socket when the proxy closed it.
    fn client(self) -> u64 {
        self.0 >> 8 & 0xff
    }

    /// State of the upstream's when the proxy closed that, and of the client's at that time.
    fn upstream(self) -> (u64, u64) {
        (self.0 >> 16 & 0xff, self.0 >> 24 & 0xff)
    }

    /// How the session ended, as far as sockets tell: a client that had gone before its answer was
    /// whole ended it. Whether an answer was whole when its upstream keeps the connection and has
    /// no more to say, sockets do not tell: it is taken for whole.
    fn session_end(self, answered: bool, asked: bool) -> SessionEnd {
        let gone = |state: u64| match state {
            CLOSE_WAIT => Some(SessionEnd::ClientClosed),
            CLOSE => Some(SessionEnd::ClientReset),
            _ => None,
        };
        let (upstream, client_then) = self.upstream();
        if upstream == ESTABLISHED
            && let Some(end) = gone(client_then)
        {
            return end;
        }
        let failed = if self.has(Self::READ_FAILED | Self::WRITE_FAILED) {
            Some(SessionEnd::ClientReset)
        } else {
            gone(self.client())
        };
        let cut = !answered || self.has(Self::WRITE_FAILED | Self::UPSTREAM_HAD_MORE);
        match (cut, failed) {
            (false, _) => SessionEnd::Completed,
            (true, Some(end)) => end,
            (true, None) if asked => SessionEnd::UpstreamClosedEarly,
            (true, None) => SessionEnd::ClientTimeout,
        }
    }
}

impl Sessions {
    /// The session by the script's number; one that is new gets the worker's next.
    pub(super) fn known(&mut self, worker: &mut Worker, id: u64) -> &mut Open {
        self.open.entry(id).or_insert_with(|| Open {
            worker: worker.index(),
            number: worker.next_session(),
            ..Open::default()
        })
    }

    /// The client port of a session that is open.
    pub(super) fn port(&self, id: u64) -> Option<u16> {
        self.open.get(&id)?.port
    }

    /// Tells that a session was accepted.
    pub(super) fn accepted(
        &mut self,
        worker: &mut Worker,
        id: u64,
        port: u64,
        at: MonoNs,
        take: Take<'_>,
    ) {
        let open = self.known(worker, id);
        open.port = Some(port_of(port));
        if !std::mem::replace(&mut open.accept_told, true) {
            take(accepted(open.worker, open.number, port_of(port), at));
        }
    }

    /// The first half of a session's end.
    pub(super) fn ended(&mut self, worker: &mut Worker, id: u64, told: Told) {
        self.known(worker, id).told = Some(told);
    }

    /// The second half: tells it.
    pub(super) fn tell(
        &mut self,
        id: u64,
        numbers: &[u64],
        clock: Clock,
        take: Take<'_>,
    ) -> Option<()> {
        let open = self.open.remove(&id)?;
        let told = open.told?;
        let &[down, _, asked, _, _, _, ends] = numbers else { return None };
        let end = Ends(ends).session_end(down > 0, asked != 0);
        tell(&open, told, numbers, end, clock, take)
    }

    /// Whether `worker` has a session open.
    pub(super) fn any_of(&self, worker: u32) -> bool {
        self.open.values().any(|open| open.worker == worker)
    }

    /// Sessions that are still open, by the script's number.
    pub(super) fn ids(&self) -> Vec<u64> {
        let mut ids: Vec<u64> = self.open.keys().copied().collect();
        ids.sort_unstable();
        ids
    }

    /// Tells one that is still open when the tracer is told to stop.
    pub(super) fn tell_open(
        &mut self,
        id: u64,
        told: Told,
        numbers: &[u64],
        clock: Clock,
        take: Take<'_>,
    ) -> Option<()> {
        let open = self.open.remove(&id)?;
        tell(&open, told, numbers, SessionEnd::Shutdown, clock, take)
    }
}

fn tell(
    open: &Open,
    told: Told,
    numbers: &[u64],
    end: SessionEnd,
    clock: Clock,
    take: Take<'_>,
) -> Option<()> {
    let &[down, _, asked, sent, head, upstream_port, ends] = numbers else { return None };
    let time = |at: u64| (at != 0).then(|| clock.ours(at));
    if !open.accept_told && !Ends(ends).has(Ends::BEFORE_US) {
        take(accepted(open.worker, open.number, told.port, told.accepted));
    }
    take(Record::Session(Session {
        worker: open.worker,
        session: open.number,
        client_port: told.port,
        upstream_port: Some(port_of(upstream_port)).filter(|port| *port != 0),
        request: String::new(),
        status: 0,
        end,
        body_bytes: Bytes(down),
        accepted_ns: told.accepted,
        request_ns: time(asked),
        connected_ns: time(sent),
        head_ns: time(head),
        closed_ns: told.closed,
        log: LogTimes::default(),
        steps: told.steps,
        longest_step_us: Micros(told.longest_ns / 1_000),
        steps_us: Micros(told.steps_ns / 1_000),
        stalled_upstream_us: Micros(0),
        stalled_client_us: Micros(0),
    }));
    Some(())
}
