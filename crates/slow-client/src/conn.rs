//! One connection of a slot: handshake, request, head, body, close. Knows nothing of other slots,
//! records or retries.

use std::fs::File;
use std::io::ErrorKind;
use std::mem::MaybeUninit;
use std::net::SocketAddr;
use std::ops::ControlFlow::{self, Break, Continue};

use http1::{Body, BodyFraming, HeadLimit, Method, Parsed, parse_response};
use net::{clock, low_water};
use records::{Answers, Bytes, BytesPerSec, DownloadEnd, MonoNs, Requests};
use rustix::fs::sendfile;
use rustix::io::Errno;
use socket2::Socket;

use crate::body::{Asked, Drain, Taken, mark};
use crate::pace::Bucket;

/// What one turn of a connection takes at most before the others have theirs.
const TURN: u64 = 8 << 20;

/// One connection, from dial to close.
pub(crate) struct Conn {
    pub(crate) socket: Socket,
    stage: Stage,
    /// `None`: it reads what comes.
    pace: Option<Bucket>,
    /// Our address on it.
    pub(crate) local: Option<SocketAddr>,
    dialed_ns: MonoNs,
    requested_ns: Option<MonoNs>,
    /// When the first byte of the answer came.
    pub(crate) first_byte_ns: Option<MonoNs>,
    /// Bytes moved so far.
    pub(crate) bytes: u64,
    /// Of `bytes`, those that came before the answer's body: an upload, a head.
    before_body: u64,
    /// Of `bytes`, those that an interval has told already.
    told: u64,
    /// The status of an answer that is no good, once its head was read.
    pub(crate) bad_status: Option<u16>,
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
    /// The answer's head is coming in.
    Head { read: Vec<u8> },
    /// The body is coming in.
    Body(Body),
    /// Its end has been told. We wait for the peer to close first, so that our port stays free of
    /// TIME_WAIT and can be dialled from again.
    Closing { until: MonoNs },
}

/// What every connection asks for.
pub(crate) struct Request {
    pub(crate) head: Vec<u8>,
    pub(crate) method: Method,
    /// What follows the head: an upload.
    pub(crate) body: Option<(File, Bytes)>,
    /// Of the user's own server some have no body, so what is sent and the heads count as moved too.
    pub(crate) answers: Answers,
}

/// What every connection of the process shares.
pub(crate) struct Shared {
    pub(crate) drain: Drain,
    pub(crate) request: Request,
    /// What an answer must bring.
    pub(crate) asked: Asked,
    pub(crate) requests: Requests,
    /// Where each unpaced body sets its low-water mark.
    pub(crate) low_water: Bytes,
}

/// What a turn of a connection came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// The handshake is complete; there is more to do.
    Connected,
    /// Nothing can be done before an event.
    Waits,
    /// All that was there has been taken; it goes on when more has gathered.
    Drained,
    /// There is more, but others want their turn.
    Yields,
    /// Its pace allows the next read at this time.
    Paced(MonoNs),
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
            dialed_ns: now,
            requested_ns: None,
            first_byte_ns: None,
            bytes: 0,
            before_body: 0,
            told: 0,
            bad_status: None,
        }
    }

    /// When the request was sent, or else when we dialled.
    pub(crate) fn start_ns(&self) -> MonoNs {
        self.requested_ns.unwrap_or(self.dialed_ns)
    }

    /// Bytes moved since this was last asked.
    pub(crate) fn take_untold(&mut self) -> u64 {
        let untold = self.bytes - self.told;
        self.told = self.bytes;
        untold
    }

    /// Whether body bytes are what it waits for: they are worth gathering.
    pub(crate) fn is_transferring(&self) -> bool {
        matches!(self.stage, Stage::Body(_))
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
        loop {
            let step = match &mut self.stage {
                Stage::Connecting => self.connect(),
                Stage::Holding => self.hold(shared),
                Stage::Requesting { .. } => self.request(shared),
                Stage::Uploading { .. } => self.upload(shared),
                Stage::Head { .. } => self.head(shared),
                Stage::Body(_) => self.body(shared, now),
                Stage::Closing { until } => {
                    let until = *until;
                    self.close(shared, until, now)
                }
            };
            if let Break(turn) = step {
                return turn;
            }
        }
    }

    fn connect(&mut self) -> ControlFlow<Turn> {
        if !matches!(self.socket.take_error(), Ok(None)) {
            return Break(Turn::Ended(DownloadEnd::Refused));
        }
        // connect(2): an error of getpeername tells "not yet" from "connected".
        match self.socket.peer_addr() {
            Ok(_) => {
                self.stage = Stage::Holding;
                Break(Turn::Connected)
            }
            Err(error) if error.kind() == ErrorKind::NotConnected => Break(Turn::Waits),
            Err(_) => Break(Turn::Ended(DownloadEnd::Refused)),
        }
    }

    /// While held, only a peer that gives up on us matters.
    fn hold(&mut self, shared: &mut Shared) -> ControlFlow<Turn> {
        if shared.requests == Requests::AtOnce {
            self.requested_ns = Some(clock::now());
            self.stage = Stage::Requesting { sent: 0 };
            return Continue(());
        }
        Break(match shared.drain.read(&self.socket, 1).0 {
            Taken::Nothing => Turn::Waits,
            // An answer to nothing, such as 408.
            Taken::Short(_) | Taken::Full(_) => Turn::Ended(DownloadEnd::BadStatus),
            Taken::Closed => Turn::Ended(DownloadEnd::ClosedEarly),
            Taken::Broken => Turn::Ended(DownloadEnd::Reset),
        })
    }

    fn request(&mut self, shared: &Shared) -> ControlFlow<Turn> {
        let Stage::Requesting { sent } = &mut self.stage else { return Continue(()) };
        let rest = shared.request.head.get(*sent..).unwrap_or_default();
        match self.socket.send(rest) {
            Ok(len) if len < rest.len() => *sent += len,
            Ok(_) => self.stage = Stage::Uploading { sent: 0 },
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Break(Turn::Waits),
            Err(_) => return Break(Turn::Ended(DownloadEnd::Reset)),
        }
        Continue(())
    }

    /// Sends the body, if there is one, from the file to the socket within the kernel (sendfile(2)).
    fn upload(&mut self, shared: &Shared) -> ControlFlow<Turn> {
        let Stage::Uploading { sent } = &mut self.stage else { return Continue(()) };
        let (file, length) = match &shared.request.body {
            Some((file, length)) if *sent < length.0 => (file, length.0),
            _ => {
                self.stage = Stage::Head { read: Vec::new() };
                return Continue(());
            }
        };
        let mut budget = TURN;
        while budget > 0 && *sent < length {
            let most = usize::try_from(budget.min(length - *sent)).unwrap_or(usize::MAX);
            let mut offset = *sent;
            match sendfile(&self.socket, file, Some(&mut offset), most) {
                // The file has become shorter: what was announced cannot be sent.
                Ok(0) => return Break(Turn::Ended(DownloadEnd::LocalError)),
                Ok(len) => {
                    *sent += len as u64;
                    self.bytes += len as u64;
                    self.before_body += len as u64;
                    budget = budget.saturating_sub(len as u64);
                }
                // A server that has answered already does not read the rest.
                Err(Errno::AGAIN) if self.socket.peek(&mut [MaybeUninit::uninit()]).is_ok() => {
                    self.stage = Stage::Head { read: Vec::new() };
                    return Continue(());
                }
                Err(Errno::AGAIN) => return Break(Turn::Waits),
                Err(_) => return Break(Turn::Ended(DownloadEnd::Reset)),
            }
        }
        if *sent < length { Break(Turn::Yields) } else { Continue(()) }
    }

    fn head(&mut self, shared: &mut Shared) -> ControlFlow<Turn> {
        let Stage::Head { read } = &mut self.stage else { return Continue(()) };
        let limit = HeadLimit::default();
        let room = limit.0.saturating_sub(read.len()).max(1) as u64;
        let (taken, bytes) = shared.drain.read(&self.socket, room);
        match taken {
            Taken::Nothing => return Break(Turn::Waits),
            Taken::Closed => return Break(Turn::Ended(DownloadEnd::ClosedEarly)),
            Taken::Broken => return Break(Turn::Ended(DownloadEnd::Reset)),
            Taken::Short(_) | Taken::Full(_) => read.extend_from_slice(bytes),
        }
        self.first_byte_ns.get_or_insert_with(clock::now);
        loop {
            match parse_response(read, limit, &shared.request.method) {
                Ok(Parsed::Partial) => return Continue(()),
                Ok(Parsed::Complete { head, len }) if head.is_interim() => {
                    read.drain(..len);
                }
                Ok(Parsed::Complete { head, len })
                    if shared.request.answers.may_have(head.status) =>
                {
                    let early = read.split_off(len);
                    if shared.request.answers == Answers::Own {
                        self.before_body += len as u64;
                    }
                    return self.begin_body(head.body, &early, shared);
                }
                other => {
                    if let Ok(Parsed::Complete { head, .. }) = other {
                        self.bad_status = Some(head.status);
                    }
                    return Break(Turn::Ended(DownloadEnd::BadStatus));
                }
            }
        }
    }

    /// `early` are the bytes that came with the head.
    fn begin_body(
        &mut self,
        framing: BodyFraming,
        early: &[u8],
        shared: &Shared,
    ) -> ControlFlow<Turn> {
        let body = match shared.asked.begin(framing, early) {
            Ok(body) => body,
            Err(end) => return Break(Turn::Ended(end)),
        };
        self.bytes = self.before_body + body.payload();
        if body.is_done() {
            return Break(Turn::Ended(shared.asked.end_of(body.payload())));
        }
        if self.pace.is_none() {
            // Refused: it wakes us more often and acknowledges later, but reads all the same.
            let _ = low_water::set(&self.socket, mark(&body, shared.low_water));
        }
        self.stage = Stage::Body(body);
        Continue(())
    }

    fn body(&mut self, shared: &mut Shared, now: MonoNs) -> ControlFlow<Turn> {
        let Stage::Body(body) = &mut self.stage else { return Continue(()) };
        let mut budget = self.pace.as_mut().map_or(TURN, |bucket| bucket.allowed(now));
        let mut supply = Turn::Yields;
        while budget > 0 {
            let taken = match shared.drain.take(body, &self.socket, budget) {
                Ok(taken) => taken,
                Err(end) => return Break(Turn::Ended(end)),
            };
            self.bytes = self.before_body + body.payload();
            budget = budget.saturating_sub(taken.len() as u64);
            if let Some(bucket) = &mut self.pace {
                bucket.spend(taken.len() as u64);
            }
            if matches!(taken, Taken::Nothing | Taken::Short(_)) && !body.is_done() {
                // The peer may keep the connection open after the last byte: no end would wake a
                // reader that waits for more than there is to come.
                let mark = mark(body, shared.low_water);
                if self.pace.is_none() && mark < shared.low_water {
                    let _ = low_water::set(&self.socket, mark);
                }
            }
            match taken {
                Taken::Nothing => return Break(Turn::Waits),
                Taken::Closed => {
                    return Break(Turn::Ended(shared.asked.end_at_close(body)));
                }
                Taken::Broken => return Break(Turn::Ended(DownloadEnd::Reset)),
                Taken::Short(_) | Taken::Full(_) if body.is_done() => {
                    return Break(Turn::Ended(shared.asked.end_of(body.payload())));
                }
                Taken::Short(_) => {
                    supply = Turn::Drained;
                    break;
                }
                Taken::Full(_) => {}
            }
        }
        Break(self.pace.as_ref().map_or(supply, |bucket| Turn::Paced(bucket.due(now))))
    }

    fn close(&mut self, shared: &mut Shared, until: MonoNs, now: MonoNs) -> ControlFlow<Turn> {
        if now >= until {
            return Break(Turn::Gone);
        }
        Break(match shared.drain.discard(&self.socket, TURN) {
            Taken::Nothing => Turn::Paced(until),
            Taken::Closed | Taken::Broken => Turn::Gone,
            Taken::Short(_) | Taken::Full(_) => Turn::Yields,
        })
    }
}
