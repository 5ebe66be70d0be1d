//! What the parts of the role share: what it is told to do, what it waits for, the log of its program.

use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender};
use std::thread::{self, JoinHandle};

use net::role;
use records::{Record, Role};
use tracer::Means;

use crate::access_log::{self, LogReader};
use crate::build::Build;
use crate::error::ServerError;
use crate::log::Entry;
use crate::options::ServerOptions;
use crate::server::Server;

/// What there is before the program starts.
pub(crate) struct Run<'a> {
    pub(crate) options: &'a ServerOptions,
    pub(crate) server: Server,
    pub(crate) build: Build,
    pub(crate) means: Option<Means>,
    pub(crate) dir: PathBuf,
    pub(crate) access_log: PathBuf,
    pub(crate) tell: Sender<Event>,
    pub(crate) inbox: Receiver<Event>,
}

impl Run<'_> {
    /// The program with its version.
    pub(crate) fn name(&self) -> String {
        self.build.title()
    }

    /// That the program, or a part of it, ended unasked.
    pub(crate) fn ended(&self, what: &str) -> ServerError {
        let what = format!("keep {} running: {what}", self.name());
        ServerError::Program { what, words: String::new() }
    }
}

/// What the main thread waits for.
#[derive(Debug)]
pub(crate) enum Event {
    /// We are told to stop.
    Stop,
    /// The server ended, or a part of it, and what that is called.
    Ended(&'static str),
    /// The tracer saw something.
    Traced(Box<Record>),
    /// A line of its log.
    Logged(String),
}

/// The program's log, and what of it is ours.
#[derive(Default)]
pub(crate) struct Log {
    /// `None`: it has no log.
    pub(crate) reader: Option<LogReader>,
    /// Ports of our own requests, which are nobody's sessions.
    pub(crate) probes: Vec<u16>,
}

impl Log {
    /// What a line tells of a request that is not ours.
    ///
    /// # Errors
    /// The log cannot be written.
    pub(crate) fn line(&mut self, line: &str) -> Result<Option<Entry>, ServerError> {
        let Some(reader) = &mut self.reader else { return Ok(None) };
        let entry = reader.line(line).map_err(ServerError::host("write the access log"))?;
        let Some(entry) = entry else { return Ok(None) };
        let own = self.probes.iter().position(|port| *port == entry.client_port);
        if let Some(own) = own {
            self.probes.swap_remove(own);
        }
        Ok(own.is_none().then_some(entry))
    }
}

/// The thread that reads a log which is a file.
pub(crate) struct Follower {
    thread: JoinHandle<io::Result<()>>,
    done: Arc<AtomicBool>,
}

impl Follower {
    pub(crate) fn start(file: File, tell: Sender<Event>) -> io::Result<Self> {
        let done = Arc::new(AtomicBool::new(false));
        let is_done = Arc::clone(&done);
        let name = role::thread_name(Role::Proxy, "log");
        let thread = thread::Builder::new().name(name).spawn(move || {
            let read = access_log::follow(file, &is_done, |line| {
                // Nobody listens: we are about to end.
                let _ = tell.send(Event::Logged(line.to_owned()));
            });
            if read.is_err() {
                let _ = tell.send(Event::Ended("its access log cannot be read any more"));
            }
            read
        })?;
        Ok(Self { thread, done })
    }

    /// Reads it to its end, now that nobody writes it any more.
    pub(crate) fn finish(self) -> io::Result<()> {
        self.done.store(true, Ordering::Release);
        self.thread.thread().unpark();
        self.thread.join().unwrap_or(Ok(()))
    }
}
