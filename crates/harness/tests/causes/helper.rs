//! What runs beside a trial to break something: busy loops, and a log whose reader is slow.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustix::fs::{CWD, FileType, Mode, OFlags, mknodat};

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
