//! One connection of a slot: handshake, request, answer, close. Knows nothing of other slots, records or
//! retries.

use std::fs::File;
use std::io::ErrorKind;
use std::mem::MaybeUninit;
use std::net::SocketAddr;
use std::ops::ControlFlow::{self, Break, Continue};

use http1::{Answer, HEAD_MAX, State, Wanted};
use mio::Registry;
use net::{clock, tcp};
use records::{Bytes, BytesPerSec, DownloadEnd, MonoNs, Requests};
use rustix::fs::sendfile;
use rustix::io::Errno;
use socket2::Socket;

use crate::drain::{Drain, Taken, mark};
use crate::pace::Bucket;
use crate::warn_once;

/// What one turn of a connection takes at most before the others have theirs.
const TURN: u64 = 8 << 20;

/// When a turn is due that need not wait for anything.
pub(crate) const AT_ONCE: MonoNs = MonoNs(0);
/// When one is due that only an event brings.
pub(crate) const AT_ITS_EVENT: MonoNs = MonoNs(u64::MAX);

/// One connection, from dial to close.
pub(crate) struct Conn {
    socket: Socket,
    stage: Stage,
    /// `None`: it reads what comes.
    pace: Option<Bucket>,
    /// Our address on it.
    pub(crate) local: Option<SocketAddr>,
    /// When the request was sent, or else when we dialled.
    pub(crate) start_ns: MonoNs,
    /// When the first byte of the answer came.
    pub(crate) first_byte_ns: Option<MonoNs>,
    /// Bytes moved so far.
    pub(crate) bytes: u64,
    /// Its low-water mark.
    mark: Bytes,
}

enum Stage {
    /// The handshake is under way.
    Connecting,
    /// Connected; the request has not been allowed yet.
    Holding,
    /// The request's head is on its way, as far as `sent`.
    Requesting { sent: usize },
    /// Its body is on its way, as far as `sent`.
    Uploading { sent: u64 },
    /// The answer is coming in.
    Answering(Answer),
    /// Its end has been told. We wait for the peer to close first, so that our port stays free of
    /// TIME_WAIT and can be dialled from again.
    Closing { until: MonoNs },
}

/// What every connection of the process shares.
pub(crate) struct Shared {
    pub(crate) target: SocketAddr,
    /// What each download may be read at most.
    pub(crate) rate: Option<BytesPerSec>,
    /// Who watches the sockets.
    pub(crate) registry: Registry,
    pub(crate) drain: Drain,
    pub(crate) requests: Requests,
    /// Where each unpaced body sets its low-water mark.
    pub(crate) low_water: Bytes,
    /// The request, as people say it.
    pub(crate) asked: String,
    pub(crate) head: Vec<u8>,
    /// What follows the head: an upload.
    pub(crate) body: Option<(File, Bytes)>,
    pub(crate) wanted: Wanted,
}

/// What a turn of a connection came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// Nothing can be done before an event, or before this time: at once, if more is to gather.
    Waits(MonoNs),
    /// There is more, but others want their turn.
    Yields,
    /// The handshake is complete; there is more to do.
    Connected,
    /// The download ended; the connection may still wait for the peer's close.
    Ended(DownloadEnd),
    /// It may be closed now.
    Gone,
}

impl Conn {
    /// Takes over a socket whose connect has been started.
    pub(crate) fn new(socket: Socket, rate: Option<BytesPerSec>, now: MonoNs) -> Self {
        let local = socket.local_addr().ok().and_then(|addr| addr.as_socket());
        Self {
            socket,
            stage: Stage::Connecting,
            pace: rate.map(|rate| Bucket::new(rate, now)),
            local,
            start_ns: now,
            first_byte_ns: None,
            bytes: 0,
            mark: Bytes(1),
        }
    }

    /// Whether body bytes are what it waits for: they are worth gathering.
    pub(crate) fn is_transferring(&self) -> bool {
        matches!(&self.stage, Stage::Answering(answer) if answer.body().is_some())
    }

    /// Whether its end has been told.
    pub(crate) fn has_ended(&self) -> bool {
        matches!(self.stage, Stage::Closing { .. })
    }

    /// Waits for the peer's close, but not longer than `until`.
    pub(crate) fn linger(&mut self, until: MonoNs) {
        self.stage = Stage::Closing { until };
    }

    /// Goes on as far as it can.
    pub(crate) fn turn(&mut self, shared: &mut Shared, now: MonoNs) -> Turn {
        let Self { socket, start_ns, bytes, .. } = self;
        loop {
            let next = match &mut self.stage {
                Stage::Connecting => return connect(socket, &mut self.stage),
                Stage::Holding => hold(socket, start_ns, shared),
                Stage::Requesting { sent } => request(socket, sent, shared),
                Stage::Uploading { sent } => upload(socket, sent, bytes, shared),
                Stage::Answering(_) => return self.answer(shared, now),
                Stage::Closing { until } => return close(socket, *until, shared, now),
            };
            match next {
                Continue(stage) => self.stage = stage,
                Break(turn) => return turn,
            }
        }
    }

    /// Takes what has come of the answer, as much as its pace allows.
    fn answer(&mut self, shared: &mut Shared, now: MonoNs) -> Turn {
        let Stage::Answering(answer) = &mut self.stage else { return Turn::Yields };
        let due = |pace: &Option<Bucket>| pace.as_ref().map_or(AT_ONCE, |bucket| bucket.due(now));
        let mut budget = match &mut self.pace {
            _ if answer.body().is_none() => HEAD_MAX as u64,
            Some(bucket) => bucket.allowed(now),
            None => TURN,
        };
        let own = shared.wanted.own;
        let uploaded = self.bytes - counted(answer, own);
        let mut turn = Turn::Yields;
        while budget > 0 && turn == Turn::Yields {
            let (taken, state) = shared.drain.take(answer, &self.socket, budget);
            self.bytes = uploaded + counted(answer, own);
            budget = budget.saturating_sub(taken.len() as u64);
            if let Some(bucket) = &mut self.pace {
                bucket.spend(taken.len() as u64);
            }
            if taken.len() > 0 {
                self.first_byte_ns.get_or_insert_with(clock::now);
            }
            let ended = match taken {
                Taken::Closed => end_of(answer.closed()).or(Some(DownloadEnd::ClosedEarly)),
                Taken::Broken => Some(DownloadEnd::Reset),
                _ => end_of(state),
            };
            if let Some(end) = ended {
                if let Some(status) = answer.status()
                    && !shared.wanted.takes(status)
                {
                    let asked = &shared.asked;
                    warn_once(&format!("{asked} was answered with {status}, which is no load"));
                }
                return Turn::Ended(end);
            }
            turn = match taken {
                Taken::Full(_) => Turn::Yields,
                Taken::Short(_) => Turn::Waits(due(&self.pace)),
                _ => Turn::Waits(AT_ITS_EVENT),
            };
        }
        match (&self.pace, answer.body()) {
            (Some(_), _) if turn == Turn::Yields => Turn::Waits(due(&self.pace)),
            (None, Some(body)) if turn != Turn::Yields => {
                // Never for more than is to come: the peer may keep the connection open after the last
                // byte, and no end would wake a reader then.
                let mark = mark(body, shared.low_water);
                // Refused: it wakes us more often and acknowledges later, but reads all the same.
                if mark != self.mark && tcp::set_low_water(&self.socket, mark).is_ok() {
                    self.mark = mark;
                }
                turn
            }
            _ => turn,
        }
    }
}

/// Bytes of an answer that count as moved. Of the user's `own` server some have no body, so heads do too.
fn counted(answer: &Answer, own: bool) -> u64 {
    answer.payload() + if own { answer.head_len() } else { 0 }
}

fn end_of(state: State) -> Option<DownloadEnd> {
    match state {
        State::More => None,
        State::Whole | State::Overrun => Some(DownloadEnd::Completed),
        State::Unwanted => Some(DownloadEnd::BadStatus),
    }
}

fn connect(socket: &Socket, stage: &mut Stage) -> Turn {
    if !matches!(socket.take_error(), Ok(None)) {
        return Turn::Ended(DownloadEnd::Refused);
    }
    // connect(2): an error of getpeername tells "not yet" from "connected".
    match socket.peer_addr() {
        Ok(_) => {
            *stage = Stage::Holding;
            Turn::Connected
        }
        Err(error) if error.kind() == ErrorKind::NotConnected => Turn::Waits(AT_ITS_EVENT),
        Err(_) => Turn::Ended(DownloadEnd::Refused),
    }
}

/// While held, only a peer that gives up on us matters.
fn hold(socket: &Socket, start_ns: &mut MonoNs, shared: &mut Shared) -> ControlFlow<Turn, Stage> {
    if shared.requests == Requests::AtOnce {
        *start_ns = clock::now();
        return Continue(Stage::Requesting { sent: 0 });
    }
    Break(match shared.drain.read(socket, 1).0 {
        Taken::Nothing => Turn::Waits(AT_ITS_EVENT),
        // An answer to nothing, such as 408.
        Taken::Short(_) | Taken::Full(_) => Turn::Ended(DownloadEnd::BadStatus),
        Taken::Closed => Turn::Ended(DownloadEnd::ClosedEarly),
        Taken::Broken => Turn::Ended(DownloadEnd::Reset),
    })
}

fn request(socket: &Socket, sent: &mut usize, shared: &Shared) -> ControlFlow<Turn, Stage> {
    while let Some(rest @ [_, ..]) = shared.head.get(*sent..) {
        match socket.send(rest) {
            Ok(len) => *sent += len,
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                return Break(Turn::Waits(AT_ITS_EVENT));
            }
            Err(_) => return Break(Turn::Ended(DownloadEnd::Reset)),
        }
    }
    Continue(Stage::Uploading { sent: 0 })
}

/// Sends the body, if there is one, from the file to the socket within the kernel (sendfile(2)).
fn upload(
    socket: &Socket,
    sent: &mut u64,
    bytes: &mut u64,
    shared: &Shared,
) -> ControlFlow<Turn, Stage> {
    let answering = || Continue(Stage::Answering(Answer::to(shared.wanted.clone())));
    let Some((file, length)) = &shared.body else { return answering() };
    let mut budget = TURN;
    while *sent < length.0 {
        if budget == 0 {
            return Break(Turn::Yields);
        }
        let most = usize::try_from(budget.min(length.0 - *sent)).unwrap_or(usize::MAX);
        let mut offset = *sent;
        match sendfile(socket, file, Some(&mut offset), most) {
            // The file has become shorter: what was announced cannot be sent.
            Ok(0) => return Break(Turn::Ended(DownloadEnd::LocalError)),
            Ok(len) => {
                *sent += len as u64;
                *bytes += len as u64;
                budget = budget.saturating_sub(len as u64);
            }
            // A server that has answered already does not read the rest.
            Err(Errno::AGAIN) if socket.peek(&mut [MaybeUninit::uninit()]).is_ok() => break,
            Err(Errno::AGAIN) => return Break(Turn::Waits(AT_ITS_EVENT)),
            Err(_) => return Break(Turn::Ended(DownloadEnd::Reset)),
        }
    }
    answering()
}

fn close(socket: &Socket, until: MonoNs, shared: &mut Shared, now: MonoNs) -> Turn {
    match shared.drain.discard(socket, TURN) {
        _ if now >= until => Turn::Gone,
        Taken::Nothing => Turn::Waits(until),
        Taken::Closed | Taken::Broken => Turn::Gone,
        Taken::Short(_) | Taken::Full(_) => Turn::Yields,
    }
}
