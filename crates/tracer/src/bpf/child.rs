//! The process of bpftrace: how it is started, and the thread that follows what it says.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{self, Command, Stdio};
use std::sync::mpsc::Sender;
use std::thread::{self, JoinHandle};

use records::{Micros, MonoNs, Record};
use rustix::process::{Pid, Signal, kill_process};
use rustix::time::{ClockId, Timespec, clock_gettime};

use super::book::{Book, Clock, Last};
use super::line::{self, Line};
use crate::error::TracerError;
use crate::sample::{Doing, Watched};
use crate::tracer::Target;

/// Run by sh(1) once the child is bound to die with us: our end may have come before.
const HOP: &str = r#"
[ "$PPID" = "$1" ] || exit 1
if [ "$2" = mount ]; then
    mount -t tracefs tracefs /sys/kernel/tracing || exit 1
fi
shift 2
exec "$@""#;

/// Entries that a map may hold: descriptors and sessions that are open at a time. bpftrace sets the
/// memory for them aside, some 100 bytes each in 25 maps.
const MAP_KEYS: &str = "32768";

/// Pages of the buffer for lines on each CPU: 2 MiB, some 20,000 lines between two looks at it.
const BUFFER_PAGES: &str = "512";

/// getsid(2).
const GETSID: u64 = 124;

/// What the thread tells.
#[derive(Debug)]
pub(super) enum News {
    /// The child runs, by this id.
    Started(u32),
    /// All probes are in place.
    Live,
    /// It has ended, and what it said has been told.
    Ended(Result<(), TracerError>),
}

/// What is watched.
pub(super) struct Watch {
    pub(super) script: String,
    pub(super) targets: Vec<Target>,
    /// The same workers in their order, as bpftrace numbers them.
    pub(super) seen: Vec<Target>,
    pub(super) hold: Micros,
    pub(super) take: Box<dyn FnMut(Record) + Send>,
}

/// bpftrace, started.
#[derive(Debug)]
pub(super) struct Child {
    process: process::Child,
}

impl Child {
    /// Starts it; the calling thread has to live as long.
    pub(super) fn start(script: &str) -> Result<Self, TracerError> {
        let started = command()?.args(["-B", "line", "-f", "json", "-e", script]).spawn();
        let process = started.map_err(|source| TracerError::Start { what: "bpftrace", source })?;
        Ok(Self { process })
    }

    /// Tells what it says until it ends.
    pub(super) fn follow(
        mut self,
        mut watch: Watch,
        news: &Sender<News>,
    ) -> Result<(), TracerError> {
        let _ = news.send(News::Started(self.process.id()));
        let complaints = self.process.stderr.take().map(first_complaint_in);
        let mut live = None;
        // Told while probes are being put in place, and understood once they all are.
        let mut early = Vec::new();
        let (mut first, mut last) = (None, None);
        let mut clock = Clock::default();
        let lines = self.process.stdout.take().map(BufReader::new);
        for text in lines.into_iter().flat_map(BufRead::lines).map_while(Result::ok) {
            let Some(line) = line::parse(&text) else { continue };
            let Some(book) = &mut live else {
                match line {
                    Line::Told('N', at) => clock = clock_of(at.first().copied().unwrap_or(0)),
                    Line::Told('F', told) if told.get(1) != Some(&GETSID) => {
                        let _ = self.process.kill();
                        let _ = self.process.wait();
                        return Err(TracerError::Registers);
                    }
                    Line::Told('F', told) => first = told.first().copied(),
                    Line::Told('R', told) => last = told.first().copied(),
                    other => early.push(other),
                }
                if let (Some(first), Some(last)) = (first, last) {
                    let since = MonoNs(first.max(last).saturating_sub(clock.ahead));
                    let mut book = Book::new(&watch.seen, clock, since);
                    early.drain(..).for_each(|line| book.line(line, &mut watch.take));
                    live = Some(book);
                    let _ = news.send(News::Live);
                }
                continue;
            };
            book.line(line, &mut watch.take);
        }
        let _ = self.process.wait();
        let complaint = complaints.and_then(|thread| thread.join().ok()).flatten();
        let Some(book) = live else {
            return Err(TracerError::Ended { said: complaint.unwrap_or("nothing".into()) });
        };
        let ended = book.has_ended();
        let Watch { targets, seen, hold, take, .. } = &mut watch;
        let is_polling = |tid: u64| is_polling(seen, targets, tid);
        let end = Last { hold: *hold, now: net::clock::now(), is_polling: &is_polling };
        book.finish(&end, take);
        if ended {
            Ok(())
        } else {
            Err(TracerError::Ended { said: complaint.unwrap_or("nothing".into()) })
        }
    }
}

/// bpftrace, to be started by a thread that lives as long as it shall.
pub(super) fn command() -> Result<Command, TracerError> {
    let why = "it is not installed: apt-get install bpftrace".to_owned();
    let bpftrace = crate::means::bpftrace().ok_or(TracerError::NoBpftrace { why })?;
    let mounted = ["/sys/kernel/tracing/events", "/sys/kernel/debug/tracing/events"]
        .iter()
        .any(|dir| Path::new(dir).exists());
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL", "--"]);
    if !mounted {
        command.args(["unshare", "--mount", "--propagation", "private", "--"]);
    }
    command
        .args(["sh", "-c", HOP, "sh", &process::id().to_string()])
        .arg(if mounted { "" } else { "mount" })
        .arg(bpftrace)
        .env("BPFTRACE_MAP_KEYS_MAX", MAP_KEYS)
        .env("BPFTRACE_PERF_RB_PAGES", BUFFER_PAGES)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    Ok(command)
}

/// Ends it in order: it prints its maps first.
pub(super) fn interrupt(pid: u32) {
    signal(pid, Signal::INT);
}

/// Ends it at once.
pub(super) fn kill(pid: u32) {
    signal(pid, Signal::KILL);
}

fn signal(pid: u32, signal: Signal) {
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        // It may have ended: its thread has not reaped it while this is called.
        let _ = kill_process(pid, signal);
    }
}

/// Reads what it says on its standard error, on a thread of its own, and returns the first line that
/// complains of something.
pub(super) fn first_complaint_in(said: process::ChildStderr) -> JoinHandle<Option<String>> {
    thread::spawn(move || first_complaint(BufReader::new(said)))
}

/// The first line that complains of something; all are read.
fn first_complaint(lines: BufReader<process::ChildStderr>) -> Option<String> {
    let mut complaint: Option<String> = None;
    for line in lines.lines().map_while(Result::ok) {
        // Root without CAP_SYS_RESOURCE is told of a limit that newer kernels do not have.
        let complains = line.to_lowercase().contains("error") && !line.contains("RLIMIT_MEMLOCK");
        if complains && complaint.is_none() {
            complaint = Some(line.trim().to_owned());
        }
    }
    complaint
}

/// bpftrace 0.12 to 0.17 read CLOCK_BOOTTIME where the kernel has it (5.7), older and some newer
/// ones CLOCK_MONOTONIC. They differ by the time this host was suspended: `theirs`, a moment ago,
/// tells which it is. A host that is suspended while it is traced has lost its measurement anyway.
fn clock_of(theirs: u64) -> Clock {
    let mono = net::clock::now().0;
    let boot = nanos(clock_gettime(ClockId::Boottime));
    let ahead = boot.saturating_sub(mono);
    // Read one after the other, they differ by a little where they are the same.
    if ahead < 1_000_000 || theirs.abs_diff(mono) < theirs.abs_diff(boot) {
        Clock::default()
    } else {
        Clock { ahead }
    }
}

fn nanos(time: Timespec) -> u64 {
    let secs = u64::try_from(time.tv_sec).unwrap_or(0);
    secs * 1_000_000_000 + u64::try_from(time.tv_nsec).unwrap_or(0)
}

/// Whether the worker of `targets` that is called `tid` in `seen` is asleep in its poll.
fn is_polling(seen: &[Target], targets: &[Target], tid: u64) -> bool {
    let at = seen.iter().position(|seen| u64::from(seen.tid) == tid);
    let target = at.and_then(|at| targets.get(at));
    let looked = target.and_then(|target| Watched::open(target).ok()?.look());
    looked == Some(Doing::Polling)
}
