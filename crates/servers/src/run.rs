//! The role: starts the server, says that it is ready, tells what is seen of it, and ends it when told to.

use std::fs;
use std::io::{self, Write};
use std::sync::mpsc;

use net::role;
use net::stop::{self, Next};
use records::{Record, Spool, UnreadLines};

use crate::access_log::WallClock;
use crate::check;
use crate::configuration::{Setting, User, plain_path};
use crate::error::ServerError;
use crate::join::{Line, Seen};
use crate::log::{Entry, Served};
use crate::options::ServerOptions;
use crate::program::Event;
use crate::role::{Run, Up};
use crate::start::Reservation;

/// Runs a server until SIGTERM or SIGINT. To be called by the main thread: the program ends with the
/// thread that started it.
///
/// # Errors
/// See [`ServerError`]. Trouble with single connections is none: it is told in the records.
pub fn run(options: &ServerOptions) -> Result<(), ServerError> {
    let process = || ServerError::host("set up the process");
    let open_files = options.role.enter().map_err(process())?;
    let prepared = check::prepare(&options.arm, &options.given)?;
    let (tell, inbox) = mpsc::channel();
    let stopper = tell.clone();
    stop::on_signal(move |_| {
        let _ = stopper.send(Event::Stop);
        Next::Done
    })
    .map_err(process())?;

    let its_directory = || ServerError::host("write its directory");
    let dir = plain_path(&options.dir).map_err(its_directory())?;
    fs::create_dir_all(dir.join("temp")).map_err(its_directory())?;
    if let Some(file) = &options.given.server_file {
        // So that the run says what it was made with.
        fs::copy(file, dir.join("server.toml")).map_err(its_directory())?;
    }
    if let Spool::Dir(spool) = &options.arm.proxy.spool {
        let made = plain_path(spool).and_then(fs::create_dir_all);
        made.map_err(ServerError::host("write the directory of spooled answers"))?;
    }
    let access_log = options.access_log.clone().unwrap_or_else(|| dir.join("access.log"));
    let port = Reservation::of(options.listen, prepared.server.port);
    let port = port.map_err(ServerError::host("find it a port"))?;
    let setting = Setting {
        server: &prepared.server,
        arm: &options.arm,
        build: &prepared.build,
        listen: port.addr,
        origin: options.upstream,
        dir,
        pin: options.pin.as_ref(),
        user: User::current(),
        open_files,
    };
    let run = Run { options, setting, prepared: &prepared, access_log, tell, inbox };
    run.start()?.map_or(Ok(()), |up| run.watch(up))
}

impl Run<'_> {
    /// Tells what is seen until we are told to stop; then all that is left to tell.
    fn watch(&self, mut up: Up) -> Result<(), ServerError> {
        let clock = WallClock::read();
        let mut seen = Seen::default();
        let mut result = loop {
            match self.inbox.recv() {
                Ok(Event::Stop) | Err(_) => break Ok(()),
                Ok(Event::Ended(what)) => break Err(self.ended(&what)),
                Ok(event) => up.take(event, &mut seen)?,
            }
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
            up.take(event, &mut seen)?;
        }
        for session in seen.join(up.lines(clock)) {
            role::tell(&Record::Session(session))?;
        }
        result.and(self.tell_unread(&up))
    }

    /// Tells of lines of the log that are lost to us.
    fn tell_unread(&self, up: &Up) -> Result<(), ServerError> {
        let Some(unread) = up.log.as_ref().map(|log| &log.unread).filter(|un| un.lines > 0) else {
            return Ok(());
        };
        let (lines, name) = (unread.lines, self.name());
        let first: String = unread.first.chars().take(120).collect();
        // Nobody may be listening: that changes nothing.
        let _ = writeln!(
            io::stderr(),
            "server: {lines} of the lines in the access log of {name} could not be read, the first: \
             {first:?}"
        );
        Ok(role::tell(&Record::UnreadLines(UnreadLines { lines }))?)
    }
}

impl Up {
    fn take(&mut self, event: Event, seen: &mut Seen) -> Result<(), ServerError> {
        match event {
            Event::Logged(line) => return self.logged(&line),
            Event::Traced(record) => match *record {
                Record::Session(session) => seen.ended(session),
                other => {
                    if let Record::Accepted(accepted) = other {
                        seen.accepted(accepted);
                    }
                    role::tell(&other)?;
                }
            },
            Event::Stop | Event::Ended(_) => {}
        }
        Ok(())
    }

    /// What its log told, on the clock of the trace.
    fn lines(&mut self, clock: WallClock) -> Vec<Line> {
        let probes = std::mem::take(&mut self.probes);
        let entries = self.log.as_mut().map(|log| log.take_entries(probes)).unwrap_or_default();
        let line = |entry: Entry| {
            let worker = match entry.served {
                Served::Process(pid) => self.workers.of_process(pid),
                Served::Thread(thread) => Some(thread),
                Served::Unknown => None,
            };
            let at_ns = clock.mono(entry.session.log.at_unix_ms);
            Line { session: entry.session, worker, at_ns }
        };
        entries.into_iter().map(line).collect()
    }
}
