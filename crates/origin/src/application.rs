//! The application behind the answers: which answer a request gets, how long each is delayed, and how
//! many are worked on at a time.
//!
//! The default has neither delay nor limit: it costs nothing.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use http_body_util::Full;
use hyper::header::{ALLOW, CONTENT_LENGTH, CONTENT_TYPE, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use records::Bytes;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::body::Pattern;
use crate::request_log::Asked;

/// An application server: its workers, and what each of them does before an answer's head.
#[derive(Clone, Debug, Default)]
pub(crate) struct Application {
    delay: Duration,
    /// The delays begin so long after its first request.
    after: Duration,
    /// When that was.
    first: Arc<OnceLock<Instant>>,
    /// Absent: as many workers as there are requests.
    workers: Option<Arc<Semaphore>>,
}

impl Application {
    /// `workers` workers that wait for `delay` before each answer, in whole milliseconds, rounded up,
    /// from `after` their first request on.
    pub(crate) fn new(delay: Duration, after: Duration, workers: Option<u32>) -> Self {
        let workers = workers.map(|workers| Arc::new(Semaphore::new(workers as usize)));
        Self { delay, after, first: Arc::default(), workers }
    }

    /// Waits until a worker is free, first come first served, and lets it delay its answer: it is busy until
    /// its permit is dropped. Of a wait the log is told.
    pub(crate) async fn work(&self, asked: &mut Asked<'_>) -> Option<OwnedSemaphorePermit> {
        let permit = match &self.workers {
            None => None,
            Some(workers) => match Arc::clone(workers).try_acquire_owned() {
                Ok(permit) => Some(permit),
                // Nobody closes it: all are taken.
                Err(_) => {
                    asked.queued();
                    let permit = Arc::clone(workers).acquire_owned().await.ok();
                    asked.taken();
                    permit
                }
            },
        };
        if !self.delay.is_zero() && self.first.get_or_init(Instant::now).elapsed() >= self.after {
            tokio::time::sleep(self.delay).await;
        }
        permit
    }
}

/// The only resource: any number of bytes.
const PREFIX: &str = "/bytes/";

/// The answer to `request`, which `worker` has worked on; hyper leaves the body of a HEAD out.
///
/// An error's body is empty: its status says it all, and a client that counts bytes is not misled.
pub(crate) fn respond<B>(
    request: &Request<B>,
    worker: Option<OwnedSemaphorePermit>,
) -> Response<Full<Pattern>> {
    let (mut status, mut size, mut header) = (StatusCode::NOT_FOUND, Bytes(0), None);
    if let Some(asked) = request.uri().path().strip_prefix(PREFIX) {
        (status, size, header) = match (request.method(), asked.parse()) {
            (&Method::GET | &Method::HEAD, Ok(size)) => {
                (StatusCode::OK, size, Some((CONTENT_TYPE, "application/octet-stream")))
            }
            (&Method::GET | &Method::HEAD, Err(_)) => (StatusCode::BAD_REQUEST, size, header),
            _ => (StatusCode::METHOD_NOT_ALLOWED, size, Some((ALLOW, "GET, HEAD"))),
        };
    }
    let mut answer = Response::new(Full::new(Pattern::new(size, worker)));
    *answer.status_mut() = status;
    // Said here and not left to hyper, so that a HEAD and a body of nothing tell it too.
    answer.headers_mut().insert(CONTENT_LENGTH, HeaderValue::from(size.0));
    let header = header.map(|(name, value)| (name, HeaderValue::from_static(value)));
    answer.headers_mut().extend(header);
    answer
}
