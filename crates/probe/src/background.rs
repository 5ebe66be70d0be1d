//! A thread that goes on until it is told to end.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use crate::error::ProbeError;

/// Dropped, it is told to end, and waited for.
#[derive(Debug)]
pub(crate) struct Background {
    ends: Arc<AtomicBool>,
    thread: Option<JoinHandle<Result<(), ProbeError>>>,
}

impl Background {
    /// Runs `body`, which is to return soon when it is told to end. It may park meanwhile.
    pub(crate) fn start(
        name: &str,
        body: impl FnOnce(&AtomicBool) -> Result<(), ProbeError> + Send + 'static,
    ) -> Result<Self, ProbeError> {
        let ends = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&ends);
        let thread = thread::Builder::new().name(name.to_owned()).spawn(move || body(&told));
        let thread = thread.map_err(ProbeError::host("start a thread"))?;
        Ok(Self { ends, thread: Some(thread) })
    }

    /// Whether it goes on.
    pub(crate) fn goes_on(&self) -> bool {
        self.thread.as_ref().is_some_and(|thread| !thread.is_finished())
    }

    /// Tells it to end, and what came of it, once.
    pub(crate) fn end(&mut self) -> Result<(), ProbeError> {
        self.ends.store(true, Ordering::Relaxed);
        let Some(thread) = self.thread.take() else { return Ok(()) };
        thread.thread().unpark();
        let died = |_| Err(ProbeError::host("go on")(io::Error::other("a thread of it has died")));
        thread.join().unwrap_or_else(died)
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        let _ = self.end();
    }
}
