//! The faults, as data: what is broken on purpose, what the explanation must name, and what runs beside a
//! trial to break it: busy loops, and a log whose reader is slow.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use records::Cause::{
    self, AcceptQueue, BacklogOverflow, Client, Convoy, CpuWithheld, HeldByStep, NoPorts,
    OffCpuBlocked, OffCpuRunnable, OwnTransfer, Upstream, UpstreamWorkers,
};
use rustix::fs::{CWD, FileType, Mode, OFlags, mknodat};

/// A fault, or two at once.
pub(crate) struct Fault {
    /// Its name in the table.
    pub(crate) name: &'static str,
    /// The causes that must be named before all others.
    pub(crate) causes: &'static [Cause],
    /// What `turnstile` is told beyond the lengths of the phases; `WORKERS` is the workers' CPU.
    pub(crate) args: &'static str,
    /// What runs beside it from the measure phase on.
    pub(crate) helper: Helper,
}

/// Name, causes, options, helper.
type Row = (&'static str, &'static [Cause], &'static str, Helper);

/// Every fault of the bench. All run on two CPUs: workers on the first, load on the second.
const TABLE: [Row; 14] = [
    ("a proxy that drains", &[HeldByStep], "--reuseport", Helper::None),
    (
        "32 downloads, a quota of 64 KiB",
        &[Convoy],
        "--reuseport --slow 32 --read-policy bytes:64KiB",
        Helper::None,
    ),
    (
        "200 connections at once, one accept a turn",
        &[AcceptQueue],
        "--reuseport --slow 8 --read-policy bytes:256KiB --burst 200 --arrivals 1/s --fetch-size 1KiB",
        Helper::None,
    ),
    (
        "a backlog of 1 behind a draining worker",
        &[BacklogOverflow],
        "--reuseport --backlog 1 --arrivals 40/s",
        Helper::None,
    ),
    // Ten a second are too few: one that another process delayed would be most of the late time.
    (
        "busy loops on the workers' CPU",
        &[OffCpuRunnable],
        "--slow 0 --reuseport --arrivals 40/s --neighbours 20",
        Helper::None,
    ),
    // It stands still for 85 ms of each 100: longer than what a busy host makes of a fetch while idle.
    (
        "a quota of 15 % of a CPU",
        &[CpuWithheld],
        "--slow 0 --reuseport --arrivals closed:8 --fetch-size 91KiB --cpu-quota 15",
        Helper::None,
    ),
    (
        "a log whose reader is slow",
        &[OffCpuBlocked],
        "--slow 0 --reuseport --log-mode inline --arrivals 100/s --fetch-size 40KiB",
        Helper::SlowLog,
    ),
    ("an origin that delays 300 ms", &[Upstream], "--slow 0 --delay 300ms", Helper::None),
    (
        "an origin of 5 workers, 100 requests",
        &[UpstreamWorkers],
        "--slow 0 --delay 20ms --origin-workers 5 --burst 100 --arrivals 1/s --fetch-size 40KiB",
        Helper::None,
    ),
    (
        "20 ports, 400 connections at once",
        &[NoPorts],
        "--slow 0 --netns --sysctl net.ipv4.ip_local_port_range=20000,20019 --delay 20ms --burst 400 \
         --arrivals 1/s --fetch-size 1KiB",
        Helper::None,
    ),
    (
        "a fetch too large for its cap",
        &[OwnTransfer],
        "--slow 0 --fetch-size 4GiB --arrivals 1/s",
        Helper::None,
    ),
    (
        "busy loops on the client's CPU",
        &[Client],
        "--slow 0 --cpus origin=WORKERS --arrivals 80/s",
        Helper::HogsOnLoad,
    ),
    (
        "two: a backlog of 3, a draining worker",
        &[BacklogOverflow, HeldByStep],
        "--reuseport --backlog 3 --arrivals 40/s",
        Helper::None,
    ),
    (
        "two: an origin that delays 700 ms, busy loops on the workers' CPU",
        &[Upstream, OffCpuRunnable],
        "--slow 0 --delay 700ms --neighbours 20",
        Helper::None,
    ),
];

/// Every fault that this process may make: a quota and hosts of its own need root.
pub(crate) fn faults() -> Vec<Fault> {
    let root = rustix::process::geteuid().is_root();
    let needs = |args: &str| ["--cpu-quota", "--netns"].iter().any(|flag| args.contains(flag));
    let possible = TABLE.into_iter().filter(|(_, _, args, _)| root || !needs(args));
    possible.map(|(name, causes, args, helper)| Fault { name, causes, args, helper }).collect()
}

/// Which help a fault needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Helper {
    /// None: flags alone make it.
    None,
    /// Busy loops on the second CPU, where the load is.
    HogsOnLoad,
    /// The access log is a pipe whose reader takes a line now and then.
    SlowLog,
}

/// One of the two CPUs of a trial, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Half {
    /// Where the workers are.
    Workers,
    /// Where all else is.
    Load,
}

impl Half {
    pub(crate) fn cpu(self) -> usize {
        net::cpu::allowed().expect("an affinity")[self as usize]
    }
}

/// Threads that end with it.
pub(crate) struct Beside {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
    pipe: Option<PathBuf>,
}

/// Busy loops beside one busy thread leave it a twentieth of the CPU or so, as `--neighbours 20` does.
const HOGS: usize = 20;
/// The slow reader takes a whole page, the smallest part of a pipe whose end wakes a writer
/// (pipe(7)), and that seldom: some thirty lines of the log.
const SIP: usize = 4_096;
const BETWEEN_SIPS: Duration = Duration::from_millis(400);

impl Beside {
    pub(crate) fn new() -> Self {
        Self { stop: Arc::new(AtomicBool::new(false)), threads: Vec::new(), pipe: None }
    }

    /// Burns a CPU until dropped.
    pub(crate) fn hogs(&mut self, half: Half) {
        let cpu = half.cpu();
        for _ in 0..HOGS {
            let stop = Arc::clone(&self.stop);
            self.threads.push(thread::spawn(move || {
                net::cpu::pin_current_thread(&[cpu]).expect("a CPU of this host");
                while !stop.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            }));
        }
    }

    /// Makes `path` a pipe and reads it, fast until `slow` is set.
    pub(crate) fn slow_log(&mut self, path: &Path, slow: &Arc<AtomicBool>) {
        mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("a pipe");
        self.pipe = Some(path.to_owned());
        let (path, stop, slow) = (path.to_owned(), Arc::clone(&self.stop), Arc::clone(slow));
        self.threads.push(thread::spawn(move || {
            let mut pipe = File::open(path).expect("the pipe");
            rustix::pipe::fcntl_setpipe_size(&pipe, SIP).expect("a small pipe");
            let mut sip = [0; SIP];
            while pipe.read(&mut sip).is_ok_and(|read| read > 0) {
                // The pause is the fault: it is what makes the worker wait.
                if slow.load(Ordering::Relaxed) && !stop.load(Ordering::Relaxed) {
                    thread::sleep(BETWEEN_SIPS);
                }
            }
        }));
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(pipe) = &self.pipe {
            // A reader that still waits for the first writer gets one, which closes at once.
            let flags = OFlags::WRONLY | OFlags::NONBLOCK;
            let _ = rustix::fs::open(pipe, flags, Mode::empty());
        }
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}
