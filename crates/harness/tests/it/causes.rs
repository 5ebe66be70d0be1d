//! The bench of faults: each cause is made on purpose, and the explanation must name it first.
//!
//! `cargo test -p harness --test it ten_rounds -- --ignored --nocapture` runs every fault ten times, and
//! prints what each trial said.

use std::fmt::Write as _;
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
use records::{CauseShare, CaveatCode, Summary};
use rustix::fs::{CWD, FileType, Mode, OFlags, mknodat};
use testkit::{Running, Turn, in_turn, skip};

use crate::support::{Runs, share, turnstile};

/// Late time that may stay unexplained.
const UNEXPLAINED: f64 = 0.1;
/// A cause that is one of two must have at least so much.
const NAMED: f64 = 0.03;
/// Right trials that prove a fault named, and wrong ones that prove it is not: what others on this host add
/// may be the larger cause by chance.
const ENOUGH: usize = 2;
/// Trials of a fault at most; wrong ones that others disturbed count for nothing.
const TRIES: usize = 6;
/// The phases of a trial that is one of a few, and of one that is measured.
const SHORT: [&str; 4] = ["--idle", "500ms", "--duration", "1s"];
/// The same for bursts, one a second: the first comes while its client starts, which is a cause too;
/// and for loops that take the CPU in turns.
const LONGER: [&str; 4] = ["--idle", "500ms", "--duration", "2s"];
const LONG: [&str; 4] = ["--idle", "2s", "--duration", "4s"];

#[test]
fn each_fault_is_named_first() {
    let Some(_cpus) = two_cpus() else { return };
    let mut not_named = String::new();
    for fault in faults() {
        let longer = ["--burst", "--neighbours"].iter().any(|slow| fault.args.contains(slow));
        let phases = if longer { &LONGER } else { &SHORT };
        let (mut right, mut wrong) = (0, Vec::new());
        for _ in 0..TRIES {
            let summary = run(fault, phases);
            if is_right(fault, &summary) {
                right += 1;
            } else if !is_disturbed(fault, &summary) {
                wrong.push(told(&summary));
            }
            if right == ENOUGH || wrong.len() == ENOUGH {
                break;
            }
        }
        if wrong.len() == ENOUGH {
            let _ = writeln!(not_named, "{}: {right} right, and {}", fault.name, wrong.join("; "));
        } else if right < ENOUGH {
            skip(format_args!("{}: others keep this host busy", fault.name));
        }
    }
    assert!(not_named.is_empty(), "{not_named}");
}

/// Prints what each trial said; `docs/internals/measurements.md` has it as a table.
#[test]
#[ignore = "twenty minutes: run it to measure, not to check"]
fn ten_rounds() {
    let Some(_cpus) = two_cpus() else { panic!("needs two CPUs") };
    let mut wrong = String::new();
    for round in 1..=10 {
        for fault in faults() {
            let summary = run(fault, &LONG);
            let line = format!("round {round}, {}: {}", fault.name, told(&summary));
            println!("{line}");
            if !is_right(fault, &summary) {
                let _ = writeln!(wrong, "{line}");
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// Puts this thread, and what it starts, on the first two CPUs it may use, one trial at a time: the
/// workers of a trial on the first, its load on the second. `None` on a host with one.
fn two_cpus() -> Option<Turn> {
    let allowed = net::cpu::allowed().expect("an affinity");
    let Some(two) = allowed.get(..2) else {
        skip(format_args!("it needs two CPUs, and this process may use {allowed:?}"));
        return None;
    };
    net::cpu::pin_current_thread(two).expect("CPUs that are allowed");
    Some(in_turn())
}

/// The expected causes come first, the largest of them at the head, and little stays unexplained.
/// Which of two faults takes more is not ours to know: it differs from trial to trial.
fn is_right(fault: &Fault, summary: &Summary) -> bool {
    let named: Vec<Cause> = summary.causes.iter().map(|share| share.cause).collect();
    let first = named.get(..fault.causes.len()).unwrap_or_default();
    let falling = |pair: &[CauseShare]| pair[0].time_us >= pair[1].time_us;
    fault.causes.iter().all(|&cause| first.contains(&cause) && share(summary, cause) >= NAMED)
        && summary.causes.windows(2).all(falling)
        && share(summary, Cause::Unexplained) <= UNEXPLAINED
}

fn told(summary: &Summary) -> String {
    let mut text = format!("{} late:", summary.late.fetches);
    for share in &summary.causes {
        let _ = write!(text, " {} {:.1} %", share.cause, share.share_of_late_time * 100.0);
    }
    text
}

/// Whether others had CPU time that the workers wanted; of a fault that is other work itself that is no
/// news, unless it was the hypervisor.
fn is_disturbed(fault: &Fault, summary: &Summary) -> bool {
    let is_work = fault.helper == Helper::HogsOnLoad || fault.args.contains("--neighbours");
    summary.caveats.iter().any(|caveat| match caveat.code {
        CaveatCode::StolenCpu => true,
        CaveatCode::BusyHost => !is_work,
        _ => false,
    })
}

/// One trial of a fault; what is beside it begins with the measure phase and ends with the trial.
fn run(fault: &Fault, phases: &[&str]) -> Summary {
    let (runs, elsewhere) = (Runs::new(), tempfile::tempdir().expect("a directory"));
    let mut beside = Beside::default();
    let slow = Arc::new(AtomicBool::new(false));
    let args = fault.args.replace("WORKERS", &cpu(0).to_string());
    let mut command = turnstile();
    command.arg("--json").args(phases).arg("--runs-dir").arg(runs.path());
    command.args(args.split_whitespace());
    if fault.helper == Helper::SlowLog {
        let pipe = elsewhere.path().join("access.pipe");
        beside.slow_log(&pipe, &slow);
        command.arg("--access-log").arg(pipe);
    }
    let mut trial = Running::start(&mut command);
    while let Some(line) = trial.complaint() {
        if line.starts_with("measure:") {
            match fault.helper {
                Helper::None => {}
                Helper::HogsOnLoad => beside.hogs(),
                Helper::SlowLog => slow.store(true, Ordering::Relaxed),
            }
        }
        if line.starts_with("teardown:") {
            // What follows is the harness' own work: let it be done.
            drop(std::mem::take(&mut beside));
        }
    }
    crate::support::summary(&trial.finish().ended_well())
}

/// A fault, or two at once.
struct Fault {
    /// Its name in the table.
    name: &'static str,
    /// The causes that must be named before all others.
    causes: &'static [Cause],
    /// What `turnstile` is told beyond the lengths of the phases; `WORKERS` is the workers' CPU.
    args: &'static str,
    /// What runs beside it from the measure phase on.
    helper: Helper,
}

const fn fault(
    name: &'static str,
    causes: &'static [Cause],
    args: &'static str,
    helper: Helper,
) -> Fault {
    Fault { name, causes, args, helper }
}

/// Every fault of the bench. All run on two CPUs: workers on the first, load on the second.
static TABLE: [Fault; 14] = [
    fault("a proxy that drains", &[HeldByStep], "--reuseport", Helper::None),
    fault(
        "32 downloads, a quota of 64 KiB",
        &[Convoy],
        "--reuseport --slow 32 --read-policy bytes:64KiB",
        Helper::None,
    ),
    fault(
        "200 connections at once, one accept a turn",
        &[AcceptQueue],
        "--reuseport --slow 8 --read-policy bytes:256KiB --burst 200 --arrivals 1/s --fetch-size 1KiB",
        Helper::None,
    ),
    fault(
        "a backlog of 1 behind a draining worker",
        &[BacklogOverflow],
        "--reuseport --backlog 1 --arrivals 40/s",
        Helper::None,
    ),
    // Ten a second are too few: one that another process delayed would be most of the late time.
    fault(
        "busy loops on the workers' CPU",
        &[OffCpuRunnable],
        "--slow 0 --reuseport --arrivals 40/s --neighbours 20",
        Helper::None,
    ),
    // It stands still for 85 ms of each 100: longer than what a busy host makes of a fetch while idle.
    fault(
        "a quota of 15 % of a CPU",
        &[CpuWithheld],
        "--slow 0 --reuseport --arrivals closed:8 --fetch-size 91KiB --cpu-quota 15",
        Helper::None,
    ),
    fault(
        "a log whose reader is slow",
        &[OffCpuBlocked],
        "--slow 0 --reuseport --log-mode inline --arrivals 100/s --fetch-size 40KiB",
        Helper::SlowLog,
    ),
    fault("an origin that delays 300 ms", &[Upstream], "--slow 0 --delay 300ms", Helper::None),
    fault(
        "an origin of 5 workers, 100 requests",
        &[UpstreamWorkers],
        "--slow 0 --delay 20ms --origin-workers 5 --burst 100 --arrivals 1/s --fetch-size 40KiB",
        Helper::None,
    ),
    fault(
        "20 ports, 400 connections at once",
        &[NoPorts],
        "--slow 0 --netns --sysctl net.ipv4.ip_local_port_range=20000,20019 --delay 20ms --burst 400 \
         --arrivals 1/s --fetch-size 1KiB",
        Helper::None,
    ),
    fault(
        "a fetch too large for its cap",
        &[OwnTransfer],
        "--slow 0 --fetch-size 4GiB --arrivals 1/s",
        Helper::None,
    ),
    fault(
        "busy loops on the client's CPU",
        &[Client],
        "--slow 0 --cpus origin=WORKERS --arrivals 80/s",
        Helper::HogsOnLoad,
    ),
    fault(
        "two: a backlog of 3, a draining worker",
        &[BacklogOverflow, HeldByStep],
        "--reuseport --backlog 3 --arrivals 40/s",
        Helper::None,
    ),
    fault(
        "two: an origin that delays 700 ms, busy loops on the workers' CPU",
        &[Upstream, OffCpuRunnable],
        "--slow 0 --delay 700ms --neighbours 20",
        Helper::None,
    ),
];

/// Every fault that this process may make: a quota and hosts of its own need root.
fn faults() -> impl Iterator<Item = &'static Fault> {
    let root = rustix::process::geteuid().is_root();
    let needs = |args: &str| ["--cpu-quota", "--netns"].iter().any(|flag| args.contains(flag));
    TABLE.iter().filter(move |fault| root || !needs(fault.args))
}

/// Which help a fault needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Helper {
    /// None: flags alone make it.
    None,
    /// Busy loops on the second CPU, where the load is.
    HogsOnLoad,
    /// The access log is a pipe whose reader takes a line now and then.
    SlowLog,
}

/// A CPU of a trial: the first has the workers, the second all else.
fn cpu(number: usize) -> usize {
    net::cpu::allowed().expect("an affinity")[number]
}

/// Threads that end with it.
#[derive(Default)]
struct Beside {
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
    /// Burns the CPU of the load until dropped.
    fn hogs(&mut self) {
        let cpu = cpu(1);
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
    fn slow_log(&mut self, path: &Path, slow: &Arc<AtomicBool>) {
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
