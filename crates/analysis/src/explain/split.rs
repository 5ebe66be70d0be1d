//! A fetch laid on the timeline of its worker, and its time divided among causes.
//!
//! Invariant: the parts of a fetch sum to its time, to the nanosecond; what nothing shows is
//! [`Cause::Unexplained`].

use std::collections::BTreeMap;
use std::time::Duration;

use records::{Cause, Fetch, Session, SessionEnd};

use super::context::{Context, Overflow};
use super::cpu::Off;
use super::crowd::{Crowd, Waiting};
use super::life::{Hands, Life};
use super::shares::{Shares, part_of};
use super::timeline::{Doing, Segment};
use crate::join::Connection;
use crate::window::{Window, share};

/// Where the time of one fetch went.
#[derive(Clone, Debug, PartialEq)]
pub struct FetchSplit {
    /// Its position among the records' fetches.
    pub index: usize,
    /// The worker that accepted it, or the only one that can have had it in its queue.
    pub worker: Option<u32>,
    /// Its time by cause; sums to its response time.
    pub shares: Shares,
    /// The same in order of time.
    pub(crate) pieces: Vec<Piece>,
    /// Holds of others that it waited in, by position among the records' holds, and for how long.
    pub held: BTreeMap<usize, Duration>,
}

impl FetchSplit {
    fn new(index: usize, worker: Option<u32>) -> Self {
        let (shares, pieces, held) = Default::default();
        Self { index, worker, shares, pieces, held }
    }
}

/// One spell of a fetch inside one segment of its worker.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Piece {
    /// When.
    pub(crate) window: Window,
    /// In whose hands the fetch was.
    pub(crate) hands: Hands,
    /// What the worker did, if that is known and mattered.
    pub(crate) doing: Option<Doing>,
    /// The time by cause.
    pub(crate) shares: Shares,
}

/// A handshake that takes so long had a segment dropped: the first SYN is sent again after 1 s
/// (TCP_TIMEOUT_INIT, include/net/tcp.h), and the kernel's timer may be a little early.
const SYN_RESENT: Duration = Duration::from_millis(900);
/// A handshake over loopback that takes less than the shortest retransmission timeout
/// (TCP_RTO_MIN, 200 ms) lost nothing: its client waited for a CPU, or it was refused.
const NOTHING_LOST: Duration = Duration::from_millis(200);

/// Divides the time of every fetch, in the order of the records.
pub(crate) fn all(context: &Context<'_>) -> Vec<FetchSplit> {
    let fetches = context.records.fetches.iter().enumerate();
    fetches.map(|(index, fetch)| split(context, index, fetch)).collect()
}

fn split(context: &Context<'_>, index: usize, fetch: &Fetch) -> FetchSplit {
    let connection = context.join.fetch(index);
    let session = connection.and_then(|connection| connection.session);
    let answered = session.and_then(|session| context.answer(session));
    let life = Life::of(fetch, connection, answered);
    let mut splitter = Splitter::new(context, index, fetch, connection);
    // It was refused at once: where its time went says nothing of why it failed. Not so one whose client had
    // gone before it was accepted: that failed for what kept it from its worker.
    let refused = session.filter(|session| session.end == SessionEnd::NoPort);
    let no_port = refused.is_some_and(|session| session.accepted_ns < life.whole.end);
    for (window, hands) in life.spells {
        match no_port {
            true => splitter.whole(window, hands, Cause::NoPorts),
            false => splitter.spell(window, hands),
        }
    }
    splitter.split
}

struct Splitter<'a> {
    context: &'a Context<'a>,
    fetch: &'a Fetch,
    connection: Option<&'a Connection<'a>>,
    session: Option<&'a Session>,
    /// Part of the short steps' time that were the fetch's own, while it was served.
    own: f64,
    split: FetchSplit,
}

impl<'a> Splitter<'a> {
    fn new(
        context: &'a Context<'a>,
        index: usize,
        fetch: &'a Fetch,
        connection: Option<&'a Connection<'a>>,
    ) -> Self {
        let session = connection.and_then(|connection| connection.session);
        let split = FetchSplit::new(index, connection.map(|connection| connection.worker));
        let own = session.map_or(0.0, |session| context.own_part(session));
        Self { context, fetch, connection, session, own, split }
    }

    fn spell(&mut self, window: Window, hands: Hands) {
        match (hands, self.connection) {
            (Hands::Unsent | Hands::Closed, _) => self.whole(window, hands, Cause::Client),
            // Whatever the worker did: there was nothing for it to read.
            (Hands::AwaitingWorker, _) => self.whole(window, hands, Cause::UpstreamWorkers),
            (Hands::AwaitingOrigin, _) => self.whole(window, hands, Cause::Upstream),
            (Hands::Handshake, _) => self.whole(window, hands, self.handshake(window)),
            (_, Some(connection)) => self.on_timeline(connection.worker, window, hands),
            (_, None) => self.ownerless(window, hands),
        }
    }

    fn handshake(&self, window: Window) -> Cause {
        let length = window.length();
        let done = self.fetch.connect_us.is_some();
        let lost_from = if done { SYN_RESENT } else { NOTHING_LOST };
        match self.context.overflow {
            _ if done && length < NOTHING_LOST => Cause::Client,
            Overflow::Seen if length >= lost_from => Cause::BacklogOverflow,
            _ => Cause::Unexplained,
        }
    }

    fn whole(&mut self, window: Window, hands: Hands, cause: Cause) {
        let mut shares = Shares::default();
        shares.add(cause, ns(window));
        self.piece(Piece { window, hands, doing: None, shares });
    }

    fn piece(&mut self, piece: Piece) {
        if piece.window.length().is_zero() {
            return;
        }
        self.split.shares.merge(&piece.shares);
        self.split.pieces.push(piece);
    }

    /// A spell in the hands of `worker`.
    fn on_timeline(&mut self, worker: u32, window: Window, hands: Hands) {
        let context = self.context;
        if let Some(crowd) = context.crowds.get(&worker) {
            return self.on_crowd(crowd, window, hands);
        }
        let mut at = window.start;
        for segment in context.timeline(worker).within(window) {
            let part = segment.window.clip(window);
            self.whole(Window::new(at, part.start), hands, Cause::Unexplained);
            self.segment(worker, segment, part, window, hands);
            at = part.end;
        }
        self.whole(Window::new(at, window.end), hands, Cause::Unexplained);
    }

    /// A spell in the hands of many threads.
    fn on_crowd(&mut self, crowd: &Crowd<'_>, window: Window, hands: Hands) {
        let port = self.connection.map(|connection| connection.client_port);
        let asked = self.session.is_some_and(|session| session.connected_ns.is_some());
        let throttled = &self.context.counters.throttled;
        let mut at = window.start;
        for slice in crowd.within(window) {
            let part = slice.window.clip(window);
            self.whole(Window::new(at, part.start), hands, Cause::Unexplained);
            let withheld = throttled.between(slice.window.start, slice.window.end);
            let withheld = share(Duration::from_nanos(withheld), slice.window.length());
            let shares = crowd.divide(slice, ns(part), Waiting { hands, port, asked, withheld });
            self.piece(Piece { window: part, hands, doing: None, shares });
            at = part.end;
        }
        self.whole(Window::new(at, window.end), hands, Cause::Unexplained);
    }

    fn segment(
        &mut self,
        worker: u32,
        segment: &Segment,
        part: Window,
        hands_window: Window,
        hands: Hands,
    ) {
        let mut shares = Shares::default();
        let off = segment.off;
        match segment.doing {
            Doing::Hold(at) => {
                let own = self.is_own(at);
                let cause = if own { Cause::OwnTransfer } else { Cause::HeldByStep };
                busy(&mut shares, ns(part), off, cause);
                if !own {
                    *self.split.held.entry(at).or_default() += part.length();
                }
            }
            Doing::Polling => {
                let awake = ns(waking(segment, hands).clip(part));
                shares.divide(awake, [(Cause::CpuWithheld, off.withheld)], Cause::OffCpuRunnable);
                let asleep = Off { woken: 0.0, ..off };
                self.idle(&mut shares, ns(part) - awake, asleep, hands);
            }
            Doing::Turning { polling, .. } => {
                if hands == Hands::Queued {
                    // A connection in the queue is an event: the poll does not sleep on it.
                    let convoy = self.first_turn(worker, hands_window).clip(part);
                    busy(&mut shares, ns(convoy), off, Cause::Convoy);
                    busy(&mut shares, ns(part) - ns(convoy), off, Cause::AcceptQueue);
                } else {
                    let idle = part_of(ns(part), polling);
                    self.idle(&mut shares, idle, off, hands);
                    let own = part_of(ns(part) - idle, self.own);
                    busy(&mut shares, own, off, Cause::OwnTransfer);
                    busy(&mut shares, ns(part) - idle - own, off, Cause::Convoy);
                }
            }
        }
        self.piece(Piece { window: part, hands, doing: Some(segment.doing), shares });
    }

    /// The loop turn in which the fetch came to the listener's queue: nobody could have accepted it
    /// sooner than at its end. One too short to be told was as long as turns were then.
    fn first_turn(&self, worker: u32, queued: Window) -> Window {
        let told = self.context.turn_around(worker, queued.start);
        let end = told.unwrap_or_else(|| {
            let segments = self.context.timeline(worker).within(queued).iter();
            let mut turns = segments.filter_map(|segment| match segment.doing {
                Doing::Turning { turn, .. } => Some(turn),
                Doing::Hold(_) | Doing::Polling => None,
            });
            queued.start + turns.next().unwrap_or_default()
        });
        Window::new(queued.start, end)
    }

    /// Time in which the worker was in its poll.
    fn idle(&self, shares: &mut Shares, ns: u64, off: Off, hands: Hands) {
        let [others, withheld] = no_cpu(off.woken, off);
        let awake = 1.0 - off.woken;
        match hands {
            Hands::Asking => shares.divide(ns, [others, withheld], Cause::Client),
            Hands::AwaitingHead => shares.divide(ns, [others, withheld], Cause::Upstream),
            Hands::Body => {
                let stalls = self.session.map(Stalls::of).unwrap_or_default();
                let upstream = (Cause::Upstream, awake * stalls.upstream);
                let client = (Cause::Client, awake * stalls.client);
                shares.divide(ns, [others, withheld, upstream, client], Cause::OwnTransfer);
            }
            _ => shares.divide(ns, [others, withheld], Cause::Unexplained),
        }
    }

    /// A session that had not ended when the run did is known by its port alone.
    fn is_own(&self, hold: usize) -> bool {
        let hold = self.context.records.holds.get(hold);
        hold.zip(self.connection).is_some_and(|(hold, connection)| match self.session {
            Some(session) => (hold.worker, hold.session) == (session.worker, session.session),
            None => {
                let port = (connection.worker, connection.client_port);
                (hold.worker, hold.client_port) == port && hold.start_ns >= connection.accepted_ns
            }
        })
    }

    /// Never accepted: each cause has as much as it would have whoever of those had it that may have.
    fn ownerless(&mut self, window: Window, hands: Hands) {
        let mut splits = self.context.candidates(window.start).map(|worker| {
            let mut other =
                Self { split: FetchSplit::new(self.split.index, Some(worker)), ..*self };
            other.on_timeline(worker, window, hands);
            other.split
        });
        let Some(mut least) = splits.next() else {
            return self.whole(window, hands, Cause::Unexplained);
        };
        for split in splits {
            let shares = least.shares.least(&split.shares);
            let piece = Piece { window, hands, doing: None, shares };
            // Whose step it was nobody knows: none is named.
            least =
                FetchSplit { shares, pieces: vec![piece], ..FetchSplit::new(least.index, None) };
        }
        self.split.worker = least.worker;
        for (hold, waited) in least.held {
            *self.split.held.entry(hold).or_default() += waited;
        }
        least.pieces.into_iter().for_each(|piece| self.piece(piece));
    }
}

/// The end of a poll, in which the worker was awake but had no CPU to return: it slept first.
///
/// A connection in its queue wakes a worker. So for one that is queued it has been awake all along,
/// if the kernel says that it waited for a CPU at all.
fn waking(poll: &Segment, hands: Hands) -> Window {
    let whole = poll.window;
    if hands == Hands::Queued && poll.off.woken > 0.0 {
        return whole;
    }
    let awake = Duration::from_nanos(part_of(ns(whole), poll.off.woken));
    Window::new(whole.end - awake, whole.end)
}

/// Busy time: what the worker lost to others, or slept, is not the work's.
fn busy(shares: &mut Shares, ns: u64, off: Off, work: Cause) {
    let [others, withheld] = no_cpu(off.no_cpu, off);
    let parts =
        [others, withheld, (Cause::OffCpuBlocked, off.blocked), (Cause::Unexplained, off.untold)];
    shares.divide(ns, parts, work);
}

/// A part of the time in which a worker was ready and had no CPU: what others had, and what its host
/// withheld.
fn no_cpu(part: f64, off: Off) -> [(Cause, f64); 2] {
    let withheld = part * off.withheld;
    [(Cause::OffCpuRunnable, part - withheld), (Cause::CpuWithheld, withheld)]
}

/// Parts of the time between a session's steps, after the head, in which it waited long for one
/// side. Shorter waits are bytes on their way.
#[derive(Clone, Copy, Debug, Default)]
struct Stalls {
    upstream: f64,
    client: f64,
}

impl Stalls {
    fn of(session: &Session) -> Self {
        let Some(head_ns) = session.head_ns else { return Self::default() };
        let body = session.closed_ns.since(head_ns);
        let waits =
            session.stalled_upstream_us.as_duration() + session.stalled_client_us.as_duration();
        let between = body.saturating_sub(session.steps_us.as_duration()).max(waits);
        Self {
            upstream: share(session.stalled_upstream_us.as_duration(), between),
            client: share(session.stalled_client_us.as_duration(), between),
        }
    }
}

fn ns(window: Window) -> u64 {
    window.end.0 - window.start.0
}

#[cfg(test)]
mod tests;
