//! One fetch, from its start to its record.

use std::fmt;
use std::fs::File;
use std::future::poll_fn;
use std::io::{self, ErrorKind, Read};
use std::net::{SocketAddr, TcpStream as StdTcpStream};
use std::path::Path;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Poll, ready};
use std::time::Duration;

use http1::{Body, BodyFraming, HeadLimit, Method, Parsed, ResponseHead, parse_response};
use net::clock;
use net::tcp::{Buffers, Dial};
use records::{Answers, Bytes, Connection, Fetch, FetchToggles, Micros, MonoNs, Outcome, Phase};
use tokio::io::{AsyncRead, AsyncWriteExt, ReadBuf};
use tokio::net::TcpStream;

#[cfg(test)]
mod tests;

/// Bytes offered to one read of the answer.
const READ: usize = 256 * 1024;

/// What every fetch of a run has in common.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    target: SocketAddr,
    /// How long the answer must be, if that is known.
    size: Option<Bytes>,
    answers: Answers,
    cap: Duration,
    phase: Phase,
    method: Method,
    /// Whether a connection is for one fetch.
    connection: Connection,
    /// Head and body of the request.
    request: Arc<[u8]>,
    /// All fetches read into the same bytes, so that they stay in the CPU's cache. They have one thread, and
    /// no fetch keeps it while it waits.
    buffer: Arc<Mutex<Box<[u8]>>>,
}

/// The longest body of a request: each fetch sends it from memory.
const BODY: u64 = 16 << 20;

/// A fetch that is over.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) record: Fetch,
    /// Its connection, if the next fetch may have it.
    pub(crate) kept: Option<TcpStream>,
    /// What this host said, if the outcome is [`Outcome::LocalError`].
    pub(crate) warning: Option<String>,
}

/// Why a fetch failed before its cap.
#[derive(Debug)]
enum Failure {
    /// The answer, or the lack of one.
    Answer(Outcome),
    /// A system call.
    Socket(io::Error),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Socket(error)
    }
}

impl Plan {
    /// # Errors
    /// The body that is to be sent cannot be read, or is too long.
    pub(crate) fn new(
        target: SocketAddr,
        toggles: &FetchToggles,
        phase: Phase,
    ) -> io::Result<Self> {
        let asking = toggles.asking();
        let body = asking.body.map(read_body).transpose()?;
        let length = body.as_ref().map(|body| Bytes(body.len() as u64));
        // One object over one connection is said so: the server need not wait for another.
        let connection = if toggles.keep_alive { Connection::KeepAlive } else { Connection::Close };
        let mut request = asking.head(target, length, connection).into_bytes();
        request.extend(body.unwrap_or_default());
        Ok(Self {
            target,
            size: asking.answer_size(),
            answers: asking.whose(),
            cap: toggles.cap.as_duration(),
            phase,
            method: asking.method().into(),
            connection,
            request: request.into(),
            buffer: Arc::new(Mutex::new(vec![0; READ].into())),
        })
    }

    /// Runs the `fetch`-th fetch, over the connection that is `kept` if there is one; `intended` is absent
    /// where the real start is the intended one.
    pub(crate) async fn run(
        self,
        fetch: u64,
        intended: Option<MonoNs>,
        kept: Option<TcpStream>,
    ) -> Ended {
        let deadline = tokio::time::Instant::now() + self.cap;
        let start = clock::now();
        let mut seen = Seen::new(start);
        let result = tokio::time::timeout_at(deadline, self.attempt(kept, &mut seen)).await;
        let end = clock::now();
        let age = end.since(start);
        let mut warning = None;
        let (outcome, kept) = match result {
            // What came after the cap came too late, also if we were too late to say so.
            Err(_) => (seen.timeout(), None),
            Ok(_) if age > self.cap => (seen.timeout(), None),
            Ok(Ok(kept)) => (Outcome::Ok, kept),
            Ok(Err(Failure::Answer(outcome))) => (outcome, None),
            Ok(Err(Failure::Socket(error))) => {
                let outcome = seen.outcome_of(error.kind());
                warning = (outcome == Outcome::LocalError).then(|| error.to_string());
                (outcome, None)
            }
        };
        let intended = intended.unwrap_or(start);
        let record = Fetch {
            fetch,
            phase: self.phase,
            intended_ns: intended,
            start_ns: start,
            client_port: seen.port,
            connect_us: seen.connect,
            first_byte_us: seen.first_byte,
            total_us: age.into(),
            response_us: end.micros_since(intended),
            bytes: seen.bytes,
            status: seen.status,
            outcome,
        };
        Ended { record, kept, warning }
    }

    /// Connects where there is no connection, asks and reads to the end, noting in `seen` how far it comes.
    /// What is left is the connection, if it may be used again.
    async fn attempt(
        &self,
        kept: Option<TcpStream>,
        seen: &mut Seen,
    ) -> Result<Option<TcpStream>, Failure> {
        if let Some(stream) = kept {
            seen.port = stream.local_addr().ok().map(|local| local.port());
            seen.connect = Some(Micros(0));
            let ended = self.exchange(stream, seen).await;
            let again = matches!(self.method, Method::Get | Method::Head);
            if ended.is_ok() || seen.first_byte.is_some() || !again {
                return ended;
            }
            // The server had closed it before it saw the request. What changes nothing is asked again, as
            // RFC 9112, 9.3.1, has it.
            seen.connect = None;
        }
        let stream = self.dial(seen).await?;
        self.exchange(stream, seen).await
    }

    async fn dial(&self, seen: &mut Seen) -> Result<TcpStream, Failure> {
        let dial = Dial { addr: self.target, from: None, buffers: Buffers::default() };
        let socket = dial.start()?;
        // Known from here on, also if the handshake never ends.
        let local = socket.local_addr()?.as_socket();
        seen.port = local.map(|local| local.port());
        let stream = TcpStream::from_std(StdTcpStream::from(socket))?;
        stream.writable().await?;
        if let Some(error) = stream.take_error()? {
            return Err(error.into());
        }
        if local == Some(self.target) {
            // The kernel connected the socket to itself: nobody listens there.
            return Err(Failure::Answer(Outcome::Refused));
        }
        seen.connect = Some(seen.age());
        Ok(stream)
    }

    /// Asks, and reads the answer.
    async fn exchange(
        &self,
        mut stream: TcpStream,
        seen: &mut Seen,
    ) -> Result<Option<TcpStream>, Failure> {
        stream.write_all(&self.request).await?;
        // Most heads come in one piece, with much of the body behind them, and are read where they are.
        let mut parts = Vec::new();
        let mut answer = loop {
            let mut begun = Ok(None);
            let read = self.read(&mut stream, |read| {
                seen.first_byte = seen.first_byte.or_else(|| Some(seen.age()));
                if parts.is_empty() {
                    begun = self.begin(read, seen);
                }
                if !parts.is_empty() || matches!(begun, Ok(None)) {
                    parts.extend_from_slice(read);
                    begun = self.begin(&parts, seen);
                }
            });
            if read.await? == 0 {
                return Err(Failure::Answer(Outcome::ClosedEarly));
            }
            if let Some(answer) = begun? {
                break answer;
            }
        };
        loop {
            seen.bytes = Bytes(answer.body.payload());
            match answer.state {
                State::Whole | State::Overrun => {
                    self.whole(seen.bytes)?;
                    let keeps = [answer.server, self.connection] == [Connection::KeepAlive; 2];
                    return Ok((keeps && answer.state == State::Whole).then_some(stream));
                }
                State::Wrong => return Err(Failure::Answer(Outcome::BadStatus)),
                State::More => {}
            }
            if self.read(&mut stream, |read| answer.advance(read)).await? == 0 {
                let enough = self.size.is_none_or(|size| seen.bytes >= size);
                if answer.body.ends_at_close() && enough {
                    return self.whole(seen.bytes).map(|()| None);
                }
                return Err(Failure::Answer(Outcome::ClosedEarly));
            }
        }
    }

    /// Gives what comes next to `take`, and says how much that was: nothing, if the peer has closed.
    async fn read(&self, stream: &mut TcpStream, mut take: impl FnMut(&[u8])) -> io::Result<usize> {
        poll_fn(|context| {
            let mut buffer = self.buffer.lock().unwrap_or_else(PoisonError::into_inner);
            let mut read = ReadBuf::new(&mut buffer);
            ready!(Pin::new(&mut *stream).poll_read(context, &mut read))?;
            if !read.filled().is_empty() {
                take(read.filled());
            }
            Poll::Ready(Ok(read.filled().len()))
        })
        .await
    }

    /// Begins to read the answer of which `bytes` are the first; `None`: its head has not ended.
    fn begin(&self, mut bytes: &[u8], seen: &mut Seen) -> Result<Option<Answer>, Failure> {
        const WRONG: Failure = Failure::Answer(Outcome::BadStatus);
        loop {
            match parse_response(bytes, HeadLimit::default(), &self.method) {
                Ok(Parsed::Partial) => return Ok(None),
                Ok(Parsed::Complete { head, len }) => {
                    bytes = &bytes[len..];
                    if head.is_interim() {
                        continue;
                    }
                    seen.status = Some(head.status);
                    let fits = match (head.body, self.size) {
                        (BodyFraming::Length(length), Some(size)) => length == size.0,
                        (BodyFraming::Empty, Some(size)) => size == Bytes(0),
                        // Only the close would say where it ends, and nobody knows where it should.
                        (BodyFraming::UntilClose, None) => self.answers == Answers::Own,
                        _ => true,
                    };
                    return if self.answers.may_have(head.status) && fits {
                        Ok(Some(Answer::begun(&head, bytes)))
                    } else {
                        Err(WRONG)
                    };
                }
                Err(_) => return Err(WRONG),
            }
        }
    }

    /// A body of so many bytes has come to its end.
    fn whole(&self, bytes: Bytes) -> Result<(), Failure> {
        match self.size {
            Some(size) if size != bytes => Err(Failure::Answer(Outcome::BadStatus)),
            _ => Ok(()),
        }
    }
}

fn read_body(path: &Path) -> io::Result<Vec<u8>> {
    let failed = |why: &dyn fmt::Display| {
        io::Error::other(format!("--fetch-body {}: {why}", path.display()))
    };
    let file = File::open(path).map_err(|error| failed(&error))?;
    let mut body = Vec::new();
    file.take(BODY + 1).read_to_end(&mut body).map_err(|error| failed(&error))?;
    if body.len() as u64 > BODY { Err(failed(&"it has more than 16 MiB")) } else { Ok(body) }
}

/// An answer of which the head has come.
struct Answer {
    /// Whether the server keeps the connection (RFC 9112, 9.3).
    server: Connection,
    body: Body,
    state: State,
}

/// How far a body is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    More,
    Whole,
    /// Whole, and what nobody asked for came with its end.
    Overrun,
    /// Its framing is no framing.
    Wrong,
}

impl Answer {
    fn begun(head: &ResponseHead, first: &[u8]) -> Self {
        let options = head.headers.all("connection").flat_map(|value| value.split(|b| *b == b','));
        let closes = options.map(<[u8]>::trim_ascii).any(|o| o.eq_ignore_ascii_case(b"close"));
        let keeps = head.version == http1::Version::Http11 && !closes;
        let server = if keeps { Connection::KeepAlive } else { Connection::Close };
        let mut answer = Self { server, body: Body::new(head.body), state: State::More };
        answer.advance(first);
        answer
    }

    fn advance(&mut self, bytes: &[u8]) {
        self.state = match self.body.advance(bytes) {
            Ok(advance) if advance.done && advance.take == bytes.len() => State::Whole,
            Ok(advance) if advance.done => State::Overrun,
            Ok(_) => State::More,
            Err(_) => State::Wrong,
        };
    }
}

/// How far a fetch came; it outlives the attempt that is dropped at the cap.
#[derive(Debug)]
struct Seen {
    start: MonoNs,
    port: Option<u16>,
    connect: Option<Micros>,
    first_byte: Option<Micros>,
    status: Option<u16>,
    bytes: Bytes,
}

impl Seen {
    const fn new(start: MonoNs) -> Self {
        Self { start, port: None, connect: None, first_byte: None, status: None, bytes: Bytes(0) }
    }

    fn age(&self) -> Micros {
        clock::now().micros_since(self.start)
    }

    /// What hitting the cap here is called.
    const fn timeout(&self) -> Outcome {
        match (self.connect, self.first_byte) {
            (None, _) => Outcome::TimeoutConnect,
            (Some(_), None) => Outcome::TimeoutNoByte,
            (Some(_), Some(_)) => Outcome::TimeoutPartial,
        }
    }

    /// What a failed system call here is to whoever counts outcomes. By the kind of the error, never by
    /// its words.
    fn outcome_of(&self, kind: ErrorKind) -> Outcome {
        match kind {
            ErrorKind::ConnectionRefused => Outcome::Refused,
            // EPIPE: a write after the peer's reset was already told.
            ErrorKind::ConnectionReset
            | ErrorKind::ConnectionAborted
            | ErrorKind::BrokenPipe
            | ErrorKind::NotConnected => Outcome::Reset,
            // tcp(7): the kernel gave up sending before our cap.
            ErrorKind::TimedOut => self.timeout(),
            // EMFILE, ENFILE, ENOBUFS, ENOMEM, EADDRNOTAVAIL, EACCES, ENETUNREACH, ...
            _ => Outcome::LocalError,
        }
    }
}
