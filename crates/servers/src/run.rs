//! The role: starts the server, says that it is ready, tells what is seen of it, and ends it when told to.

use std::io::{self, Write};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use net::clock;
use net::role;
use net::stop::{self, Next};
use records::{Record, Session, UnreadLines};

use crate::access_log::LogReader;
use crate::check;
use crate::error::ServerError;
use crate::join::{Join, Line};
use crate::log::{Entry, Served};
use crate::options::ServerOptions;
use crate::role::{Event, Log, Run};
use crate::start::Up;

/// How often sessions that wait for their other half are looked at.
const TICK: Duration = Duration::from_millis(50);

/// Runs a server until SIGTERM or SIGINT. To be called by the main thread: the program ends with the
/// thread that started it.
///
/// # Errors
/// See [`ServerError`]. Trouble with single connections is none: it is told in the records.
pub fn run(options: &ServerOptions) -> Result<(), ServerError> {
    let process = || ServerError::host("set up the process");
    let max_open_files = options.role.enter().map_err(process())?;
    let prepared = check::prepare(&options.arm, &options.given)?;
    let (tell, inbox) = mpsc::channel();
    let stopper = tell.clone();
    stop::on_signal(move |_| {
        let _ = stopper.send(Event::Stop);
        Next::Done
    })
    .map_err(process())?;
    let run = Run::new(options, prepared, tell, inbox)?;
    match run.start(max_open_files)? {
        Some(up) => run.watch(up),
        None => Ok(()),
    }
}

impl Run<'_> {
    /// Tells what is seen until we are told to stop; then all that is left to tell.
    fn watch(&self, mut up: Up) -> Result<(), ServerError> {
        let mut result = loop {
            let next = if up.join.is_waiting() {
                self.inbox.recv_timeout(TICK)
            } else {
                self.inbox.recv().map_err(|_| RecvTimeoutError::Disconnected)
            };
            match next {
                Ok(Event::Stop) | Err(RecvTimeoutError::Disconnected) => break Ok(()),
                Ok(Event::Ended(what)) => break Err(self.ended(what)),
                Ok(event) => up.take(event)?,
                Err(RecvTimeoutError::Timeout) => {}
            }
            up.tell(|join| join.due(clock::now()))?;
        };
        // Its workers first: they would be seen to die.
        if let Some(tracer) = up.tracer.take() {
            let failed = ServerError::host(format!("watch {}", self.name()));
            result = result.and(tracer.stop().map_err(failed));
        }
        let failed = ServerError::host(format!("end {}", self.name()));
        let stopped = up.program.stop().map_err(failed);
        result = result.map_err(|error| error.quoting(&mut up.program)).and(stopped);
        if let Some(follower) = up.follower.take() {
            let failed = ServerError::host(format!("read the access log of {}", self.name()));
            result = result.and(follower.finish().map_err(failed));
        }
        for event in self.inbox.try_iter() {
            up.take(event)?;
        }
        up.tell(Join::finish)?;
        result.and(self.tell_unread(up.log))
    }

    /// Tells of lines of the log that are lost to us.
    fn tell_unread(&self, log: Log) -> Result<(), ServerError> {
        let unread = log.reader.map(LogReader::unread).unwrap_or_default();
        if unread.lines == 0 {
            return Ok(());
        }
        let (lines, name) = (unread.lines, self.name());
        let first: String = unread.first.chars().take(120).collect();
        // Nobody may be listening: that changes nothing.
        let _ = writeln!(
            io::stderr(),
            "server: {lines} of the lines in the access log of {name} could not be read, the first: \
             {first:?}"
        );
        role::print(&Record::UnreadLines(UnreadLines { lines })).map_err(ServerError::Records)
    }
}

impl Up {
    fn take(&mut self, event: Event) -> Result<(), ServerError> {
        match event {
            Event::Logged(line) => match self.log.line(&line)? {
                Some(entry) => self.logged(entry),
                None => Ok(()),
            },
            Event::Traced(record) => match *record {
                Record::Session(session) => self.tell(|join| join.traced(session, clock::now())),
                other => {
                    if let Record::Accepted(accepted) = other {
                        self.join.accepted(accepted);
                    }
                    role::print(&other).map_err(ServerError::Records)
                }
            },
            Event::Stop | Event::Ended(_) => Ok(()),
        }
    }

    fn logged(&mut self, entry: Entry) -> Result<(), ServerError> {
        let at_ns = self.clock.mono(entry.times.at_unix_ms);
        let worker = match entry.served {
            Served::Process(pid) => self.workers.of_process(pid),
            Served::Thread(thread) => Some(thread),
            Served::Unknown => None,
        };
        self.tell(|join| join.logged(Line { entry, worker, at_ns }, clock::now()))
    }

    fn tell(&mut self, tell: impl FnOnce(&mut Join) -> Vec<Session>) -> Result<(), ServerError> {
        for session in tell(&mut self.join) {
            role::print(&Record::Session(session)).map_err(ServerError::Records)?;
        }
        Ok(())
    }
}
