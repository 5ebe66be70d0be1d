//! From nothing to a server that is ready and watched, on a port that was kept for it.

use std::fs;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::path::Path;

use net::role;
use net::tcp::{Buffers, Listen};
use probe::{Means, Target, Tracer};
use records::{
    Content, Effective, ListenerMode, Placement, Program as ProgramRecord, Ready, Record, Role,
    SocketSetting, TraceMode, Visibility,
};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use socket2::{Domain, Protocol, Socket, Type};

use crate::access_log::{AccessLog, Follower};
use crate::check;
use crate::content::LocalFiles;
use crate::error::ServerError;
use crate::processes;
use crate::program::{self, Event, Place, Program, Stdout, Whose};
use crate::ready::Proven;
use crate::role::{Run, Up};
use crate::server::{PinnedBy, PortCare};
use crate::subreaper::SubreaperOptions;
use crate::workers::{Serving, Worker, Workers};

/// What the program said, in the run's directory for it.
const OUTPUT: &str = "output.log";

impl Run<'_> {
    /// Brings the server up, to [`Ready`]. `None`: we were told to stop meanwhile.
    pub(crate) fn start(&self) -> Result<Option<Up>, ServerError> {
        let (setting, arm) = (&self.setting, &self.options.arm);
        for (name, text) in setting.files() {
            fs::write(setting.dir.join(name), text)
                .map_err(ServerError::host("write its configuration"))?;
        }
        let (log, follower) = self.open_log().map_err(ServerError::host("write the access log"))?;
        let www = (arm.server.content == Content::File).then(|| setting.www());
        let program = self.prepare_program()?;
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
            probes: Vec::new(),
            _content: content,
        };
        match self.bring_up(&mut up) {
            Ok(brought) => Ok(brought.map(|()| up)),
            Err(error) => Err(error.quoting(&mut up.program)),
        }
    }

    /// Its log, and who reads it if it is a file: opened before the program writes to it, so that every
    /// line is ours.
    fn open_log(&self) -> io::Result<(Option<AccessLog>, Option<Follower>)> {
        let Some(format) = &self.setting.server.log else { return Ok((None, None)) };
        let log = AccessLog::new(format.clone(), &self.access_log)?;
        let file = self.setting.fill(&format.file);
        let follow =
            (!format.is_stdout()).then(|| Follower::start(Path::new(&file), self.teller()));
        Ok((Some(log), follow.transpose()?))
    }

    fn prepare_program(&self) -> Result<Program, ServerError> {
        let setting = &self.setting;
        let command = std::iter::once(setting.build.path.clone().into());
        let options = SubreaperOptions {
            below: None,
            cpus: setting.pin.filter(|_| self.pins()).cloned(),
            remove: (setting.arm.server.content == Content::File).then(|| setting.www()),
            command: command.chain(setting.args().into_iter().map(Into::into)).collect(),
        };
        let is_log = setting.server.log.as_ref().is_some_and(|format| format.is_stdout());
        let stdout = if is_log { Stdout::Log } else { Stdout::People };
        let own_dir = setting.arm.server.server_dir.as_deref();
        let run_dir = (!setting.server.is_command()).then_some(setting.dir.as_path());
        let place = Place {
            dir: own_dir.or(run_dir),
            env: setting.env(),
            output: setting.dir.join(OUTPUT),
        };
        Program::prepare(&options, place, stdout, self.teller())
            .map_err(ServerError::host(format!("start {}", self.name())))
    }

    /// Whether it is we who put its workers on CPUs.
    fn pins(&self) -> bool {
        self.setting.server.workers.pinned_by == PinnedBy::Us
    }

    /// Has the program start, proves that it does its work, and has its workers watched. `None`: we were
    /// told to stop.
    fn bring_up(&self, up: &mut Up) -> Result<Option<()>, ServerError> {
        let process = || ServerError::host("set up the process");
        let root = up.program.go().map_err(ServerError::host(format!("start {}", self.name())))?;
        let end = pidfd_open(root, PidfdFlags::empty()).map_err(io::Error::from);
        let end = end.map_err(process())?;
        self.tell_end(vec![end], Whose::First(root)).map_err(process())?;
        let Some(Proven { workers, serving, sockets }) = self.await_ready(up, root)? else {
            return Ok(None);
        };
        let means = self.fitting(serving)?;
        let processes = workers.processes(root);
        self.tell_end(processes, Whose::Worker).map_err(process())?;
        let workers = if means == Some(Means::Threads) { workers.whole() } else { workers };
        if let Some(cpus) = self.setting.pin.filter(|_| self.pins() && serving == Serving::Own)
            && self.setting.server.workers.are.can_be_traced()
        {
            workers.pin(cpus).map_err(process())?;
        }
        up.tracer = self.attach(&workers, means)?;
        let ready = self.ready(root, &workers, means, sockets);
        role::tell(&Record::Ready(ready))?;
        up.workers = workers;
        Ok(Some(()))
    }

    fn tell_end(&self, processes: Vec<OwnedFd>, whose: Whose) -> io::Result<()> {
        program::on_end(processes, whose, self.teller())
    }

    /// How its workers can be watched, now that it is known how they serve. Where one thread does the work
    /// of another, what is seen of each is no step: then all of them are traced together, or nothing is.
    fn fitting(&self, serving: Serving) -> Result<Option<Means>, ServerError> {
        let arm = &self.options.arm;
        let one_worker = arm.place == Placement::OneWorker;
        let asked = arm.server.trace == TraceMode::Sample || one_worker;
        match self.prepared.means {
            None => return Ok(None),
            means if serving == Serving::Own => return Ok(means),
            Some(Means::Probe) if !one_worker => return Ok(Some(Means::Threads)),
            Some(_) => {}
        }
        let error = ServerError::unfit(format_args!(
            "tell steps of {}: its threads hand work to each other, so that none of them serves what \
             its own poll returned; take --trace off, or as root --trace probe without --place",
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
        let target = |(worker, found): (u32, &Worker)| Target {
            worker,
            pid: number(found.pid),
            tid: number(found.tid),
        };
        let targets: Vec<Target> = (0..).zip(&workers.0).map(target).collect();
        let tell = self.teller();
        let told = move |record| tell(Event::Traced(Box::new(record)));
        let tracer = Tracer::attach(&targets, means, self.options.hold, told);
        tracer.map(Some).map_err(ServerError::host(format!("watch {}", self.name())))
    }

    fn ready(
        &self,
        root: Pid,
        workers: &Workers,
        means: Option<Means>,
        sockets: Vec<SocketSetting>,
    ) -> Ready {
        let Self { setting, .. } = self;
        let listening = processes::listening(root, setting.listen).unwrap_or_default();
        let congestion = listening.socket.and_then(|socket| net::tcp::congestion(&socket).ok());
        let effective = Effective {
            cpus: workers.cpus(root),
            congestion: congestion.or_else(check::system_congestion),
            sockets,
            max_open_files: setting.open_files,
        };
        Ready {
            listen: Some(setting.listen),
            worker_tids: workers.0.iter().map(|worker| worker.tid).collect(),
            listeners: workers.listeners(&listening.inodes),
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
}

/// A port that nobody listens on.
///
/// A socket that is bound with SO_REUSEADDR and does not listen keeps others from being given the
/// port, and lets a socket with the same option bind it (socket(7), `inet_csk_bind_conflict`).
#[derive(Debug)]
pub(crate) struct Reservation {
    pub(crate) addr: SocketAddr,
    _holder: Option<Socket>,
}

impl Reservation {
    /// The port of `addr`, or a free one if that is 0.
    ///
    /// # Errors
    /// Somebody listens on it, or it may not be used.
    pub(crate) fn of(addr: SocketAddr, care: PortCare) -> io::Result<Self> {
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
        Ok(Self { addr, _holder: (care == PortCare::Held).then_some(holder) })
    }
}
