//! One fetch, from its start to its record.

use std::convert::Infallible;
use std::future::pending;
use std::net::{SocketAddr, TcpStream as StdTcpStream};
use std::sync::OnceLock;
use std::time::Duration;

use bytes::Bytes as Data;
use http_body_util::{BodyExt, Empty};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper::header::{ACCEPT_ENCODING, CONNECTION, CONTENT_LENGTH, HOST, TRANSFER_ENCODING};
use hyper::{Request, Response, StatusCode, http};
use hyper_util::rt::TokioIo;
use net::clock;
use net::tcp::{Buffers, Dial};
use records::{Bytes, Coding, Fetch, FetchToggles, Micros, MonoNs, Outcome, Phase};
use tokio::net::TcpStream;

use crate::outcome::{Failure, Reached};
use crate::watched::{FirstByte, Watched};

/// Bytes offered to one read of the answer.
const READ: usize = 256 * 1024;

/// What every fetch of a run has in common.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    target: SocketAddr,
    /// How long the answer must be, if that is known.
    size: Option<Bytes>,
    cap: Duration,
    phase: Phase,
    request: Request<Empty<Data>>,
}

/// A fetch that is over.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) record: Fetch,
    /// What this host said, if the outcome is [`Outcome::LocalError`].
    pub(crate) complaint: Option<String>,
}

impl Plan {
    /// # Errors
    /// Never, for a target that is an address: it makes a valid `Host`.
    pub(crate) fn new(
        target: SocketAddr,
        toggles: &FetchToggles,
        phase: Phase,
    ) -> Result<Self, http::Error> {
        let FetchToggles { fetch_size: size, cap, fetch_coding, .. } = *toggles;
        // One object over one connection, and said so: the server need not wait for another.
        let request = Request::get(format!("/bytes/{}", size.exact()))
            .header(HOST, target.to_string())
            .header(CONNECTION, "close");
        let (request, size) = match fetch_coding {
            Coding::Identity => (request, Some(size)),
            // Nobody knows how long it will be; the framing tells whether it is whole.
            Coding::Gzip => (request.header(ACCEPT_ENCODING, "gzip"), None),
        };
        let request = request.body(Empty::new())?;
        Ok(Self { target, size, cap: cap.as_duration(), phase, request })
    }

    /// Runs the `fetch`-th fetch; `intended` is absent where the real start is the intended one.
    pub(crate) async fn run(self, fetch: u64, intended: Option<MonoNs>) -> Ended {
        let deadline = tokio::time::Instant::now() + self.cap;
        let start = clock::now();
        let mut seen = Seen::new(start);
        let result = tokio::time::timeout_at(deadline, self.attempt(&mut seen)).await;
        let end = clock::now();
        let age = end.since(start);
        let (outcome, complaint) = match result {
            // What came after the cap came too late, also if we were too late to say so.
            Err(_) => (seen.reached().timeout(), None),
            Ok(_) if age > self.cap => (seen.reached().timeout(), None),
            Ok(Ok(())) => (Outcome::Ok, None),
            Ok(Err(failure)) => {
                let outcome = failure.outcome(seen.reached());
                let complaint = (outcome == Outcome::LocalError).then(|| failure.to_string());
                (outcome, complaint)
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
            first_byte_us: seen.first_byte.at().map(|at| at.micros_since(start)),
            total_us: age.into(),
            response_us: end.micros_since(intended),
            bytes: seen.bytes,
            status: seen.status,
            outcome,
        };
        Ended { record, complaint }
    }

    /// Connects, asks and reads to the end, noting in `seen` how far it comes.
    async fn attempt(&self, seen: &mut Seen) -> Result<(), Failure> {
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
            return Err(Failure::SelfConnected);
        }
        seen.connect = Some(seen.age());
        self.exchange(stream, seen).await
    }

    /// Sends the request and reads the answer, with hyper's connection running in this very task.
    async fn exchange(&self, stream: TcpStream, seen: &mut Seen) -> Result<(), Failure> {
        let io = TokioIo::new(Watched::new(stream, seen.first_byte.clone()));
        let (mut sender, connection) = http1::Builder::new()
            .read_buf_exact_size(Some(READ))
            .handshake::<_, Empty<Data>>(io)
            .await?;
        // The connection knows best why it broke; the other side only learns that it did.
        let broken = OnceLock::new();
        let drive = async {
            if let Err(error) = connection.await {
                let _ = broken.set(error);
            }
            // The body may still have to be taken from it.
            pending::<Infallible>().await
        };
        let ask = async {
            let answer = sender.send_request(self.request.clone()).await?;
            self.read(answer, seen).await
        };
        let result = tokio::select! {
            biased;
            never = drive => match never {},
            result = ask => result,
        };
        result.map_err(|failure| match broken.into_inner() {
            Some(error) => error.into(),
            None => failure,
        })
    }

    async fn read(&self, answer: Response<Incoming>, seen: &mut Seen) -> Result<(), Failure> {
        seen.status = Some(answer.status().as_u16());
        let length = answer.headers().get(CONTENT_LENGTH);
        let length = length.map(|value| value.to_str().ok().and_then(|text| text.parse().ok()));
        let wrong_length = length.is_some_and(|length: Option<u64>| match self.size {
            Some(size) => length != Some(size.0),
            None => length.is_none(),
        });
        if answer.status() != StatusCode::OK || wrong_length {
            return Err(Failure::WrongAnswer);
        }
        let framed = length.is_some() || answer.headers().contains_key(TRANSFER_ENCODING);
        let mut body = answer.into_body();
        while let Some(frame) = body.frame().await {
            if let Some(data) = frame?.data_ref() {
                seen.bytes += Bytes(data.len() as u64);
            }
        }
        match (seen.bytes, self.size) {
            // hyper has seen the end that the framing names.
            (_, None) if framed => Ok(()),
            (all, Some(size)) if all == size => Ok(()),
            // Only the close said where it ends.
            (part, Some(size)) if part < size && !framed => Err(Failure::CutAnswer),
            _ => Err(Failure::WrongAnswer),
        }
    }
}

/// How far a fetch came; it outlives the attempt that is dropped at the cap.
#[derive(Debug)]
struct Seen {
    start: MonoNs,
    port: Option<u16>,
    connect: Option<Micros>,
    first_byte: FirstByte,
    status: Option<u16>,
    bytes: Bytes,
}

impl Seen {
    fn new(start: MonoNs) -> Self {
        Self {
            start,
            port: None,
            connect: None,
            first_byte: FirstByte::default(),
            status: None,
            bytes: Bytes(0),
        }
    }

    fn age(&self) -> Micros {
        clock::now().micros_since(self.start)
    }

    fn reached(&self) -> Reached {
        if self.first_byte.at().is_some() {
            Reached::Answer
        } else if self.connect.is_some() {
            Reached::Waiting
        } else {
            Reached::Connecting
        }
    }
}
