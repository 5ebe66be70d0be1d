//! The role, one life of a foreign program: from nothing to a server that is ready and watched, on a port that
//! was kept for it; what is seen of it is told, and it ends when we are told to.

use std::fmt::Display;
use std::fs;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::Instant;

use net::role::{self, RoleError};
use net::stop::{self, Next};
use net::tcp::{Buffers, Listen};
use net::{clock, process};
use probe::{Means, Target, Tracer};
use records::{
    Content, Effective, ListenerMode, Placement, Program as ProgramRecord, Ready, Record, Role,
    SocketSetting, Spool, TraceMode, UnreadLines, Visibility,
};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use socket2::{Domain, Protocol, Socket, Type};

use crate::check::{self, Prepared};
use crate::configuration::{Setting, plain_path};
use crate::content::LocalFiles;
use crate::join::Seen;
use crate::log::{AccessLog, Entry, Last, Served, TICK};
use crate::options::ServerOptions;
use crate::processes;
use crate::program::{self, Event, Program};
use crate::subreaper::SubreaperOptions;
use crate::toggles::User;
use crate::workers::{Serving, Worker, Workers};

/// What there is before the program starts.
pub(crate) struct Run<'a> {
    pub(crate) options: &'a ServerOptions,
    pub(crate) setting: Setting<'a>,
    pub(crate) prepared: &'a Prepared,
    tell: Sender<Event>,
    pub(crate) inbox: Receiver<Event>,
}

/// The program and those who look at it.
pub(crate) struct Up {
    pub(crate) program: Program,
    tracer: Option<Tracer>,
    workers: Workers,
    /// `None`: it has no log.
    log: Option<AccessLog>,
    /// Ports of our own requests, which are nobody's sessions.
    pub(crate) probes: Vec<u16>,
    /// Files that it serves, which go with it.
    _content: Option<LocalFiles>,
}

/// Runs a server until SIGTERM or SIGINT. To be called by the main thread: the program ends with the
/// thread that started it.
///
/// # Errors
/// See [`RoleError`]. Trouble with single connections is none: it is told in the records.
pub fn run(options: &ServerOptions) -> Result<(), RoleError> {
    let open_files = options.role.enter().map_err(RoleError::process)?;
    let prepared = check::prepare(&options.arm, &options.given)?;
    let (tell, inbox) = mpsc::channel();
    let stopper = tell.clone();
    stop::on_signal(move |_| {
        let _ = stopper.send(Event::Stop);
        Next::Done
    })
    .map_err(RoleError::process)?;

    let its_directory = RoleError::host("write its directory");
    let dir = plain_path(&options.dir).map_err(&its_directory)?;
    fs::create_dir_all(dir.join("temp")).map_err(&its_directory)?;
    if let Some(file) = &options.given.server_file {
        // So that the run says what it was made with.
        fs::copy(file, dir.join("server.toml")).map_err(&its_directory)?;
    }
    if let Spool::Dir(spool) = &options.arm.proxy.spool {
        let made = plain_path(spool).and_then(fs::create_dir_all);
        made.map_err(RoleError::host("write the directory of spooled answers"))?;
    }
    let (listen, holder) = reserve(options.listen).map_err(RoleError::host("find it a port"))?;
    // A command may not be able to bind beside a holder.
    let _holder = Some(holder).filter(|_| !prepared.server.is_command());
    let setting = Setting {
        server: &prepared.server,
        arm: &options.arm,
        build: &prepared.build,
        listen,
        origin: options.upstream,
        dir,
        user: User::current(),
        open_files,
    };
    let mut run = Run { options, setting, prepared: &prepared, tell, inbox };
    run.start()?.map_or(Ok(()), |up| run.watch(up))
}

impl Run<'_> {
    /// The program with its version.
    pub(crate) fn name(&self) -> String {
        self.setting.build.title()
    }

    /// For errors of what we do for it: `doing` and its name fit "failed to ...".
    fn unable<E: Display>(&self, doing: &str) -> impl FnOnce(E) -> RoleError {
        let name = self.name();
        move |source| RoleError::Unable(format!("failed to {doing} {name}: {source}"))
    }

    /// What it did, or did not do, with the last that it said: it is stopped first, so that all of that is
    /// known.
    pub(crate) fn blame(&self, program: &mut Program, what: &str) -> RoleError {
        // What is left of it, its subreaper's end tells.
        let _ = program.stop();
        let words = program.last_words();
        let last = if words.is_empty() { "" } else { "; its last words: " };
        RoleError::Unable(format!("failed to {what}{last}{words}"))
    }

    /// That the program, or a part of it, ended unasked.
    pub(crate) fn ended(&self, program: &mut Program, how: &str) -> RoleError {
        self.blame(program, &format!("keep {} running: {how}", self.name()))
    }

    /// Tells the main thread.
    fn teller(&self) -> impl Fn(Event) + Send + 'static {
        let tell = self.tell.clone();
        move |event| {
            // Nobody listens: we are about to end.
            let _ = tell.send(event);
        }
    }

    /// Brings the server up, to [`Ready`]. `None`: we were told to stop meanwhile.
    fn start(&mut self) -> Result<Option<Up>, RoleError> {
        let (setting, arm) = (&self.setting, &self.options.arm);
        for (name, text) in setting.files() {
            fs::write(setting.dir.join(name), text)
                .map_err(RoleError::host("write its configuration"))?;
        }
        // Opened before the program writes to it, so that every line is ours.
        let log = setting.server.log.as_ref().map(|format| {
            let file = PathBuf::from(setting.fill(&format.file));
            AccessLog::new(format.clone(), &self.options.access_log, &file)
        });
        let log = log.transpose().map_err(RoleError::host("write the access log"))?;
        let www = (arm.server.content == Content::File).then(|| setting.www());
        let options = SubreaperOptions {
            below: None,
            cpus: self.options.pin.clone(),
            remove: www.clone(),
            program: setting.build.path.clone(),
            args: setting.args(),
        };
        let program = Program::prepare(&options, setting, self.teller());
        let program = program.map_err(self.unable("start"))?;
        // With its subreaper at hand, which removes them if we cannot.
        let content = www.map(|www| LocalFiles::write(&www, arm)).transpose();
        let content = content.map_err(RoleError::host("write local content"))?;
        let mut up = Up {
            program,
            tracer: None,
            workers: Workers::default(),
            log,
            probes: Vec::new(),
            _content: content,
        };
        Ok(self.bring_up(&mut up)?.map(|()| up))
    }

    /// Has the program start, proves that it does its work, and has its workers watched. `None`: we were
    /// told to stop.
    fn bring_up(&mut self, up: &mut Up) -> Result<Option<()>, RoleError> {
        let root = up.program.go().map_err(self.unable("start"))?;
        let first = pidfd_open(root, PidfdFlags::empty());
        let first = first.map_err(|errno| RoleError::process(errno.into()))?;
        program::on_end(vec![first], move || how_it_ended(root), self.teller())
            .map_err(RoleError::process)?;
        let Some((workers, serving, sockets)) = self.await_ready(up, root)? else {
            return Ok(None);
        };
        let means = self.fitting(serving)?;
        let died = || "a worker of it ended unasked".to_owned();
        program::on_end(workers.processes(root), died, self.teller())
            .map_err(RoleError::process)?;
        let workers = if means == Some(Means::Threads) { workers.whole() } else { workers };
        if let Some(cpus) = self.options.pin.as_ref().filter(|_| serving == Serving::Own)
            && self.setting.server.workers.are.can_be_traced()
        {
            workers.pin(cpus).map_err(RoleError::process)?;
        }
        if let Some(means) = means {
            let tracer = self.attach(&workers, means);
            up.tracer = Some(tracer.map_err(self.unable("watch"))?);
        }
        role::tell(&Record::Ready(self.ready(root, &workers, means, sockets)))?;
        up.workers = workers;
        Ok(Some(()))
    }

    /// How its workers can be watched, now that it is known how they serve. Where one thread does the work
    /// of another, what is seen of each is no step: then all of them are traced together, or nothing is.
    fn fitting(&self, serving: Serving) -> Result<Option<Means>, RoleError> {
        let arm = &self.options.arm;
        let one_worker = arm.place == Placement::OneWorker;
        match self.prepared.means {
            means if means.is_none() || serving == Serving::Own => return Ok(means),
            Some(Means::Probe) if !one_worker => return Ok(Some(Means::Threads)),
            _ => {}
        }
        let why = format!(
            "failed to tell steps of {}: its threads hand work to each other, so that none of them \
             serves what its own poll returned; take --trace off, or as root --trace probe without \
             --place",
            self.name()
        );
        if arm.server.trace == TraceMode::Sample || one_worker {
            return Err(RoleError::Unable(why));
        }
        // Nobody may be listening: that changes nothing.
        let _ = writeln!(io::stderr(), "server: {why}");
        Ok(None)
    }

    fn attach(&self, workers: &Workers, means: Means) -> Result<Tracer, probe::ProbeError> {
        let target = |(worker, found): (u32, &Worker)| Target {
            worker,
            pid: found.pid.cast_unsigned(),
            tid: found.tid.cast_unsigned(),
        };
        let targets: Vec<Target> = (0..).zip(&workers.0).map(target).collect();
        let tell = self.teller();
        let told = move |record| tell(Event::Traced(Box::new(record)));
        Tracer::attach(&targets, means, self.options.hold, told)
    }

    fn ready(
        &self,
        root: Pid,
        workers: &Workers,
        means: Option<Means>,
        sockets: Vec<SocketSetting>,
    ) -> Ready {
        let setting = &self.setting;
        let (inodes, socket) = processes::listening(root, setting.listen).unwrap_or_default();
        let congestion = socket.and_then(|socket| net::tcp::congestion(&socket).ok());
        let effective = Effective {
            cpus: workers.cpus(root),
            congestion: congestion.or_else(check::system_congestion),
            sockets,
            max_open_files: setting.open_files,
        };
        Ready {
            listen: Some(setting.listen),
            worker_tids: workers.0.iter().map(|worker| worker.tid).collect(),
            listeners: workers.listeners(&inodes),
            program: Some(ProgramRecord {
                name: setting.server.name.clone(),
                version: self.name(),
                path: setting.build.path.clone(),
            }),
            visibility: match (means, &setting.server.log) {
                (Some(Means::Probe), _) => Visibility::Traced,
                (Some(Means::Threads), _) => Visibility::Threads,
                (Some(Means::Sample), _) => Visibility::Sampled,
                (None, None) => Visibility::ClientsOnly,
                (None, Some(_)) => Visibility::LogOnly,
            },
            ..Ready::new(Role::Proxy, std::process::id(), effective)
        }
    }

    /// Tells what is seen until we are told to stop; then all that is left to tell.
    fn watch(&self, mut up: Up) -> Result<(), RoleError> {
        let ahead_ns = clock::unix_ahead_ns();
        let mut seen = Seen::default();
        let mut next_read = Instant::now();
        let ended = loop {
            match self.inbox.recv_timeout(next_read.saturating_duration_since(Instant::now())) {
                Ok(Event::Stop) | Err(RecvTimeoutError::Disconnected) => break None,
                Ok(Event::Ended(how)) => break Some(how),
                Ok(event) => up.take(event, &mut seen)?,
                Err(RecvTimeoutError::Timeout) => {}
            }
            if Instant::now() >= next_read {
                up.read_log(Last::No)?;
                next_read = Instant::now() + TICK;
            }
        };
        // Its workers first: they would be seen to die.
        let untraced = up.tracer.take().map_or(Ok(()), Tracer::stop);
        let untraced = untraced.map_err(self.unable("watch"));
        let stopped = up.program.stop().map_err(self.unable("end"));
        let died = ended.map_or(Ok(()), |how| Err(self.ended(&mut up.program, &how)));
        for event in self.inbox.try_iter() {
            up.take(event, &mut seen)?;
        }
        let read = up.read_log(Last::Yes);
        for session in seen.join(up.entries(ahead_ns)) {
            role::tell(&Record::Session(session))?;
        }
        self.tell_unread(&up)?;
        died.and(untraced).and(stopped).and(read)
    }

    /// Tells of lines of the log that are lost to us.
    fn tell_unread(&self, up: &Up) -> Result<(), RoleError> {
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
        role::tell(&Record::UnreadLines(UnreadLines { lines }))
    }
}

/// Of the program's first process, which its subreaper has not reaped.
fn how_it_ended(root: Pid) -> String {
    let code = process::stat(root.as_raw_pid()).and_then(|stat| stat.exit_code);
    let how = code.map(|code| format!(" ({})", ExitStatus::from_raw(code)));
    format!("it ended unasked{}", how.unwrap_or_default())
}

impl Up {
    /// The program wrote a line to its log.
    pub(crate) fn logged(&mut self, line: &str) -> Result<(), RoleError> {
        let logged = self.log.as_mut().map_or(Ok(()), |log| log.line(line));
        logged.map_err(RoleError::host("write the access log"))
    }

    /// The same of all that it wrote to a file.
    pub(crate) fn read_log(&mut self, last: Last) -> Result<(), RoleError> {
        let read = self.log.as_mut().map_or(Ok(()), |log| log.read(last));
        read.map_err(RoleError::host("read or write the access log"))
    }

    fn take(&mut self, event: Event, seen: &mut Seen) -> Result<(), RoleError> {
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

    /// What its log told, on the clock of the trace, and by the numbers of its workers.
    fn entries(&mut self, ahead_ns: u64) -> Vec<Entry> {
        let probes = std::mem::take(&mut self.probes);
        let mut entries = self.log.as_mut().map(|log| log.take_entries(probes)).unwrap_or_default();
        for Entry { served, session, .. } in &mut entries {
            if let Served::Process(pid) = *served {
                *served = self.workers.of_process(pid).map_or(Served::Unknown, Served::Worker);
            }
            session.closed_ns = clock::of_unix_ms(session.log.at_unix_ms, ahead_ns);
        }
        entries
    }
}

/// The port of `addr`, or a free one if that is 0, and what keeps it: a socket that is bound with SO_REUSEADDR
/// and does not listen keeps others from being given the port, and lets a socket with the same option bind it
/// (socket(7), `inet_csk_bind_conflict`).
///
/// # Errors
/// Somebody listens on it, or it may not be used.
pub(crate) fn reserve(addr: SocketAddr) -> io::Result<(SocketAddr, Socket)> {
    // Of its own listener the kernel lets nobody bind beside it, whatever its options: so this
    // finds one that shares its port as well.
    let listen =
        Listen { addr, mode: ListenerMode::Shared, backlog: 1, buffers: Buffers::default() };
    if addr.port() != 0 {
        drop(listen.open()?);
    }
    let holder = Socket::new(Domain::for_address(addr), Type::STREAM, Some(Protocol::TCP))?;
    holder.set_reuse_address(true)?;
    holder.bind(&addr.into())?;
    let bound = holder.local_addr()?.as_socket();
    let addr = bound.ok_or_else(|| io::Error::other("a socket without an address"))?;
    Ok((addr, holder))
}
