//! What the host calls our threads. bpftrace compares and prints the host's numbers of processes; a
//! process inside a PID namespace, as in a container, knows those of its namespace alone.
//!
//! They are learnt by a short run of bpftrace of their own, before the one that watches, with what that
//! one needs as well: tracepoints of system calls, and the kernel's structures. We make a seek that
//! nobody else makes upon a file in `/proc` of each thread, and the script tells whose file it was. In
//! the first PID namespace nothing is run.
//!
//! Not for: bpftrace from 0.22 on, which speaks of processes by the numbers of its own namespace,
//! and of those that a switch concerns by the host's.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::process;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use net::child::{Child, Dropped, Event};
use rustix::fs::{SeekFrom, seek};

use super::child::complaint_in;
use super::script::without_comments;
use crate::error::TracerError;
use crate::patience;
use crate::tracer::Target;

const SCRIPT: &str = include_str!("script/numbers.bt");

/// The first PID namespace has a number of its own (PROC_PID_INIT_INO, include/linux/proc_ns.h).
const FIRST: &str = "pid:[4026531836]";

/// Time between two tries: nothing tells when the probe is in place but what it tells.
const AGAIN: Duration = Duration::from_millis(10);

/// The first bpftrace with numbers of its own namespace, for which another script would have to be
/// written: <https://github.com/bpftrace/bpftrace/pull/3428>.
const OWN_NUMBERS: (u32, u32) = (0, 22);

/// The host's numbers of threads that we can name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Numbers {
    /// They are ours.
    Same,
    /// By ours.
    Learnt(BTreeMap<u32, u32>),
}

impl Numbers {
    /// Those of `targets`, their processes, and of this process.
    ///
    /// # Errors
    /// In a PID namespace of its own: this kernel or bpftrace cannot tell; what it said.
    pub(crate) fn learn(targets: &[Target]) -> Result<Self, String> {
        match fs::read_link("/proc/self/ns/pid") {
            Ok(namespace) if namespace.as_os_str() == FIRST => return Ok(Self::Same),
            Ok(_) => {}
            Err(error) => return Err(format!("/proc cannot be read: {error}")),
        }
        let own = process::id();
        if fs::read_link("/proc/self").ok().and_then(|name| name.to_str()?.parse().ok())
            != Some(own)
        {
            return Err("its /proc is that of another PID namespace".into());
        }
        let (_bpftrace, events) = start(&["--version"])?;
        let said = match events.recv_timeout(patience::NUMBERS) {
            Ok(Event::Line(line)) => line,
            _ => String::new(),
        };
        if version(&said).is_none_or(|version| version >= OWN_NUMBERS) {
            return Err(format!("{:?} numbers them in a way of its own", said.trim()));
        }
        let pids = targets.iter().map(|target| (target.pid, target.pid));
        let tids = targets.iter().map(|target| (target.pid, target.tid));
        // Who has ended has no file, and no number.
        let open = |(pid, tid): (u32, u32)| {
            Some((tid, File::open(format!("/proc/{pid}/task/{tid}/stat")).ok()?))
        };
        ask(pids.chain(tids).chain([(own, own)]).filter_map(open).collect()).map(Self::Learnt)
    }

    /// What the host calls a thread of ours, or a process, which is called as its main thread.
    pub(crate) fn of(&self, ours: u32) -> Option<u32> {
        match self {
            Self::Same => Some(ours),
            Self::Learnt(numbers) => numbers.get(&ours).copied(),
        }
    }

    /// A worker as the host calls it.
    ///
    /// # Errors
    /// It was not there when numbers were learnt.
    pub(crate) fn of_target(&self, target: &Target) -> Result<Target, TracerError> {
        let Target { worker, pid, tid } = *target;
        self.of(pid)
            .zip(self.of(tid))
            .map(|(pid, tid)| Target { worker, pid, tid })
            .ok_or(TracerError::Gone { worker, pid, tid })
    }
}

/// Asks whose `files` are, by thread.
fn ask(files: BTreeMap<u32, File>) -> Result<BTreeMap<u32, u32>, String> {
    // A seek to before the start of a file: EINVAL, and nothing else. No other process makes the same
    // one in the seconds to come.
    let mark = i64::try_from(net::clock::now().0).map_or(i64::MIN, |now| -now);
    let script = without_comments(SCRIPT).replace("@@MARK@@", &mark.to_string());
    // Its probe goes with it.
    let (_bpftrace, events) = start(&["-B", "line", "-e", &script])?;
    match converse(&files, mark, &events) {
        Conversation::Over(learnt) => Ok(learnt),
        Conversation::TooLong => {
            Err(format!("bpftrace told none in {} s", patience::NUMBERS.as_secs()))
        }
        Conversation::Broken(complaint) => {
            Err(complaint.unwrap_or_else(|| "bpftrace ended without a word".into()))
        }
    }
}

/// How the asking ended.
enum Conversation {
    Over(BTreeMap<u32, u32>),
    TooLong,
    /// With the first line that complained of something.
    Broken(Option<String>),
}

/// Asks again and again until all is told.
fn converse(files: &BTreeMap<u32, File>, mark: i64, events: &Receiver<Event>) -> Conversation {
    let until = Instant::now() + patience::NUMBERS;
    let (mut learnt, mut complaint) = (BTreeMap::new(), None);
    while Instant::now() < until {
        for (_, file) in files.iter().filter(|(ours, _)| !learnt.contains_key(*ours)) {
            let _ = seek(file, SeekFrom::Current(mark));
        }
        loop {
            match events.recv_timeout(AGAIN) {
                Ok(Event::Line(line)) => learnt.extend(pair(&line)),
                Ok(Event::Said(line)) => complaint = complaint.or_else(|| complaint_in(&line)),
                Err(RecvTimeoutError::Timeout) => break,
                Ok(Event::Ended(_)) | Err(RecvTimeoutError::Disconnected) => {
                    return Conversation::Broken(complaint);
                }
            }
        }
        if files.keys().all(|ours| learnt.contains_key(ours)) {
            return Conversation::Over(learnt);
        }
    }
    Conversation::TooLong
}

/// The host's number and ours, as the script prints them, turned round.
fn pair(line: &str) -> Option<(u32, u32)> {
    let (host, ours) = line.split_once(' ')?;
    Some((ours.trim().parse().ok()?, host.parse().ok()?))
}

/// `bpftrace v0.17.0`.
fn version(said: &str) -> Option<(u32, u32)> {
    let (_, version) = said.trim().rsplit_once('v')?;
    let mut numbers = version.split('.').map(|number| number.parse().ok());
    Some((numbers.next()??, numbers.next()??))
}

/// Starts bpftrace; it ends with this thread, or when it is dropped.
fn start(args: &[&str]) -> Result<(Child, Receiver<Event>), String> {
    let mut command = super::child::command().map_err(|error| error.to_string())?;
    let (tell, events) = mpsc::channel();
    // Who asked may have heard enough.
    let take = move |event| drop(tell.send(event));
    Child::start(command.args(args), "trace-bpf".to_owned(), Dropped::Killed, take)
        .map(|child| (child, events))
        .map_err(|error| format!("bpftrace did not start: {error}"))
}

#[cfg(test)]
mod tests;
