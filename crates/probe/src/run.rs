//! `trace`: watches until it is told to stop, and prints what it is told.

use std::io;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use net::role;
use net::stop::{self, Next};
use records::{Effective, Ready, Record, Role};

use crate::error::ProbeError;
use crate::options::TraceOptions;
use crate::tracer::{Tracer, means};
use crate::workers;

/// How often it is looked whether any worker is left.
const LOOK: Duration = Duration::from_millis(200);

/// What the main thread waits for.
enum News {
    Stop,
    Unheard(io::Error),
}

/// Watches the workers that `options` names and prints their records on standard output, until
/// SIGINT, SIGTERM, the end of the duration or of the last worker.
///
/// # Errors
/// See [`ProbeError`].
pub fn run(options: &TraceOptions) -> Result<(), ProbeError> {
    options.role.enter().map_err(ProbeError::Process)?;
    let targets = workers::targets(&options.pid)?;
    let Some(means) = means(options.trace)? else { return Err(ProbeError::NoTarget) };
    let (news, inbox) = mpsc::channel();
    let stopper = news.clone();
    stop::on_signal(move |_| {
        let _ = stopper.send(News::Stop);
        Next::Done
    })
    .map_err(ProbeError::Process)?;
    let tracer = Tracer::attach(&targets, means, options.hold, move |record| {
        if let Err(error) = role::print(&record) {
            let _ = news.send(News::Unheard(error));
        }
    })?;
    let ready = Ready::new(Role::Trace, std::process::id(), Effective::default());
    role::print(&Record::Ready(ready)).map_err(ProbeError::Records)?;
    let until = options.duration.map(|length| Instant::now() + length.as_duration());
    let ended = loop {
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        match inbox.recv_timeout(left.unwrap_or(LOOK).min(LOOK)) {
            Ok(News::Unheard(error)) => break Err(ProbeError::Records(error)),
            Ok(News::Stop) | Err(RecvTimeoutError::Disconnected) => break Ok(()),
            Err(RecvTimeoutError::Timeout) => {}
        }
        if left.is_some_and(|left| left.is_zero()) || !targets.iter().any(workers::is_there) {
            break Ok(());
        }
    };
    let stopped = tracer.stop();
    ended.and(stopped)
}
