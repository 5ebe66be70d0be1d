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

use http1::{Answer, State, Wanted};
use net::clock;
use net::tcp::{Buffers, Dial};
use records::{Bytes, Connection, Fetch, FetchToggles, Micros, MonoNs, Outcome, Phase};
use tokio::io::{AsyncRead, AsyncWriteExt, ReadBuf};
use tokio::net::TcpStream;

#[cfg(test)]
pub(crate) mod tests;

/// Bytes offered to one read of the answer.
const READ: usize = 256 * 1024;

/// What every fetch of a run has in common.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    target: SocketAddr,
    wanted: Wanted,
    cap: Duration,
    phase: Phase,
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
            wanted: Wanted {
                method: asking.method().to_owned(),
                own: asking.line.is_some(),
                size: asking.answer_size().map(|size| size.0),
            },
            cap: toggles.cap.as_duration(),
            phase,
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
        let start_ns = clock::now();
        let (phase, intended_ns) = (self.phase, intended.unwrap_or(start_ns));
        let mut record = Fetch { fetch, phase, intended_ns, start_ns, ..Fetch::default() };
        // What is in the record outlives the attempt that is dropped at the cap.
        let result = tokio::time::timeout_at(deadline, self.attempt(kept, &mut record)).await;
        let end = clock::now();
        let age = end.since(start_ns);
        (record.total_us, record.response_us) = (age.into(), end.micros_since(record.intended_ns));
        let (mut kept, mut warning) = (None, None);
        match result {
            Ok(Ok(stream)) if age <= self.cap => kept = stream,
            Ok(Err(error)) if age <= self.cap => {
                record.outcome = outcome_of(error.kind(), &record);
                warning = (record.outcome == Outcome::LocalError).then(|| error.to_string());
            }
            // What came after the cap came too late, also if we were too late to say so.
            _ => record.outcome = timeout(&record),
        }
        Ended { record, kept, warning }
    }

    /// Connects where there is no connection, asks and reads to the end, noting in `seen` how far it comes.
    /// What is left is the connection, if it may be used again.
    async fn attempt(
        &self,
        kept: Option<TcpStream>,
        seen: &mut Fetch,
    ) -> io::Result<Option<TcpStream>> {
        if let Some(stream) = kept {
            seen.client_port = stream.local_addr().ok().map(|local| local.port());
            seen.connect_us = Some(Micros(0));
            let ended = self.exchange(stream, seen).await;
            let again = matches!(self.wanted.method.as_str(), "GET" | "HEAD");
            if ended.is_ok() || seen.first_byte_us.is_some() || !again {
                return ended;
            }
            // The server had closed it before it saw the request. What changes nothing is asked again, as
            // RFC 9112, 9.3.1, has it.
            seen.connect_us = None;
        }
        let stream = self.dial(seen).await?;
        self.exchange(stream, seen).await
    }

    async fn dial(&self, seen: &mut Fetch) -> io::Result<TcpStream> {
        let dial = Dial { addr: self.target, from: None, buffers: Buffers::default() };
        let socket = dial.start()?;
        // Known from here on, also if the handshake never ends.
        let local = socket.local_addr()?.as_socket();
        seen.client_port = local.map(|local| local.port());
        let stream = TcpStream::from_std(StdTcpStream::from(socket))?;
        stream.writable().await?;
        if let Some(error) = stream.take_error()? {
            return Err(error);
        }
        if local == Some(self.target) {
            // The kernel connected the socket to itself: nobody listens there.
            return Err(ErrorKind::ConnectionRefused.into());
        }
        seen.connect_us = Some(age(seen));
        Ok(stream)
    }

    /// Asks, and reads the answer. One that is not what was wanted is [`ErrorKind::InvalidData`].
    async fn exchange(
        &self,
        mut stream: TcpStream,
        seen: &mut Fetch,
    ) -> io::Result<Option<TcpStream>> {
        stream.write_all(&self.request).await?;
        let mut answer = Answer::to(self.wanted.clone());
        loop {
            let mut state = State::More;
            let read = self.read(&mut stream, |read| {
                seen.first_byte_us = seen.first_byte_us.or_else(|| Some(age(seen)));
                state = answer.advance(read);
            });
            let end = read.await? == 0;
            if end {
                state = answer.closed();
            }
            seen.status = answer.status();
            seen.bytes = Bytes(answer.payload());
            match state {
                State::More if end => return Err(ErrorKind::UnexpectedEof.into()),
                State::More => {}
                State::Unwanted => return Err(ErrorKind::InvalidData.into()),
                State::Whole | State::Overrun => {
                    let keeps = answer.keeps_connection() && !end && state == State::Whole;
                    return Ok(
                        (keeps && self.connection == Connection::KeepAlive).then_some(stream)
                    );
                }
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

fn age(fetch: &Fetch) -> Micros {
    clock::now().micros_since(fetch.start_ns)
}

/// What hitting the cap is called where the fetch is.
const fn timeout(fetch: &Fetch) -> Outcome {
    match (fetch.connect_us, fetch.first_byte_us) {
        (None, _) => Outcome::TimeoutConnect,
        (Some(_), None) => Outcome::TimeoutNoByte,
        (Some(_), Some(_)) => Outcome::TimeoutPartial,
    }
}

/// What a failed system call, or an answer that is none, is to whoever counts outcomes, where the fetch is. By
/// the kind of the error, never by its words.
fn outcome_of(kind: ErrorKind, fetch: &Fetch) -> Outcome {
    match kind {
        ErrorKind::ConnectionRefused => Outcome::Refused,
        ErrorKind::UnexpectedEof => Outcome::ClosedEarly,
        ErrorKind::InvalidData => Outcome::BadStatus,
        // EPIPE: a write after the peer's reset was already told.
        ErrorKind::ConnectionReset
        | ErrorKind::ConnectionAborted
        | ErrorKind::BrokenPipe
        | ErrorKind::NotConnected => Outcome::Reset,
        // tcp(7): the kernel gave up sending before our cap.
        ErrorKind::TimedOut => timeout(fetch),
        // EMFILE, ENFILE, ENOBUFS, ENOMEM, EADDRNOTAVAIL, EACCES, ENETUNREACH, ...
        _ => Outcome::LocalError,
    }
}
