//! Starts listeners, workers and the writer, says that it is ready, and stops when told to.

use std::io::{self, BufWriter};
use std::net::{SocketAddr, TcpListener as StdTcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use mio::Waker;
use mio::net::TcpListener;
use net::cpu;
use net::log_file;
use net::role;
use net::stop::{self, Next};
use net::tcp::{Dial, Listen};
use records::{
    AcceptMode, BufferingMode, Bytes, Effective, ListenerMode, LogMode, Ready, Record, Role,
    SocketSetting, Spool,
};
use rustix::fs::fstat;
use rustix::thread::gettid;

use crate::access_log::{InlineLog, LostLines};
use crate::error::ProxyError;
use crate::options::{ProxyOptions, ProxyToggles};
use crate::recorder::{Outlet, Recorder};
use crate::session::{Buffering, GzipLevel, Limits};
use crate::worker::{AcceptBatch, Watch, Worker, WorkerSetup};
use crate::writer::{LogPart, Writer};

/// How long workers may take to end when told to. A step ends with the next piece that it moves; a
/// system call takes as long as it takes: a disk's, or that of a log which nobody reads.
pub const STOPPED_WITHIN: Duration = Duration::from_secs(3);

/// What the main thread waits for.
enum News {
    Stop,
    WorkerEnded(u32, io::Result<()>),
    WriterEnded(io::Result<()>),
}

/// Runs the proxy until SIGTERM or SIGINT.
///
/// # Errors
/// See [`ProxyError`]. Trouble with single connections is none: it is told in the records.
pub fn run(options: &ProxyOptions) -> Result<(), ProxyError> {
    options.toggles.check()?;
    let max_open_files = options.role.enter().map_err(ProxyError::Process)?;
    let connections = fit_connections(options, max_open_files)?;
    let listeners = open_listeners(options).map_err(ProxyError::Listen)?;
    let listen = listeners.first().and_then(|listener| listener.local_addr().ok());
    let (mut inline_logs, log) = open_access_log(options)?;
    try_spool(&options.toggles)?;

    let watch = watch(&options.toggles);
    let (news, inbox) = mpsc::channel();
    let stop = Arc::new(AtomicBool::new(false));
    let setup = |index: u32| WorkerSetup {
        index,
        listener: Arc::clone(&listeners[index as usize % listeners.len()]),
        watch: watch.clone(),
        accept: if options.toggles.multi_accept { AcceptBatch::All } else { AcceptBatch::One },
        connections,
        upstream: options.upstream,
        upstream_buffers: options.toggles.upstream_buffers(),
        limits: Arc::new(limits(options)),
        stop: Arc::clone(&stop),
    };
    let mut crew = Crew::default();
    for index in 0..options.toggles.workers {
        crew.hire(setup(index), inline_logs.pop(), options, news.clone())?;
    }

    let stopper = news.clone();
    stop::on_signal(move |_| {
        let _ = stopper.send(News::Stop);
        Next::Done
    })
    .map_err(ProxyError::Process)?;
    let effective = Effective {
        cpus: crew.cpus.clone(),
        max_open_files,
        sockets: read_back(options, &listeners),
        congestion: congestion(&listeners),
    };
    role::print(&Record::Ready(Ready {
        listen,
        worker_tids: crew.tids.clone(),
        listeners: inodes(&listeners).map_err(ProxyError::Listen)?,
        ..Ready::new(Role::Proxy, std::process::id(), effective)
    }))
    .map_err(ProxyError::Records)?;

    let done = Arc::new(AtomicBool::new(false));
    let writer = Writer { rings: std::mem::take(&mut crew.rings), log };
    let writing = thread::Builder::new()
        .name(role::thread_name(Role::Proxy, "writer"))
        .spawn({
            let (done, news) = (Arc::clone(&done), news);
            move || {
                let _ = news.send(News::WriterEnded(writer.run(&done)));
            }
        })
        .map_err(ProxyError::Records)?;

    let mut result = match inbox.recv() {
        Ok(News::Stop) | Err(_) => Ok(()),
        Ok(News::WorkerEnded(worker, ended)) => {
            crew.present -= 1;
            ended.map_err(|source| ProxyError::Worker { worker, source })
        }
        Ok(News::WriterEnded(ended)) => ended.map_err(ProxyError::Records),
    };
    stop.store(true, Ordering::Relaxed);
    crew.wake();
    let deadline = Instant::now() + STOPPED_WITHIN;
    while crew.present > 0 {
        match inbox.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(News::WorkerEnded(..)) => crew.present -= 1,
            Ok(News::WriterEnded(ended)) => result = result.and(ended.map_err(ProxyError::Records)),
            Ok(News::Stop) => {}
            Err(_) => {
                result = result.and(Err(ProxyError::Stuck { workers: crew.present }));
                break;
            }
        }
    }
    done.store(true, Ordering::Release);
    writing.thread().unpark();
    let _ = writing.join();
    result
}

/// The workers that were started.
#[derive(Default)]
struct Crew {
    wakers: Vec<Waker>,
    tids: Vec<i32>,
    cpus: Vec<usize>,
    rings: Vec<Outlet>,
    present: usize,
}

impl Crew {
    /// Starts a worker on a thread of its own and waits until it watches its listener.
    fn hire(
        &mut self,
        setup: WorkerSetup,
        log: Option<InlineLog>,
        options: &ProxyOptions,
        news: mpsc::Sender<News>,
    ) -> Result<(), ProxyError> {
        let worker = setup.index;
        let failed = |source| ProxyError::Worker { worker, source };
        let (recorder, ring) = Recorder::new(worker, options.hold, options.recording);
        let cpu = options.pin.as_ref().map(|cpus| cpus.in_turn(worker as usize));
        let (started, ready) = mpsc::channel();
        thread::Builder::new()
            .name(role::thread_name(Role::Proxy, &format!("worker{worker}")))
            .spawn(move || {
                let made = pin(cpu).and_then(|cpus| {
                    let (worker, waker) = Worker::new(setup, recorder, log)?;
                    Ok((worker, waker, cpus))
                });
                let ended = match made {
                    Ok((worker, waker, cpus)) => {
                        let _ = started.send(Ok((waker, gettid().as_raw_nonzero().get(), cpus)));
                        worker.run()
                    }
                    Err(error) => {
                        let _ = started.send(Err(error));
                        return;
                    }
                };
                let _ = news.send(News::WorkerEnded(worker, ended));
            })
            .map_err(failed)?;
        let gone = |_| io::Error::other("its thread ended before it began");
        let (waker, tid, cpus) =
            ready.recv().map_err(gone).and_then(|made| made).map_err(failed)?;
        self.wakers.push(waker);
        self.tids.push(tid);
        self.cpus
            .extend(cpus.into_iter().filter(|cpu| !self.cpus.contains(cpu)).collect::<Vec<_>>());
        self.rings.push(ring);
        self.present += 1;
        Ok(())
    }

    fn wake(&self) {
        for waker in &self.wakers {
            // A worker that has ended has no use for it.
            let _ = waker.wake();
        }
    }
}

fn pin(cpu: Option<usize>) -> io::Result<Vec<usize>> {
    if let Some(cpu) = cpu {
        cpu::pin_current_thread(&[cpu])?;
    }
    cpu::allowed()
}

/// One listener for all workers, or one for each.
fn open_listeners(options: &ProxyOptions) -> io::Result<Vec<Arc<TcpListener>>> {
    let mode = options.toggles.listener_mode();
    let open = |addr: SocketAddr| -> io::Result<_> {
        let listen = Listen {
            addr,
            mode,
            backlog: options.toggles.backlog,
            buffers: options.toggles.client_buffers(),
        };
        let socket = listen.open()?;
        net::tcp::set_congestion(&socket, &options.toggles.congestion)?;
        Ok(Arc::new(TcpListener::from_std(StdTcpListener::from(socket))))
    };
    // With SO_REUSEPORT a foreign process of ours could hold the port already and take a share of
    // the connections: look for it without the option first.
    if mode == ListenerMode::Reuseport && options.listen.port() != 0 {
        drop(
            Listen {
                addr: options.listen,
                mode: ListenerMode::Shared,
                backlog: 1,
                buffers: net::tcp::Buffers::default(),
            }
            .open()?,
        );
    }
    let first = open(options.listen)?;
    let addr = first.local_addr()?;
    let mut listeners = vec![first];
    if mode == ListenerMode::Reuseport {
        for _ in 1..options.toggles.workers {
            listeners.push(open(addr)?);
        }
    }
    Ok(listeners)
}

/// How workers watch their listeners. With one worker there is no lock to be had and nobody to be
/// exclusive to, as in nginx (`ngx_event_process_init`).
fn watch(toggles: &ProxyToggles) -> Watch {
    match (toggles.listener_mode(), toggles.workers, toggles.accept) {
        (ListenerMode::Reuseport, _, _) | (_, 1, _) | (_, _, AcceptMode::Herd) => Watch::Always,
        (ListenerMode::Shared, _, AcceptMode::Exclusive) => Watch::Exclusive,
        (ListenerMode::Shared, _, AcceptMode::Mutex) => Watch::WithLock(Arc::default()),
    }
}

/// Which listener is whose, for those who look at their queues from outside.
fn inodes(listeners: &[Arc<TcpListener>]) -> io::Result<Vec<u64>> {
    listeners.iter().map(|listener| Ok(fstat(&**listener)?.st_ino)).collect()
}

/// Opens the access log: once for each worker that writes it itself, or once for the writer.
fn open_access_log(options: &ProxyOptions) -> Result<(Vec<InlineLog>, LogPart), ProxyError> {
    let Some(path) = &options.access_log else { return Ok((Vec::new(), LogPart::Nothing)) };
    let opened = match options.toggles.log_mode {
        LogMode::Inline => (0..options.toggles.workers)
            .map(|_| InlineLog::open(path))
            .collect::<io::Result<_>>()
            .map(|logs| (logs, LogPart::Speak(LostLines::of(path.clone())))),
        LogMode::Writer => {
            log_file::append(path).map(|file| (Vec::new(), LogPart::Write(BufWriter::new(file))))
        }
    };
    opened.map_err(|source| ProxyError::AccessLog { path: path.display().to_string(), source })
}

/// Whether temporary files can be made: better asked now than by the first slow client.
fn try_spool(toggles: &ProxyToggles) -> Result<(), ProxyError> {
    let Some(Buffering { dir, file_max: Bytes(1..) }) = buffering(toggles) else { return Ok(()) };
    match tempfile::tempfile_in(&dir) {
        Ok(_) => Ok(()),
        Err(source) => Err(ProxyError::Spool { dir: dir.display().to_string(), source }),
    }
}

/// Sessions a worker may hold, if the host has descriptors for them: two each, or three where they
/// spool, and some for the process itself.
fn fit_connections(options: &ProxyOptions, limit: u64) -> Result<usize, ProxyError> {
    const OF_THE_PROCESS: u64 = 64;
    let workers = u64::from(options.toggles.workers);
    let sessions = workers * u64::from(options.toggles.worker_connections);
    let each = if options.toggles.buffering == BufferingMode::On { 3 } else { 2 };
    let needed = |sessions: u64| sessions * each + workers * 4 + OF_THE_PROCESS;
    if needed(sessions) <= limit {
        return Ok(options.toggles.worker_connections as usize);
    }
    // The default is a ceiling, not a promise: fit it. What was asked for is one.
    let fitting = limit.saturating_sub(needed(0)) / each / workers;
    let default = ProxyToggles::default().worker_connections;
    if options.toggles.worker_connections == default && fitting >= 64 {
        return Ok(usize::try_from(fitting).unwrap_or(usize::MAX));
    }
    Err(ProxyError::TooFewFiles { needed: needed(sessions), sessions, limit })
}

fn limits(options: &ProxyOptions) -> Limits {
    let toggles = &options.toggles;
    Limits {
        read_policy: toggles.read_policy,
        buffer: toggles.buffer,
        upstream_host: options.upstream.to_string(),
        header_timeout: toggles.header_timeout.as_duration(),
        connect_timeout: toggles.connect_timeout.as_duration(),
        upstream_timeout: toggles.upstream_timeout.as_duration(),
        send_timeout: toggles.send_timeout.as_duration(),
        buffering: buffering(toggles),
        gzip: toggles.gzip.map(GzipLevel),
    }
}

/// How answers are buffered; `None`: they are not.
fn buffering(toggles: &ProxyToggles) -> Option<Buffering> {
    // `proxy_max_temp_file_size`.
    let file_max = toggles.spool_max.unwrap_or(Bytes::gib(1));
    let (dir, file_max) = match &toggles.spool {
        Spool::Dir(dir) => (dir.clone(), file_max),
        Spool::Default => (std::env::temp_dir(), file_max),
        Spool::Off => (PathBuf::new(), Bytes(0)),
    };
    (toggles.buffering == BufferingMode::On).then_some(Buffering { dir, file_max })
}

/// The congestion control that accepted connections inherit.
fn congestion(listeners: &[Arc<TcpListener>]) -> Option<String> {
    let socket = socket2::SockRef::from(&**listeners.first()?);
    net::tcp::congestion(&socket).ok()
}

/// The buffers as the kernel keeps them, on our listener and on an upstream socket that is made for
/// the question and connects to nothing.
fn read_back(options: &ProxyOptions, listeners: &[Arc<TcpListener>]) -> Vec<SocketSetting> {
    let mut settings = Vec::new();
    if let Some(listener) = listeners.first() {
        let socket = socket2::SockRef::from(&**listener);
        let buffers = options.toggles.client_buffers();
        settings.extend(buffers.read_back(&socket, "accepted").unwrap_or_default());
    }
    let buffers = options.toggles.upstream_buffers();
    let unused = Dial { addr: options.upstream, from: None, buffers }.make();
    if let Ok(socket) = unused {
        settings.extend(buffers.read_back(&socket, "upstream").unwrap_or_default());
    }
    settings.retain(|setting| setting.effective > Bytes(0));
    settings
}
