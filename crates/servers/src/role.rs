//! What the parts of the role share: what there is before the program starts, and what there is once it runs.

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender};

use probe::Tracer;

use crate::access_log::{AccessLog, Follower};
use crate::check::Prepared;
use crate::configuration::Setting;
use crate::content::LocalFiles;
use crate::error::ServerError;
use crate::options::ServerOptions;
use crate::program::{Event, Program};
use crate::workers::Workers;

/// What there is before the program starts.
pub(crate) struct Run<'a> {
    pub(crate) options: &'a ServerOptions,
    pub(crate) setting: Setting<'a>,
    pub(crate) prepared: &'a Prepared,
    pub(crate) access_log: PathBuf,
    pub(crate) tell: Sender<Event>,
    pub(crate) inbox: Receiver<Event>,
}

/// The program and those who look at it.
pub(crate) struct Up {
    pub(crate) program: Program,
    pub(crate) tracer: Option<Tracer>,
    pub(crate) follower: Option<Follower>,
    pub(crate) workers: Workers,
    /// `None`: it has no log.
    pub(crate) log: Option<AccessLog>,
    /// Ports of our own requests, which are nobody's sessions.
    pub(crate) probes: Vec<u16>,
    /// Files that it serves, which go with it.
    pub(crate) _content: Option<LocalFiles>,
}

impl Run<'_> {
    /// The program with its version.
    pub(crate) fn name(&self) -> String {
        self.setting.build.title()
    }

    /// That the program, or a part of it, ended unasked.
    pub(crate) fn ended(&self, what: &str) -> ServerError {
        ServerError::program(format!("keep {} running: {what}", self.name()))
    }

    /// Tells the main thread.
    pub(crate) fn teller(&self) -> impl Fn(Event) + Send + 'static {
        let tell = self.tell.clone();
        move |event| {
            // Nobody listens: we are about to end.
            let _ = tell.send(event);
        }
    }
}

impl Up {
    /// The program wrote a line to its log.
    pub(crate) fn logged(&mut self, line: &str) -> Result<(), ServerError> {
        let Some(log) = &mut self.log else { return Ok(()) };
        log.line(line).map_err(ServerError::host("write the access log"))
    }
}
