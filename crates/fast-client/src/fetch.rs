//! One fetch, from its start to its record.

use std::fmt;
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::net::{SocketAddr, TcpStream as StdTcpStream};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use http1::{Body, BodyFraming, HeadLimit, Method, Parsed, parse_response};
use net::clock;
use net::tcp::{Buffers, Dial};
use records::{Answers, Bytes, Connection, Fetch, FetchToggles, Micros, MonoNs, Outcome, Phase};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
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
    /// Head and body of the request.
    request: Arc<[u8]>,
}

/// The longest body of a request: each fetch sends it from memory.
const BODY: u64 = 16 << 20;

/// A fetch that is over.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) record: Fetch,
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
        // One object over one connection, and said so: the server need not wait for another.
        let mut request = asking.head(target, length, Connection::Close).into_bytes();
        request.extend(body.unwrap_or_default());
        Ok(Self {
            target,
            size: asking.answer_size(),
            answers: asking.whose(),
            cap: toggles.cap.as_duration(),
            phase,
            method: asking.method().into(),
            request: request.into(),
        })
    }

    /// Runs the `fetch`-th fetch; `intended` is absent where the real start is the intended one.
    pub(crate) async fn run(self, fetch: u64, intended: Option<MonoNs>) -> Ended {
        let deadline = tokio::time::Instant::now() + self.cap;
        let start = clock::now();
        let mut seen = Seen::new(start);
        let result = tokio::time::timeout_at(deadline, self.attempt(&mut seen)).await;
        let end = clock::now();
        let age = end.since(start);
        let (outcome, warning) = match result {
            // What came after the cap came too late, also if we were too late to say so.
            Err(_) => (seen.timeout(), None),
            Ok(_) if age > self.cap => (seen.timeout(), None),
            Ok(Ok(())) => (Outcome::Ok, None),
            Ok(Err(Failure::Answer(outcome))) => (outcome, None),
            Ok(Err(Failure::Socket(error))) => {
                let outcome = seen.outcome_of(error.kind());
                (outcome, (outcome == Outcome::LocalError).then(|| error.to_string()))
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
        Ended { record, warning }
    }

    /// Connects, asks and reads to the end, noting in `seen` how far it comes.
    async fn attempt(&self, seen: &mut Seen) -> Result<(), Failure> {
        let dial = Dial { addr: self.target, from: None, buffers: Buffers::default() };
        let socket = dial.start()?;
        // Known from here on, also if the handshake never ends.
        let local = socket.local_addr()?.as_socket();
        seen.port = local.map(|local| local.port());
        let mut stream = TcpStream::from_std(StdTcpStream::from(socket))?;
        stream.writable().await?;
        if let Some(error) = stream.take_error()? {
            return Err(error.into());
        }
        if local == Some(self.target) {
            // The kernel connected the socket to itself: nobody listens there.
            return Err(Failure::Answer(Outcome::Refused));
        }
        seen.connect = Some(seen.age());
        stream.write_all(&self.request).await?;
        self.read(stream, seen).await
    }

    async fn read(&self, mut stream: TcpStream, seen: &mut Seen) -> Result<(), Failure> {
        let mut buffer = Vec::with_capacity(READ);
        let framing = loop {
            if stream.read_buf(&mut buffer).await? == 0 {
                return Err(Failure::Answer(Outcome::ClosedEarly));
            }
            seen.first_byte = seen.first_byte.or_else(|| Some(seen.age()));
            if let Some(framing) = self.head(&mut buffer, seen)? {
                break framing;
            }
        };
        let mut body = Body::new(framing);
        loop {
            let advanced = body.advance(&buffer);
            seen.bytes = Bytes(body.payload());
            let done = advanced.map_err(|_| Failure::Answer(Outcome::BadStatus))?.done;
            if done {
                return self.whole(seen.bytes);
            }
            buffer.clear();
            if stream.read_buf(&mut buffer).await? == 0 {
                let enough = self.size.is_none_or(|size| seen.bytes >= size);
                if body.ends_at_close() && enough {
                    return self.whole(seen.bytes);
                }
                return Err(Failure::Answer(Outcome::ClosedEarly));
            }
        }
    }

    /// Takes the head of the right answer off `buffer`; `None`: it has not ended.
    fn head(&self, buffer: &mut Vec<u8>, seen: &mut Seen) -> Result<Option<BodyFraming>, Failure> {
        const WRONG: Failure = Failure::Answer(Outcome::BadStatus);
        loop {
            match parse_response(buffer, HeadLimit::default(), &self.method) {
                Ok(Parsed::Partial) => return Ok(None),
                Ok(Parsed::Complete { head, len }) => {
                    buffer.drain(..len);
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
                        Ok(Some(head.body))
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
