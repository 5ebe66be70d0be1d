//! The role of a trial that watches workers from outside: until it is told to stop, it prints what it is
//! told.

use std::io;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use net::role::{self, RoleOptions};
use net::stop::{self, Next};
use records::{Effective, Micros, Ready, Record, Role, TraceMode};
use serde::{Deserialize, Serialize};

use crate::error::ProbeError;
use crate::target::{Target, targets};
use crate::tracer::{ATTACHED_WITHIN, Tracer, means};

/// How often it is looked whether any worker is left.
const LOOK: Duration = Duration::from_millis(200);

/// The longest that [`run`] takes until it is ready, or says why it is not.
pub const READY_WITHIN: Duration = ATTACHED_WITHIN.saturating_add(ATTACHED_WITHIN);

/// Who is watched, and how.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TraceOptions {
    /// The workers: threads, by their ids.
    pub pid: Vec<u32>,
    /// How to watch.
    pub trace: TraceMode,
    /// Tell steps and loop turns from this length on one by one.
    pub hold: Micros,
    /// What every role has.
    pub role: RoleOptions,
}

/// Watches the workers that `options` names and prints their records on standard output, until
/// SIGINT, SIGTERM, or the end of the last worker.
///
/// # Errors
/// See [`ProbeError`].
pub fn run(options: &TraceOptions) -> Result<(), ProbeError> {
    let set_up = || ProbeError::host("set up the process");
    options.role.enter().map_err(set_up())?;
    let targets = targets(&options.pid)?;
    let Some(means) = means(options.trace)? else { return Ok(()) };
    let (news, inbox) = mpsc::channel();
    let stopper = news.clone();
    stop::on_signal(move |_| {
        let _ = stopper.send(Ok(()));
        Next::Done
    })
    .map_err(set_up())?;
    let tracer = Tracer::attach(&targets, means, options.hold, move |record| {
        if let Err(error) = role::print(&record) {
            let _ = news.send(Err(error));
        }
    })?;
    let ready = Ready::new(Role::Trace, std::process::id(), Effective::default());
    role::print(&Record::Ready(ready)).map_err(ProbeError::Records)?;
    let ended: io::Result<()> = loop {
        match inbox.recv_timeout(LOOK) {
            Ok(ended) => break ended,
            Err(RecvTimeoutError::Timeout) if targets.iter().any(Target::is_there) => {}
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break Ok(()),
        }
    };
    let stopped = tracer.stop();
    ended.map_err(ProbeError::Records).and(stopped)
}
