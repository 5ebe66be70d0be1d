//! Starts listeners, workers and the writer, says that it is ready, and stops when told to.

use std::collections::BTreeSet;
use std::io::{self, BufWriter};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use mio::Waker;
use net::cpu;
use net::log_file;
use net::role::{self, RoleError};
use net::stop::{self, Next};
use records::{BufferingMode, Effective, LogMode, ProxyToggles, Ready, Record, Role, Spool};
use rustix::thread::gettid;
use socket2::SockRef;

use crate::ProxyOptions;
use crate::listener::Listeners;
use crate::recorder::{Recorder, RingReader};
use crate::session::{Limits, temp_file};
use crate::worker::{Worker, WorkerSetup};
use crate::writer::{InlineLog, Writer};

/// How long workers may take to end when told to. A step ends with the next piece that it moves; a
/// system call takes as long as it takes: a disk's, or that of a log which nobody reads.
pub const STOPPED_WITHIN: Duration = Duration::from_secs(3);

/// What the main thread waits for.
enum Event {
    Stop,
    WorkerEnded(u32, io::Result<()>),
    WriterEnded(io::Result<()>),
}

/// Runs the proxy until SIGTERM or SIGINT.
///
/// # Errors
/// See [`RoleError`]. Trouble with single connections is none: it is told in the records.
pub fn run(options: &ProxyOptions) -> Result<(), RoleError> {
    const LISTEN: &str = "open a listener";
    options.toggles.check().map_err(|error| RoleError::Usage(error.to_string()))?;
    let max_open_files = options.role.enter().map_err(RoleError::process)?;
    let listeners = Listeners::open(options).map_err(RoleError::host(LISTEN))?;
    let log =
        access_log(options, LogMode::Writer, |path| log_file::append(path).map(BufWriter::new))?;
    try_spool(&options.toggles)?;

    let limits = Arc::new(Limits {
        toggles: options.toggles.clone(),
        upstream: options.upstream,
        connections: fit_connections(options, max_open_files)?,
    });
    let (events, inbox) = mpsc::channel();
    let stop = Arc::new(AtomicBool::new(false));
    let setup = |index: u32| WorkerSetup {
        index,
        listener: listeners.of_worker(index),
        limits: Arc::clone(&limits),
        stop: Arc::clone(&stop),
    };
    let start = |index| start(setup(index), options, events.clone());
    let started: Result<Vec<_>, _> = (0..options.toggles.workers).map(start).collect();
    let (workers, rings): (Vec<Running>, _) = started?.into_iter().unzip();

    let stopper = events.clone();
    stop::on_signal(move |_| {
        let _ = stopper.send(Event::Stop);
        Next::Done
    })
    .map_err(RoleError::process)?;
    let effective = Effective {
        cpus: BTreeSet::from_iter(workers.iter().flat_map(|worker| &worker.cpus).copied())
            .into_iter()
            .collect(),
        max_open_files,
        sockets: listeners.read_back(options),
        congestion: net::tcp::congestion(&SockRef::from(&*listeners.of_worker(0))).ok(),
    };
    role::tell(&Record::Ready(Ready {
        listen: listeners.of_worker(0).local_addr().ok(),
        worker_tids: workers.iter().map(|worker| worker.tid).collect(),
        listeners: listeners.inodes().map_err(RoleError::host(LISTEN))?,
        ..Ready::new(Role::Proxy, std::process::id(), effective)
    }))?;

    let done = Arc::new(AtomicBool::new(false));
    let writer = Writer { rings, log };
    let writing = thread::Builder::new()
        .name(role::thread_name(Role::Proxy, "writer"))
        .spawn({
            let (done, events) = (Arc::clone(&done), events);
            move || {
                let _ = events.send(Event::WriterEnded(writer.run(&done)));
            }
        })
        .map_err(RoleError::process)?;

    let mut result = Ok(());
    let mut deadline: Option<Instant> = None;
    let mut present = workers.len();
    while present > 0 {
        let event = match deadline {
            None => inbox.recv().ok(),
            Some(at) => inbox.recv_timeout(at.saturating_duration_since(Instant::now())).ok(),
        };
        result = result.and(match event {
            Some(Event::Stop) => Ok(()),
            Some(Event::WriterEnded(ended)) => ended.map_err(role::unwritten),
            Some(Event::WorkerEnded(worker, ended)) => {
                present -= 1;
                ended.map_err(|error| worker_failed(worker, &error))
            }
            None => Err(stuck(std::mem::take(&mut present))),
        });
        // Whatever it was, it is the end.
        deadline.get_or_insert_with(|| {
            stop.store(true, Ordering::Relaxed);
            // A worker that has ended has no use for it.
            workers.iter().for_each(|worker| drop(worker.waker.wake()));
            Instant::now() + STOPPED_WITHIN
        });
    }
    done.store(true, Ordering::Release);
    writing.thread().unpark();
    let _ = writing.join();
    result
}

fn worker_failed(worker: u32, error: &io::Error) -> RoleError {
    RoleError::Unable(format!("failed to run worker {worker}: {error}"))
}

fn stuck(workers: usize) -> RoleError {
    RoleError::Unable(format!(
        "failed to end {workers} of its workers within {} s: they wait in a system call, for a disk \
         or for a log that nobody reads; their open sessions and their last totals are lost",
        STOPPED_WITHIN.as_secs()
    ))
}

/// A worker that watches its listener.
struct Running {
    waker: Waker,
    tid: i32,
    cpus: Vec<usize>,
}

/// Starts a worker on a thread of its own and waits until it watches its listener.
fn start(
    setup: WorkerSetup,
    options: &ProxyOptions,
    events: mpsc::Sender<Event>,
) -> Result<(Running, RingReader), RoleError> {
    let index = setup.index;
    let failed = |error| worker_failed(index, &error);
    let log = access_log(options, LogMode::Inline, InlineLog::open)?;
    let (hold, recording) = (options.hold, options.recording);
    let cpu = options.pin.as_ref().map(|cpus| cpus.in_turn(index as usize));
    let begin = move || {
        if let Some(cpu) = cpu {
            cpu::pin_current_thread(&[cpu])?;
        }
        let (cpus, tid) = (cpu::allowed()?, gettid().as_raw_nonzero().get());
        let (recorder, ring) = Recorder::new(index, hold, recording, net::clock::now());
        let (worker, waker) = Worker::new(setup, recorder, log)?;
        io::Result::Ok((worker, (Running { waker, tid, cpus }, ring)))
    };
    let (started, ready) = mpsc::channel();
    thread::Builder::new()
        .name(role::thread_name(Role::Proxy, &format!("worker{index}")))
        .spawn(move || match begin() {
            Ok((worker, running)) => {
                let _ = started.send(Ok(running));
                let _ = events.send(Event::WorkerEnded(index, worker.run()));
            }
            Err(error) => drop(started.send(Err(error))),
        })
        .map_err(failed)?;
    let gone = |_| Err(io::Error::other("its thread ended before it began"));
    ready.recv().unwrap_or_else(gone).map_err(failed)
}

/// What `open` makes of the path of the access log, if there is one and its lines are written in this mode.
fn access_log<T>(
    options: &ProxyOptions,
    mode: LogMode,
    open: impl FnOnce(&Path) -> io::Result<T>,
) -> Result<Option<T>, RoleError> {
    let path = options.access_log.as_deref().filter(|_| options.toggles.log_mode == mode);
    let Some(path) = path else { return Ok(None) };
    open(path).map(Some).map_err(|error| {
        let path = path.display();
        RoleError::Unable(format!(
            "failed to open the access log {path}: {error}: name a place that can be written with \
             --access-log"
        ))
    })
}

/// Whether temporary files can be made: better asked now than by the first slow client.
fn try_spool(toggles: &ProxyToggles) -> Result<(), RoleError> {
    if toggles.buffering != BufferingMode::On || toggles.spool == Spool::Off {
        return Ok(());
    }
    temp_file(&toggles.spool).map(drop).map_err(|error| {
        let spool = &toggles.spool;
        RoleError::Unable(format!(
            "failed to make a temporary file (--spool {spool}): {error}: name a directory that can be \
             written"
        ))
    })
}

/// Sessions a worker may hold, if the host has descriptors for them: two each, or three where they
/// spool, and some for the process itself.
fn fit_connections(options: &ProxyOptions, limit: u64) -> Result<usize, RoleError> {
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
    Err(RoleError::Unable(format!(
        "needs {} open files for {sessions} sessions, the limit is {limit}: raise it with `ulimit -n`, \
         or lower --worker-connections",
        needed(sessions)
    )))
}
