//! The process of bpftrace: how it is started, and what follows what it says.

use std::path::Path;
use std::process::{self, Command, Stdio};
use std::sync::mpsc::Sender;

use net::child::{Child, Dropped, Event as Said};
use records::{Micros, MonoNs, Record};
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

/// What is told of it.
#[derive(Debug)]
pub(super) enum Event {
    /// All probes are in place.
    Live,
    /// It has ended, and what it said has been told; or it is of no use.
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

/// Starts it on `watch`; it ends with the calling thread.
pub(super) fn start(watch: Watch, tell: Sender<Event>) -> Result<Child, TracerError> {
    let mut command = command()?;
    command.args(["-B", "line", "-f", "json", "-e", &watch.script]);
    let mut follower = Follower::of(watch, tell);
    Child::start(&mut command, "trace-bpf".to_owned(), Dropped::Killed, move |said| {
        follower.take_in(said);
    })
    .map_err(|source| TracerError::Start { what: "bpftrace", source })
}

/// Understands what it says.
struct Follower {
    watch: Watch,
    tell: Sender<Event>,
    clock: Clock,
    /// When the first and the last probe were seen to be in place.
    first: Option<u64>,
    last: Option<u64>,
    /// Told while probes are being put in place, and understood once they all are.
    early: Vec<Line>,
    book: Option<Book>,
    complaint: Option<String>,
}

impl Follower {
    fn of(watch: Watch, tell: Sender<Event>) -> Self {
        let (first, last, book, complaint) = (None, None, None, None);
        Self {
            watch,
            tell,
            clock: Clock::default(),
            first,
            last,
            early: Vec::new(),
            book,
            complaint,
        }
    }

    fn take_in(&mut self, said: Said) {
        match said {
            Said::Line(text) => line::parse(&text).into_iter().for_each(|line| self.line(line)),
            Said::Said(text) => {
                self.complaint = self.complaint.take().or_else(|| complaint_in(&text));
            }
            Said::Ended(_) => {
                let ended = self.finish();
                self.tell(Event::Ended(ended));
            }
        }
    }

    /// Nobody may wait for it any more: nothing is to be told then.
    fn tell(&self, event: Event) {
        let _ = self.tell.send(event);
    }

    fn line(&mut self, line: Line) {
        if let Some(book) = &mut self.book {
            return book.line(line, &mut self.watch.take);
        }
        match line {
            Line::Told('N', at) => self.clock = clock_of(at.first().copied().unwrap_or(0)),
            Line::Told('F', told) if told.get(1) != Some(&GETSID) => {
                self.tell(Event::Ended(Err(TracerError::Registers)));
            }
            Line::Told('F', told) => self.first = told.first().copied(),
            Line::Told('R', told) => self.last = told.first().copied(),
            other => self.early.push(other),
        }
        if let (Some(first), Some(last)) = (self.first, self.last) {
            let since = MonoNs(first.max(last).saturating_sub(self.clock.ahead));
            let mut book = Book::new(&self.watch.seen, self.clock, since);
            self.early.drain(..).for_each(|line| book.line(line, &mut self.watch.take));
            self.book = Some(book);
            self.tell(Event::Live);
        }
    }

    /// It has ended: whether as it should.
    fn finish(&mut self) -> Result<(), TracerError> {
        let said = self.complaint.take().unwrap_or_else(|| "nothing".into());
        let Some(book) = self.book.take() else { return Err(TracerError::Ended { said }) };
        let ended = book.has_ended();
        let Watch { targets, seen, hold, take, .. } = &mut self.watch;
        let is_polling = |tid: u64| is_polling(seen, targets, tid);
        let end = Last { hold: *hold, now: net::clock::now(), is_polling: &is_polling };
        book.finish(&end, take);
        if ended { Ok(()) } else { Err(TracerError::Ended { said }) }
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

/// A line of its standard error, if it complains of something.
pub(super) fn complaint_in(line: &str) -> Option<String> {
    // Root without CAP_SYS_RESOURCE is told of a limit that newer kernels do not have.
    let complains = line.to_lowercase().contains("error") && !line.contains("RLIMIT_MEMLOCK");
    complains.then(|| line.trim().to_owned())
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
