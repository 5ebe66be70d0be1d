//! From nothing to a server that is ready and watched.

use std::fs;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender};

use net::role;
use records::{
    Content, Effective, Placement, Program as ProgramRecord, Ready, Record, Role, SocketSetting,
    Spool, TraceMode, Visibility,
};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use tracer::{Means, Target, Tracer};

use crate::access_log::{self, LogReader, Publisher, WallClock};
use crate::check::{self, Prepared};
use crate::configuration::{Setting, User, plain_path};
use crate::content::LocalFiles;
use crate::discover::Serving;
use crate::error::ServerError;
use crate::join::{Join, Witnesses};
use crate::options::ServerOptions;
use crate::port::Reservation;
use crate::processes;
use crate::program::{self, Program, Stdout, Told};
use crate::ready::Proven;
use crate::role::{Event, Follower, Log, Run};
use crate::server::PinnedBy;
use crate::subreaper::SubreaperOptions;
use crate::workers::Workers;

/// The program and those who look at it.
pub(crate) struct Up {
    pub(crate) program: Program,
    pub(crate) tracer: Option<Tracer>,
    pub(crate) follower: Option<Follower>,
    pub(crate) workers: Workers,
    pub(crate) log: Log,
    pub(crate) join: Join,
    pub(crate) clock: WallClock,
    pub(crate) _content: Option<LocalFiles>,
}

impl<'a> Run<'a> {
    pub(crate) fn new(
        options: &'a ServerOptions,
        prepared: Prepared,
        tell: Sender<Event>,
        inbox: Receiver<Event>,
    ) -> Result<Self, ServerError> {
        let Prepared { server, build, means } = prepared;
        let its_directory = || ServerError::host("write its directory");
        let dir = plain_path(&options.dir).map_err(its_directory())?;
        fs::create_dir_all(dir.join("temp")).map_err(its_directory())?;
        if let Some(file) = &options.given.server_file {
            // So that the run says what it was made with.
            fs::copy(file, dir.join("server.toml")).map_err(its_directory())?;
        }
        if let Spool::Dir(spool) = &options.arm.proxy.spool {
            plain_path(spool)
                .and_then(fs::create_dir_all)
                .map_err(ServerError::host("write the directory of spooled answers"))?;
        }
        let access_log = match &options.access_log {
            Some(path) => plain_path(path).map_err(ServerError::host("write the access log"))?,
            None => dir.join("access.log"),
        };
        Ok(Self { options, server, build, means, dir, access_log, tell, inbox })
    }

    /// Brings the server up, to [`Ready`]. `None`: we were told to stop meanwhile.
    pub(crate) fn start(&self, max_open_files: u64) -> Result<Option<Up>, ServerError> {
        let arm = &self.options.arm;
        let port = Reservation::of(self.options.listen, self.server.port)
            .map_err(ServerError::host("find it a port"))?;
        let setting = Setting {
            server: &self.server,
            arm,
            build: &self.build,
            listen: port.addr,
            origin: self.options.upstream,
            dir: &self.dir,
            access_log: &self.access_log,
            pin: self.options.pin.as_ref(),
            user: User::current(),
            open_files: max_open_files,
        };
        for (name, text) in setting.files() {
            fs::write(self.dir.join(name), text)
                .map_err(ServerError::host("write its configuration"))?;
        }
        // Opened before the program writes to it: from here on every line is ours.
        let (log, follower) = self.open_log(&setting)?;
        let www = (arm.server.content == Content::File).then(|| setting.www());
        let program = self.prepare_program(&setting)?;
        // With its subreaper at hand, which removes them if we cannot.
        let content = www
            .map(|www| LocalFiles::write(&www, arm))
            .transpose()
            .map_err(ServerError::host("write local content"))?;
        let mut up = Up {
            program,
            tracer: None,
            follower,
            workers: Workers::default(),
            log,
            join: Join::new(Witnesses::Log),
            clock: WallClock::read(),
            _content: content,
        };
        let brought = self.bring_up(&mut up, &setting, port);
        let brought = brought.map_err(|error| error.quoting(&mut up.program))?;
        Ok(brought.is_continue().then_some(up))
    }

    /// Its log, and who reads it.
    fn open_log(&self, setting: &Setting<'_>) -> Result<(Log, Option<Follower>), ServerError> {
        let failed = || ServerError::host("write the access log");
        let Some(format) = &self.server.log else { return Ok((Log::default(), None)) };
        let path = setting.fill(&format.file);
        let is_ours = Path::new(&path) == self.access_log;
        let publisher = (!is_ours).then(|| Publisher::open(&self.access_log)).transpose();
        let publisher = publisher.map_err(failed())?;
        let follower = if format.is_stdout() {
            None
        } else {
            let file = access_log::open(Path::new(&path)).map_err(failed())?;
            let process = ServerError::host("set up the process");
            Some(Follower::start(file, self.tell.clone()).map_err(process)?)
        };
        let reader = Some(LogReader::new(format.clone(), publisher));
        Ok((Log { reader, probes: Vec::new() }, follower))
    }

    fn prepare_program(&self, setting: &Setting<'_>) -> Result<Program, ServerError> {
        let command = std::iter::once(self.build.path.clone().into());
        let options = SubreaperOptions {
            below: None,
            last_signal: self.server.last_signal,
            cpus: self.options.pin.clone().filter(|_| self.pins()),
            remove: (self.options.arm.server.content == Content::File).then(|| setting.www()),
            command: command.chain(setting.args().into_iter().map(Into::into)).collect(),
        };
        let is_log = self.server.log.as_ref().is_some_and(|format| format.is_stdout());
        let stdout = if is_log { Stdout::Log } else { Stdout::People };
        let tell = self.tell.clone();
        let told = move |told| {
            let _ = tell.send(match told {
                Told::Printed(line) => Event::Logged(line),
                Told::Unkept => Event::Ended("the process that keeps it ended unasked"),
            });
        };
        let place = (self.dir.as_path(), setting.env());
        Program::prepare(&self.server.name, &options, place, stdout, told)
            .map_err(ServerError::host(format!("start {}", self.name())))
    }

    /// Whether it is we who put its workers on CPUs.
    fn pins(&self) -> bool {
        self.server.workers.pinned_by == PinnedBy::Us
    }

    /// Has the program start, proves that it does its work, and has its workers watched. A break: we were
    /// told to stop.
    fn bring_up(
        &self,
        up: &mut Up,
        setting: &Setting<'_>,
        port: Reservation,
    ) -> Result<ControlFlow<()>, ServerError> {
        let process = || ServerError::host("set up the process");
        let root = up.program.go().map_err(ServerError::host(format!("start {}", self.name())))?;
        let end = pidfd_open(root, PidfdFlags::empty());
        let end = end.map_err(io::Error::from).map_err(process())?;
        self.tell_end(vec![end], "it ended unasked").map_err(process())?;
        let listen = setting.listen;
        let Some(proven) = self.await_ready(&up.program, root, listen, &mut up.log)? else {
            return Ok(ControlFlow::Break(()));
        };
        let Proven { workers, serving, sockets } = proven;
        let means = self.fitting(serving)?;
        let processes = workers.processes(root);
        self.tell_end(processes, "a worker of it ended unasked").map_err(process())?;
        if let Some(cpus) = self.options.pin.as_ref().filter(|_| self.pins())
            && self.server.workers.are.can_be_traced()
        {
            workers.pin(cpus).map_err(process())?;
        }
        drop(port);
        up.tracer = self.attach(&workers, means)?;
        let ready = self.ready(root, &workers, means, (listen, setting.open_files), sockets);
        role::print(&Record::Ready(ready)).map_err(ServerError::Records)?;
        let witnesses = match (means, &self.server.log) {
            (_, None) => Witnesses::Trace,
            (Some(Means::Bpftrace), _) => Witnesses::Both,
            (Some(Means::Sample) | None, _) => Witnesses::Log,
        };
        (up.workers, up.join) = (workers, Join::new(witnesses));
        Ok(ControlFlow::Continue(()))
    }

    /// Has us told when one of these processes ends, and what to call that.
    fn tell_end(&self, processes: Vec<std::os::fd::OwnedFd>, what: &'static str) -> io::Result<()> {
        let tell = self.tell.clone();
        program::on_end(processes, move || {
            let _ = tell.send(Event::Ended(what));
        })
    }

    /// How its workers can be watched, now that it is known how they serve: not at all where one does
    /// the work of another, since what is seen of each is no step then.
    fn fitting(&self, serving: Serving) -> Result<Option<Means>, ServerError> {
        let arm = &self.options.arm;
        let asked = matches!(arm.server.trace, TraceMode::Bpftrace | TraceMode::Sample)
            || arm.place == Placement::OneWorker;
        if serving == Serving::Own || self.means.is_none() {
            return Ok(self.means);
        }
        let error = ServerError::Unfit(format!(
            "tell steps of {}: its threads hand work to each other, so that none of them serves what \
             its own poll returned; take --trace off",
            self.name()
        ));
        if asked {
            return Err(error);
        }
        // Nobody may be listening: that changes nothing.
        let _ = writeln!(io::stderr(), "server: {error}");
        Ok(None)
    }

    fn attach(
        &self,
        workers: &Workers,
        means: Option<Means>,
    ) -> Result<Option<Tracer>, ServerError> {
        let Some(means) = means else { return Ok(None) };
        let number = |n: i32| u32::try_from(n).unwrap_or(0);
        let target = |(worker, found): (u32, &crate::workers::Worker)| Target {
            worker,
            pid: number(found.pid),
            tid: number(found.tid),
        };
        let targets: Vec<Target> = (0..).zip(&workers.0).map(target).collect();
        let tell = self.tell.clone();
        Tracer::attach(&targets, means, self.options.hold, move |record| {
            let _ = tell.send(Event::Traced(Box::new(record)));
        })
        .map(Some)
        .map_err(ServerError::host(format!("watch {}", self.name())))
    }

    fn ready(
        &self,
        root: Pid,
        workers: &Workers,
        means: Option<Means>,
        (listen, max_open_files): (SocketAddr, u64),
        sockets: Vec<SocketSetting>,
    ) -> Ready {
        let listening = processes::listening(root, listen).unwrap_or_default();
        let congestion = listening.socket.and_then(|socket| net::tcp::congestion(&socket).ok());
        let effective = Effective {
            cpus: workers.cpus(root),
            congestion: congestion.or_else(check::system_congestion),
            sockets,
            max_open_files,
        };
        Ready {
            listen: Some(listen),
            worker_tids: workers.0.iter().map(|worker| worker.tid).collect(),
            listeners: workers.listeners(&listening.inodes),
            program: Some(ProgramRecord {
                name: self.server.name.clone(),
                version: self.name(),
                path: self.build.path.clone(),
            }),
            visibility: match (means, &self.server.log) {
                (Some(Means::Bpftrace), _) => Visibility::Traced,
                (Some(Means::Sample), _) => Visibility::Sampled,
                (None, None) => Visibility::ClientsOnly,
                (None, Some(_)) => Visibility::LogOnly,
            },
            ..Ready::new(Role::Proxy, std::process::id(), effective)
        }
    }
}
