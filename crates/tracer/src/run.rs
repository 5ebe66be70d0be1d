//! `trace`: watches until it is told to stop, and prints what it is told.

use std::io;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use net::role;
use net::stop::{self, Next};
use records::{Effective, Ready, Record, Role};

use crate::error::TracerError;
use crate::means::means;
use crate::options::TracerOptions;
use crate::tracer::{Target, Tracer};
use crate::workers::{self, Which};

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
/// See [`TracerError`].
pub fn run(options: &TracerOptions) -> Result<(), TracerError> {
    options.role.enter().map_err(TracerError::Process)?;
    let targets = named(options)?;
    let Some(means) = means(options.trace)? else { return Err(TracerError::NoTarget) };
    let (news, inbox) = mpsc::channel();
    let stopper = news.clone();
    stop::on_signal(move |_| {
        let _ = stopper.send(News::Stop);
        Next::Done
    })
    .map_err(TracerError::Process)?;
    let tracer = Tracer::attach(&targets, means, options.hold, move |record| {
        if let Err(error) = role::print(&record) {
            let _ = news.send(News::Unheard(error));
        }
    })?;
    let ready = Ready::new(Role::Trace, std::process::id(), Effective::default());
    role::print(&Record::Ready(ready)).map_err(TracerError::Records)?;
    let until = options.duration.map(|length| Instant::now() + length.as_duration());
    let ended = loop {
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        match inbox.recv_timeout(left.unwrap_or(LOOK).min(LOOK)) {
            Ok(News::Unheard(error)) => break Err(TracerError::Records(error)),
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

fn named(options: &TracerOptions) -> Result<Vec<Target>, TracerError> {
    let targets = if options.worker.is_empty() {
        let which = if options.threads { Which::Polling } else { Which::Main };
        workers::targets(&options.pid, which)?
    } else {
        workers::targets(&options.worker, Which::Itself)?
    };
    if targets.is_empty() { Err(TracerError::NoTarget) } else { Ok(targets) }
}
