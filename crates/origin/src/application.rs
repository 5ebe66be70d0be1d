//! The application behind the answers: how long it delays each, and how many it works on at a time.
//!
//! The default has neither delay nor limit: it costs nothing.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// An application server: its workers, and what each of them does before an answer's head.
#[derive(Clone, Debug, Default)]
pub(crate) struct Application {
    delay: Duration,
    sets_in: SetsIn,
    /// Absent: as many workers as there are requests.
    workers: Option<Arc<Semaphore>>,
}

/// When the delays begin.
#[derive(Clone, Debug, Default)]
struct SetsIn {
    /// So long after its first request.
    after: Duration,
    /// When that was.
    first: Arc<OnceLock<Instant>>,
}

/// A worker at its request. Dropped, it takes the next one.
#[derive(Debug, Default)]
pub(crate) struct Worker {
    /// Held for its drop alone; absent where workers are not counted.
    _permit: Option<OwnedSemaphorePermit>,
}

impl Application {
    /// `workers` workers that wait for `delay` before each answer, in whole milliseconds, rounded up,
    /// from `after` their first request on.
    pub(crate) fn new(delay: Duration, after: Duration, workers: Option<u32>) -> Self {
        // On the 16-bit machine where this saturates there is no such crowd.
        let count = |workers| usize::try_from(workers).unwrap_or(Semaphore::MAX_PERMITS);
        let workers = workers.map(|workers| Arc::new(Semaphore::new(count(workers))));
        Self { delay, sets_in: SetsIn { after, first: Arc::default() }, workers }
    }

    /// Waits until a worker is free, first come first served, and lets it delay its answer.
    pub(crate) async fn work(&self) -> Worker {
        let permit = match &self.workers {
            // An error tells of a closed semaphore, and nobody closes this one.
            Some(workers) => Arc::clone(workers).acquire_owned().await.ok(),
            None => None,
        };
        if !self.delay.is_zero() && self.sets_in.is_due() {
            tokio::time::sleep(self.delay).await;
        }
        Worker { _permit: permit }
    }
}

impl SetsIn {
    fn is_due(&self) -> bool {
        self.first.get_or_init(Instant::now).elapsed() >= self.after
    }
}
