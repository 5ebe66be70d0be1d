//! One connection: its requests are read one after the other, each is worked on by the application behind
//! the origin, and answered.
//!
//! The application's default has neither delay nor limit: it costs nothing.

use std::io;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use http1::{BodyFraming, Method, RequestHead, error_response, parse_request};
use records::Bytes;
use tokio::io::{AsyncReadExt, AsyncWriteExt, Interest};
use tokio::net::TcpStream;
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::OriginOptions;
use crate::body::send;
use crate::request_log::{Asked, RequestLog};

/// An application server: its workers, and what each of them does before an answer's head.
#[derive(Debug)]
pub(crate) struct Application {
    /// In whole milliseconds, rounded up.
    delay: Duration,
    /// The delays begin so long after its first request.
    after: Duration,
    /// When that was.
    first: OnceLock<Instant>,
    workers: Semaphore,
    log: RequestLog,
}

impl Application {
    pub(crate) fn new(options: &OriginOptions, log: RequestLog) -> Self {
        let workers = options.workers.and_then(|workers| usize::try_from(workers).ok());
        Self {
            delay: options.delay.as_duration(),
            after: options.delay_after.as_duration(),
            first: OnceLock::new(),
            workers: Semaphore::new(workers.unwrap_or(Semaphore::MAX_PERMITS)),
            log,
        }
    }

    /// Waits until a worker is free, first come first served, and lets it delay its answer. Of a wait
    /// the log is told. The worker takes the next request when it is dropped.
    async fn work(&self, asked: &mut Asked<'_>) -> Option<SemaphorePermit<'_>> {
        let worker = match self.workers.try_acquire() {
            Ok(worker) => Some(worker),
            // Nobody closes it: all are taken.
            Err(_) => {
                asked.queued();
                let worker = self.workers.acquire().await.ok();
                asked.taken();
                worker
            }
        };
        if !self.delay.is_zero() && self.first.get_or_init(Instant::now).elapsed() >= self.after {
            tokio::time::sleep(self.delay).await;
        }
        worker
    }
}

/// Serves one connection to its end.
///
/// What was asked for is worked on and answered also when the client has closed its side, as applications do
/// that do not look at their sockets; only a reset ends that.
///
/// # Errors
/// How it ends is the client's own affair.
pub(crate) async fn serve(
    mut stream: TcpStream,
    from: u16,
    application: &Application,
) -> io::Result<()> {
    // As every server does; without it the connection still works.
    let _ = stream.set_nodelay(true);
    let mut read = Vec::with_capacity(1024);
    loop {
        let (request, len) = match parse_request(&read) {
            Ok(Some(whole)) => whole,
            Ok(None) if stream.read_buf(&mut read).await? > 0 => continue,
            Ok(None) => return Ok(()),
            Err(error) => return stream.write_all(&error_response(error.status())).await,
        };
        read.drain(..len);
        let mut asked = application.log.asked(from);
        let worker = tokio::select! {
            biased;
            worker = application.work(&mut asked) => worker,
            // EPOLLERR: the client has gone, and takes no answer.
            _ = stream.ready(Interest::ERROR) => return Ok(()),
        };
        let keeps = request.keeps_connection() && request.body == BodyFraming::Empty;
        let (head, size) = answer(&request, if keeps { "keep-alive" } else { "close" });
        asked.answered();
        send(&stream, head.as_bytes(), if request.method == Method::Head { 0 } else { size })
            .await?;
        // Busy until the kernel has taken the last byte.
        drop(worker);
        if !keeps {
            return Ok(());
        }
    }
}

/// The head of the answer to `request`, and the size of the body that it announces.
///
/// An error's body is empty: its status says it all, and a client that counts bytes is not misled.
fn answer(request: &RequestHead, connection: &str) -> (String, u64) {
    // The only resource: any number of bytes.
    let size = request.path().strip_prefix("/bytes/").map(str::parse);
    let (status, Bytes(size)) = match (size, &request.method) {
        (None, _) => ("404 Not Found", Bytes(0)),
        (Some(_), Method::Other(_)) => ("405 Method Not Allowed\r\nAllow: GET, HEAD", Bytes(0)),
        (Some(Err(_)), _) => ("400 Bad Request", Bytes(0)),
        (Some(Ok(size)), _) => ("200 OK\r\nContent-Type: application/octet-stream", size),
    };
    let head =
        format!("HTTP/1.1 {status}\r\nContent-Length: {size}\r\nConnection: {connection}\r\n\r\n");
    (head, size)
}
