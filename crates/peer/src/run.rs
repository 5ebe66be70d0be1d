//! Starts the program, says that it is ready, tells what is seen of it, and ends it when told to.

use std::fs;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

use net::clock;
use net::role;
use net::stop::{self, Next};
use records::{
    Content, Effective, Placement, Program as ProgramRecord, Ready, Record, Role, Session, Sight,
    Spool, TraceMode, UnreadLines,
};
use tracer::{Means, Target, Tracer};

use crate::access_log::{Follower, Publisher, Source, Unread};
use crate::build::Build;
use crate::clocks::Clocks;
use crate::content::LocalFiles;
use crate::driver::{Driver, LogPlace, Pinning};
use crate::entry::{Entry, Served};
use crate::error::PeerError;
use crate::join::{Join, Line, Witnesses};
use crate::options::PeerOptions;
use crate::process::{self, Crew, Keeper, Program, Reservation, Serving, Start, Stdout};
use crate::refusal::{self, Prepared};
use crate::setting::{Setting, User, plain_path};

mod probe;

/// How often sessions that wait for their other half are looked at.
const TICK: Duration = Duration::from_millis(50);

/// What the main thread waits for.
enum News {
    Stop,
    Ended(&'static str),
    Traced(Box<Record>),
    Logged(Box<Entry>),
}

/// Runs a foreign proxy until SIGTERM or SIGINT. To be called by the main thread: the program ends
/// with the thread that started it.
///
/// # Errors
/// See [`PeerError`]. Trouble with single connections is none: it is told in the records.
pub fn run(options: &PeerOptions) -> Result<(), PeerError> {
    let max_open_files = options.role.enter().map_err(PeerError::Process)?;
    let prepared = refusal::prepare(&options.arm, options.proxy_bin.as_deref())?;
    let (news, inbox) = mpsc::channel();
    let stopper = news.clone();
    stop::on_signal(move |_| {
        let _ = stopper.send(News::Stop);
        Next::Done
    })
    .map_err(PeerError::Process)?;

    let stage = Stage::set(options, prepared, news, inbox)?;
    let Some((stage, up)) = stage.bring_up(max_open_files)? else { return Ok(()) };
    stage.perform(up)
}

/// What there is before the program starts.
struct Stage<'a> {
    options: &'a PeerOptions,
    driver: Arc<dyn Driver>,
    build: Build,
    means: Option<Means>,
    dir: PathBuf,
    access_log: PathBuf,
    news: Sender<News>,
    inbox: Receiver<News>,
}

/// The program and those who look at it.
struct Up {
    program: Program,
    crew: Crew,
    tracer: Option<Tracer>,
    follower: Option<JoinHandle<io::Result<Unread>>>,
    /// The follower of a file may come to an end.
    done: Arc<AtomicBool>,
    clocks: Clocks,
    join: Join,
    /// Ports of our own requests, which are nobody's sessions.
    probes: Vec<u16>,
    _content: Option<LocalFiles>,
}

impl<'a> Stage<'a> {
    fn set(
        options: &'a PeerOptions,
        prepared: Prepared,
        news: Sender<News>,
        inbox: Receiver<News>,
    ) -> Result<Self, PeerError> {
        let Prepared { driver, build, means } = prepared;
        let files = |what| move |source| PeerError::Files { what, source };
        let dir = plain_path(&options.dir).map_err(files("its directory"))?;
        fs::create_dir_all(dir.join("temp")).map_err(files("its directory"))?;
        if let Spool::Dir(spool) = &options.arm.spool {
            plain_path(spool)
                .and_then(fs::create_dir_all)
                .map_err(files("the directory of spooled answers"))?;
        }
        let access_log = match &options.access_log {
            Some(path) => plain_path(path).map_err(files("the access log"))?,
            None => dir.join("access.log"),
        };
        let driver = Arc::from(driver);
        Ok(Self { options, driver, build, means, dir, access_log, news, inbox })
    }

    fn name(&self) -> String {
        self.build.title()
    }

    /// From nothing to [`Ready`]. `None`: we were told to stop meanwhile.
    fn bring_up(self, max_open_files: u64) -> Result<Option<(Self, Up)>, PeerError> {
        let port =
            Reservation::of(self.options.listen, self.driver.port()).map_err(PeerError::Listen)?;
        let listen = port.addr;
        let arm = &self.options.arm;
        let setting = Setting {
            arm,
            build: &self.build,
            listen,
            upstream: self.options.upstream,
            dir: &self.dir,
            access_log: &self.access_log,
            pin: self.options.pin.as_ref(),
            user: User::current(),
            open_files: max_open_files,
        };
        for file in self.driver.configuration(&setting) {
            fs::write(self.dir.join(file.name), file.text)
                .map_err(|source| PeerError::Files { what: "its configuration", source })?;
        }
        // Opened before the program writes to it: from here on every line is ours.
        let log = self.open_log()?;
        let ours = self.driver.pinning() == Pinning::Ours;
        let start = |source| PeerError::Start { name: self.name(), source };
        let www = (arm.content == Content::File).then(|| setting.www());
        let (keeper, stdout) = Keeper::start(Start {
            name: self.driver.name(),
            path: &self.build.path,
            invocation: self.driver.invocation(&setting),
            dir: &self.dir,
            cpus: self.options.pin.as_ref().filter(|_| ours),
            last_signal: self.driver.last_signal(),
            stdout: match self.driver.log() {
                LogPlace::Stdout => Stdout::Kept,
                _ => Stdout::Told,
            },
            remove: www.clone(),
        })
        .map_err(start)?;
        // With its keeper at hand, which removes them if we cannot.
        let content = www
            .map(|www| LocalFiles::write(&www, arm))
            .transpose()
            .map_err(|source| PeerError::Files { what: "local content", source })?;
        let program = keeper.go().map_err(start)?;
        self.tell_death(&program, None).map_err(PeerError::Process)?;

        let done = Arc::new(AtomicBool::new(false));
        let source = log.or(stdout.map(Source::pipe));
        let follower = source.map(|source| self.follow(source, Arc::clone(&done))).transpose()?;

        let Some(proven) = self.await_ready(&program, listen)? else { return Ok(None) };
        let probe::Proven { crew, serving, probes, sockets } = proven;
        let means = self.fitting(serving)?;
        self.tell_death(&program, Some(&crew)).map_err(PeerError::Process)?;
        if let Some(cpus) = self.options.pin.as_ref().filter(|_| ours)
            && self.driver.tracing() == crate::driver::Tracing::Fits
        {
            crew.pin(cpus).map_err(PeerError::Process)?;
        }
        drop(port);
        let tracer = self.attach(&crew, means)?;
        let effective = Effective { sockets, max_open_files, ..Effective::default() };
        let ready = self.ready(&program, &crew, means, listen, effective);
        role::print(&Record::Ready(ready)).map_err(PeerError::Records)?;
        let witnesses = match (means, self.driver.log()) {
            (_, LogPlace::None) => Witnesses::Trace,
            (Some(Means::Bpftrace), _) => Witnesses::Both,
            (Some(Means::Sample) | None, _) => Witnesses::Log,
        };
        let clocks = Clocks::read();
        let join = Join::new(witnesses);
        let up =
            Up { program, crew, tracer, follower, done, clocks, join, probes, _content: content };
        Ok(Some((self, up)))
    }

    /// The file that its log is read from, if it is one.
    fn open_log(&self) -> Result<Option<Source>, PeerError> {
        let path = match self.driver.log() {
            LogPlace::Published => self.access_log.clone(),
            LogPlace::File(name) => self.dir.join(name),
            LogPlace::Stdout | LogPlace::None => return Ok(None),
        };
        Source::file(&path)
            .map(Some)
            .map_err(|source| PeerError::Files { what: "the access log", source })
    }

    fn follow(
        &self,
        source: Source,
        done: Arc<AtomicBool>,
    ) -> Result<JoinHandle<io::Result<Unread>>, PeerError> {
        let publish = match self.driver.log() {
            LogPlace::Published => None,
            _ => Some(
                Publisher::open(&self.access_log)
                    .map_err(|source| PeerError::Files { what: "the access log", source })?,
            ),
        };
        let follower = Follower { source, driver: Arc::clone(&self.driver), publish };
        let news = self.news.clone();
        process::spawn("log", move || {
            let ended = follower.run(&done, |entry| {
                let _ = news.send(News::Logged(Box::new(entry)));
            });
            if ended.is_err() {
                let _ = news.send(News::Ended("its access log cannot be read any more"));
            }
            ended
        })
        .map_err(PeerError::Process)
    }

    /// Has us told when the program ends, or a worker of it.
    fn tell_death(&self, program: &Program, crew: Option<&Crew>) -> io::Result<()> {
        let news = self.news.clone();
        let tell = move |what| {
            let _ = news.send(News::Ended(what));
        };
        match crew {
            None => program.on_death(tell),
            Some(crew) => crew.on_death(move || tell("a worker of it ended unasked")),
        }
    }

    /// How its workers can be watched, now that it is known how they serve: not at all where one does
    /// the work of another, since what is seen of each is no step then.
    fn fitting(&self, serving: Serving) -> Result<Option<Means>, PeerError> {
        let arm = &self.options.arm;
        let asked = matches!(arm.trace, TraceMode::Bpftrace | TraceMode::Sample)
            || arm.place == Placement::OneWorker;
        match (serving, self.means) {
            (Serving::Own, means) => Ok(means),
            (Serving::HandedOn, None) => Ok(None),
            (Serving::HandedOn, Some(_)) if asked => Err(PeerError::HandedOn { name: self.name() }),
            (Serving::HandedOn, Some(_)) => {
                let error = PeerError::HandedOn { name: self.name() };
                // Nobody may be listening: that changes nothing.
                let _ = writeln!(io::stderr(), "peer: {error}");
                Ok(None)
            }
        }
    }

    fn attach(&self, crew: &Crew, means: Option<Means>) -> Result<Option<Tracer>, PeerError> {
        let Some(means) = means else { return Ok(None) };
        let number = |n: i32| u32::try_from(n).unwrap_or(0);
        let targets: Vec<Target> = (0..)
            .zip(&crew.workers)
            .map(|(worker, found)| Target {
                worker,
                pid: number(found.pid),
                tid: number(found.tid),
            })
            .collect();
        let news = self.news.clone();
        Tracer::attach(&targets, means, self.options.hold, move |record| {
            let _ = news.send(News::Traced(Box::new(record)));
        })
        .map(Some)
        .map_err(|source| PeerError::Tracer { name: self.name(), source })
    }

    fn ready(
        &self,
        program: &Program,
        crew: &Crew,
        means: Option<Means>,
        listen: SocketAddr,
        effective: Effective,
    ) -> Ready {
        let listening = process::listening(program.pid(), listen).unwrap_or_default();
        let congestion = listening.socket.and_then(|socket| net::tcp::congestion(&socket).ok());
        let effective = Effective {
            cpus: crew.cpus(program.pid()),
            congestion: congestion.or_else(refusal::system_congestion),
            ..effective
        };
        Ready {
            listen: Some(listen),
            worker_tids: crew.workers.iter().map(|worker| worker.tid).collect(),
            listeners: crew.listeners(&listening.inodes),
            program: Some(ProgramRecord {
                name: self.driver.name().to_owned(),
                version: self.build.title(),
                path: self.build.path.clone(),
            }),
            sight: match (means, self.driver.log()) {
                (Some(Means::Bpftrace), _) => Sight::Traced,
                (Some(Means::Sample), _) => Sight::Sampled,
                (None, LogPlace::None) => Sight::ClientsOnly,
                (None, _) => Sight::LogOnly,
            },
            ..Ready::new(Role::Proxy, std::process::id(), effective)
        }
    }

    /// Tells what is seen until we are told to stop; then all that is left to tell.
    fn perform(self, mut up: Up) -> Result<(), PeerError> {
        let mut result = loop {
            let next = if up.join.is_waiting() {
                self.inbox.recv_timeout(TICK)
            } else {
                self.inbox.recv().map_err(|_| RecvTimeoutError::Disconnected)
            };
            match next {
                Ok(News::Stop) | Err(RecvTimeoutError::Disconnected) => break Ok(()),
                Ok(News::Ended(what)) => {
                    let words = up.program.last_words();
                    break Err(PeerError::Ended { name: self.name(), what, words });
                }
                Ok(News::Traced(record)) => up.traced(*record),
                Ok(News::Logged(entry)) => up.logged(*entry),
                Err(RecvTimeoutError::Timeout) => Ok(()),
            }
            .and_then(|()| up.told(|join| join.due(clock::now())))?;
        };
        // Its workers first: they would be seen to die.
        if let Some(tracer) = up.tracer.take() {
            let stopped = tracer.stop();
            let failed = |source| PeerError::Tracer { name: self.name(), source };
            result = result.and(stopped.map_err(failed));
        }
        let stopped = up.program.stop(&up.crew);
        result =
            result.and(stopped.map_err(|source| PeerError::Stop { name: self.name(), source }));
        up.done.store(true, Ordering::Release);
        if let Some(follower) = up.follower.take() {
            follower.thread().unpark();
            let read = follower.join().unwrap_or_else(|_| Ok(Unread::default()));
            let failed = |source| PeerError::Log { name: self.name(), source };
            let read = read.map_err(failed).and_then(|unread| self.tell_unread(&unread));
            result = result.and(read);
        }
        for news in self.inbox.try_iter() {
            match news {
                News::Traced(record) => up.traced(*record)?,
                News::Logged(entry) => up.logged(*entry)?,
                News::Stop | News::Ended(_) => {}
            }
        }
        up.told(Join::finish)?;
        result
    }
}

impl Stage<'_> {
    /// Tells of lines of the log that are lost to us.
    fn tell_unread(&self, unread: &Unread) -> Result<(), PeerError> {
        let &Unread { lines, ref first } = unread;
        if lines == 0 {
            return Ok(());
        }
        let shown: String = first.chars().take(120).collect();
        let name = self.name();
        // Nobody may be listening: that changes nothing.
        let _ = writeln!(
            io::stderr(),
            "peer: {lines} of the lines in the access log of {name} could not be read, the first: \
             {shown:?}"
        );
        role::print(&Record::UnreadLines(UnreadLines { lines })).map_err(PeerError::Records)
    }
}

impl Up {
    fn traced(&mut self, record: Record) -> Result<(), PeerError> {
        match record {
            Record::Session(session) => self.told(|join| join.traced(session, clock::now())),
            Record::Accepted(accepted) => {
                self.join.accepted(accepted);
                role::print(&Record::Accepted(accepted)).map_err(PeerError::Records)
            }
            other => role::print(&other).map_err(PeerError::Records),
        }
    }

    fn logged(&mut self, entry: Entry) -> Result<(), PeerError> {
        let own = self.probes.iter().position(|port| *port == entry.client_port);
        if let Some(own) = own {
            self.probes.swap_remove(own);
            return Ok(());
        }
        let at_ns = self.clocks.mono(entry.times.at_unix_ms);
        let worker = match entry.served {
            Served::Process(pid) => self.crew.of_process(pid),
            Served::Thread(thread) => Some(thread),
            Served::Unknown => None,
        };
        self.told(|join| join.logged(Line { entry, worker, at_ns }, clock::now()))
    }

    fn told(&mut self, tell: impl FnOnce(&mut Join) -> Vec<Session>) -> Result<(), PeerError> {
        for session in tell(&mut self.join) {
            role::print(&Record::Session(session)).map_err(PeerError::Records)?;
        }
        Ok(())
    }
}
