//! The bench of faults: each cause is made on purpose, and the explanation must name it first.
//!
//! Most of them are the arms of `turnstile case faults`, which runs them more often and longer; two need
//! something beside the trial, and are made here.

use std::fmt::Write as _;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use records::{Cause, CauseShare, CaveatCode, Summary};
use rustix::fs::{CWD, Mode, mkfifoat};
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

#[test]
fn each_fault_is_named_first() {
    let Some(_cpus) = two_cpus() else { return };
    let mut not_named = String::new();
    for fault in faults() {
        let (mut right, mut wrong) = (0, Vec::new());
        for _ in 0..TRIES {
            let summary = run(&fault);
            if is_right(&fault, &summary) {
                right += 1;
            } else if !is_disturbed(&fault, &summary) {
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

/// A fault, or two at once. All run on two CPUs: workers on the first, load on the second.
struct Fault {
    name: String,
    /// The causes that must be named before all others.
    causes: Vec<Cause>,
    /// What `turnstile` is told.
    args: String,
    helper: Helper,
}

/// What runs beside a trial from its measure phase on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Helper {
    /// Nothing: flags alone make the fault.
    None,
    /// Busy loops on the second CPU, where the load is.
    HogsOnLoad,
    /// The access log is a pipe whose reader takes a line now and then.
    SlowLog,
}

/// Every fault that this process may make: a quota and hosts of its own need root.
fn faults() -> impl Iterator<Item = Fault> {
    let case = harness::cases::find("faults").expect("the case");
    let of_case = case.arms.into_iter().map(|arm| {
        let args = arm.args.expect("options without a flag of the case");
        Fault { name: arm.name, causes: arm.named, args, helper: Helper::None }
    });
    let logged = "--slow 0 --reuseport --log-mode inline --arrivals 100/s --fetch-size 40KiB";
    let loaded = format!("--slow 0 --cpus origin={} --arrivals 80/s", cpu(0));
    let helped = [
        ("a log whose reader is slow", Cause::OffCpuBlocked, logged, Helper::SlowLog),
        ("busy loops on the client's CPU", Cause::Client, &loaded, Helper::HogsOnLoad),
    ]
    .map(|(name, cause, args, helper)| Fault {
        name: name.to_owned(),
        causes: vec![cause],
        args: args.to_owned(),
        helper,
    });
    let root = rustix::process::geteuid().is_root();
    let needs = |args: &str| ["--cpu-quota", "--netns"].iter().any(|flag| args.contains(flag));
    of_case.chain(helped).filter(move |fault| root || !needs(&fault.args))
}

/// One trial of a fault; what is beside it begins with the measure phase and ends with the trial.
fn run(fault: &Fault) -> Summary {
    let (runs, elsewhere) = (Runs::new(), tempfile::tempdir().expect("a directory"));
    // Of bursts, one a second, the first comes while its client starts, which is a cause too; and loops take
    // the CPU in turns.
    let is_slow = ["--burst", "--neighbours"].iter().any(|slow| fault.args.contains(slow));
    let phases = ["--idle=500ms", if is_slow { "--duration=2s" } else { "--duration=1s" }];
    let mut command = turnstile();
    command.args(fault.args.split_whitespace()).args(phases);
    command.arg("--json").arg("--runs-dir").arg(runs.path());
    let on = Arc::new(AtomicBool::new(false));
    if fault.helper == Helper::SlowLog {
        let pipe = elsewhere.path().join("access.pipe");
        read_slowly(&pipe, &on);
        command.arg("--access-log").arg(pipe);
    }
    let mut trial = Running::start(&mut command);
    while let Some(line) = trial.complaint() {
        if line.starts_with("measure:") {
            on.store(true, Ordering::Relaxed);
            if fault.helper == Helper::HogsOnLoad {
                burn(&on);
            }
        }
        if line.starts_with("teardown:") {
            // What follows is the harness' own work: let it be done.
            on.store(false, Ordering::Relaxed);
        }
    }
    on.store(false, Ordering::Relaxed);
    crate::support::summary(&trial.finish().ended_well())
}

/// A CPU of a trial: the first has the workers, the second all else.
fn cpu(number: usize) -> usize {
    net::cpu::allowed().expect("an affinity")[number]
}

/// Burns the CPU of the load while `on`, but never beyond the trial, however that ends.
fn burn(on: &Arc<AtomicBool>) {
    /// Busy loops beside one busy thread leave it a twentieth of the CPU or so, as `--neighbours 20` does.
    const HOGS: usize = 20;
    const LONGEST: Duration = Duration::from_secs(10);
    let (cpu, until) = (cpu(1), Instant::now() + LONGEST);
    for _ in 0..HOGS {
        let on = Arc::clone(on);
        thread::spawn(move || {
            net::cpu::pin_current_thread(&[cpu]).expect("a CPU of this host");
            while on.load(Ordering::Relaxed) && Instant::now() < until {
                std::hint::spin_loop();
            }
        });
    }
}

/// Makes `path` a pipe and reads it to its end, slowly while `on`.
fn read_slowly(path: &Path, on: &Arc<AtomicBool>) {
    /// A whole page, the smallest part of a pipe whose end wakes a writer (pipe(7)): some thirty lines of
    /// the log.
    const SIP: usize = 4_096;
    const BETWEEN_SIPS: Duration = Duration::from_millis(400);
    mkfifoat(CWD, path, Mode::RUSR | Mode::WUSR).expect("a pipe");
    let (path, on) = (path.to_owned(), Arc::clone(on));
    thread::spawn(move || {
        let mut pipe = File::open(path).expect("the pipe");
        rustix::pipe::fcntl_setpipe_size(&pipe, SIP).expect("a small pipe");
        let mut sip = [0; SIP];
        while pipe.read(&mut sip).is_ok_and(|read| read > 0) {
            // The pause is the fault: it is what makes the worker wait.
            if on.load(Ordering::Relaxed) {
                thread::sleep(BETWEEN_SIPS);
            }
        }
    });
}
