//! The faults, as data: what is broken on purpose, what the explanation must name, and what runs beside a
//! trial to break it: busy loops, and a log whose reader is slow.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use records::Cause;
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

/// Every fault of the bench. All run on two CPUs: workers on the first, load on the second.
pub(crate) const FAULTS: [Fault; 12] = [
    Fault {
        name: "a proxy that drains",
        causes: &[Cause::HeldByStep],
        args: "--reuseport",
        helper: Helper::None,
    },
    Fault {
        name: "32 downloads, a quota of 64 KiB",
        causes: &[Cause::Convoy],
        args: "--reuseport --slow 32 --read-policy bytes:64KiB",
        helper: Helper::None,
    },
    Fault {
        name: "200 connections at once, one accept a turn",
        causes: &[Cause::AcceptQueue],
        args: "--reuseport --slow 8 --read-policy bytes:256KiB --burst 200 --arrivals 1/s \
               --fetch-size 1KiB",
        helper: Helper::None,
    },
    Fault {
        name: "a backlog of 1 behind a draining worker",
        causes: &[Cause::BacklogOverflow],
        args: "--reuseport --backlog 1 --arrivals 40/s",
        helper: Helper::None,
    },
    Fault {
        name: "busy loops on the workers' CPU",
        causes: &[Cause::OffCpuRunnable],
        // Ten a second are too few: one that another process delayed would be most of the late time.
        args: "--slow 0 --reuseport --arrivals 40/s",
        helper: Helper::HogsOnWorkers,
    },
    Fault {
        name: "a log whose reader is slow",
        causes: &[Cause::OffCpuBlocked],
        args: "--slow 0 --reuseport --log-mode inline --arrivals 100/s --fetch-size 40KiB",
        helper: Helper::SlowLog,
    },
    Fault {
        name: "an origin that delays 300 ms",
        causes: &[Cause::Upstream],
        args: "--slow 0 --delay 300ms",
        helper: Helper::None,
    },
    Fault {
        name: "an origin of 5 workers, 100 requests",
        causes: &[Cause::Upstream],
        args: "--slow 0 --delay 20ms --origin-workers 5 --burst 100 --arrivals 1/s \
               --fetch-size 40KiB",
        helper: Helper::None,
    },
    Fault {
        name: "a fetch too large for its cap",
        causes: &[Cause::OwnTransfer],
        args: "--slow 0 --fetch-size 4GiB --arrivals 1/s",
        helper: Helper::None,
    },
    Fault {
        name: "busy loops on the client's CPU",
        causes: &[Cause::Client],
        args: "--slow 0 --cpus origin=WORKERS --arrivals 80/s",
        helper: Helper::HogsOnLoad,
    },
    Fault {
        name: "two: a backlog of 3, a draining worker",
        causes: &[Cause::BacklogOverflow, Cause::HeldByStep],
        args: "--reuseport --backlog 3 --arrivals 40/s",
        helper: Helper::None,
    },
    Fault {
        name: "two: an origin that delays 700 ms, busy loops on the workers' CPU",
        causes: &[Cause::Upstream, Cause::OffCpuRunnable],
        args: "--slow 0 --delay 700ms",
        helper: Helper::HogsOnWorkers,
    },
];

/// Which help a fault needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Helper {
    /// None: flags alone make it.
    None,
    /// Busy loops on the first CPU, where the workers are.
    HogsOnWorkers,
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

/// Busy loops beside one busy thread leave it a twentieth of the CPU or so.
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
