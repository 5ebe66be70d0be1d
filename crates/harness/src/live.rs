//! A trial as a process of its own, `turnstile run`, as a campaign, a show or a benchmark starts it; and its
//! records while it writes them, for a show to draw.
//!
//! Not for: figures. What is read here is shown; the summary is made by the trial itself.
//!
//! Invariants:
//! - A trial does nothing for being followed: what is read are the files that it writes anyway. Only
//!   whole lines are taken; the rest of one is taken when it is there.
//! - It is asked to end when the process that started it ends, however that happens
//!   (PR_SET_PDEATHSIG), and its own children end with it.
//! - It is in a process group of its own: every signal reaches it once, through us.

use std::env;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use net::child::{Child, Dropped};
use net::cpu::{self, CpuList};
use records::run_dir::{MANIFEST, SUMMARY};
use records::{Record, RunRecords, Summary};
use rustix::process::Signal;
use serde::de::DeserializeOwned;
use trial::roles::PROGRAM;

/// A trial that runs.
#[derive(Debug)]
pub struct LiveTrial {
    child: Child,
    follow: Follow,
}

impl LiveTrial {
    /// Starts `turnstile run` with these options; its run directory will be in `place`.
    /// Of its record files those in `files` are followed. Dropped, it stops in good order.
    ///
    /// # Errors
    /// The process could not be made.
    pub fn start<const N: usize>(
        options: &[String],
        place: &Path,
        files: [&'static str; N],
    ) -> io::Result<Self> {
        let (mut command, name) = (command(options, place), "trial".to_owned());
        let child = Child::start(&mut command, name, Dropped::Asked(STOPS_WITHIN), |_| {})?;
        Ok(Self { child, follow: Follow::new(place, files) })
    }

    /// Asks it to end the phase in progress and to go on with the next. Fetches that are under way still
    /// end by themselves.
    pub fn end_phase(&self) {
        self.child.signal(Signal::USR1);
    }

    /// Asks it to end now, in good order: it takes about a second. Asked again, it takes that as haste.
    pub fn stop(&self, signal: Signal) {
        self.child.signal(signal);
    }

    /// Waits for its end, for `patience` at most: whether it has ended.
    pub fn ends_within(&self, patience: Duration) -> bool {
        self.child.ends_within(patience)
    }

    /// Its run directory, once it is there.
    pub(crate) fn dir(&mut self) -> Option<&Path> {
        self.follow.dir()
    }

    /// Adds what was recorded since this was last asked, and the manifest as it is now.
    pub fn read(&mut self, records: &mut RunRecords) {
        self.follow.read(records);
    }

    /// Waits for its end: the summary that it made.
    ///
    /// # Errors
    /// It made none: what it said last, or how it ended.
    pub fn end(mut self) -> Result<Box<Summary>, String> {
        let reaped = self.child.reap();
        let status = reaped.map_or_else(|error| error.to_string(), |status| status.to_string());
        if let Some(summary) = self.follow.dir().and_then(summary) {
            return Ok(Box::new(summary));
        }
        match self.child.stderr_tail().trim_start_matches("turnstile: ") {
            "" => Err(format!("it ended without a word ({status})")),
            said => Err(said.to_owned()),
        }
    }
}

/// The CPUs of whoever follows a trial: this thread keeps to those of the load, and takes no time from
/// the workers.
#[derive(Debug)]
pub struct OwnCpus {
    all: Vec<usize>,
    own: Vec<usize>,
}

impl OwnCpus {
    /// Keeps to `load`; absent: to nothing.
    ///
    /// # Errors
    /// This process may not run there.
    pub fn new(load: Option<CpuList>) -> io::Result<Self> {
        let all = cpu::allowed()?;
        let own = load.map_or_else(|| all.clone(), |load| load.as_slice().to_vec());
        cpu::pin_current_thread(&own)?;
        Ok(Self { all, own })
    }

    /// Does `work` as if nothing were kept: what a trial that it starts may run on is for that to divide.
    ///
    /// # Errors
    /// As `work` has it, or the CPUs are not there any more.
    pub fn lifted<T>(&self, work: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        cpu::pin_current_thread(&self.all)?;
        let done = work();
        cpu::pin_current_thread(&self.own)?;
        done
    }
}

/// The only run directory in a place, as it grows.
#[derive(Debug)]
struct Follow {
    place: PathBuf,
    dir: Option<PathBuf>,
    files: Vec<Tail>,
}

/// One record file.
#[derive(Debug)]
struct Tail {
    name: &'static str,
    file: Option<File>,
    /// Read, and not a whole line yet.
    rest: Vec<u8>,
}

impl Follow {
    /// Nothing is there yet.
    fn new<const N: usize>(place: &Path, files: [&'static str; N]) -> Self {
        let files = files.map(|name| Tail { name, file: None, rest: Vec::new() });
        Self { place: place.to_owned(), dir: None, files: files.into() }
    }

    /// The run directory, once it is there.
    fn dir(&mut self) -> Option<&Path> {
        self.dir = self.dir.take().or_else(|| run_in(&self.place));
        self.dir.as_deref()
    }

    fn read(&mut self, records: &mut RunRecords) {
        let Some(dir) = self.dir().map(Path::to_owned) else { return };
        // It is replaced as a whole, and small.
        if let Some(manifest) = read(&dir.join(MANIFEST)) {
            records.manifest = manifest;
        }
        self.files.iter_mut().for_each(|tail| tail.read(&dir, records));
    }
}

impl Tail {
    fn read(&mut self, dir: &Path, records: &mut RunRecords) {
        if self.file.is_none() {
            self.file = File::open(dir.join(self.name)).ok();
        }
        // Trouble with reading is no trouble of the trial: the picture stands still.
        let Some(Ok(_)) = self.file.as_mut().map(|file| file.read_to_end(&mut self.rest)) else {
            return;
        };
        let whole = self.rest.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let lines: Vec<u8> = self.rest.drain(..whole).collect();
        let lines = String::from_utf8_lossy(&lines);
        let all = lines.lines().filter_map(|line| Record::from_line(line).ok());
        all.for_each(|one| records.add(one));
    }
}

/// The only run directory in `place`, if there is one yet.
pub fn run_in(place: &Path) -> Option<PathBuf> {
    let mut entries = fs::read_dir(place).ok()?.filter_map(Result::ok);
    entries.find(|entry| entry.path().is_dir()).map(|entry| entry.path())
}

/// The summary of a run, if it is whole.
pub(crate) fn summary(dir: &Path) -> Option<Summary> {
    read(&dir.join(SUMMARY))
}

/// The document at `path`, if it is there and whole.
pub(crate) fn read<T: DeserializeOwned>(path: &Path) -> Option<T> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

/// The first of the options that the starting process adds: all that follow are its own, too.
const STARTED_BY: &str = "--parent-pid";

/// How long a trial may take to stop when it is asked to: it stops its own children within 2 s and
/// makes its report. This is for a host that is very busy.
const STOPS_WITHIN: Duration = Duration::from_secs(30);

/// `turnstile run` with these options, quiet, in `runs_dir`. More options may be added.
pub(crate) fn command(options: &[String], runs_dir: &Path) -> Command {
    let mut command = Command::new(PROGRAM);
    if let Some(name) = env::args_os().next() {
        command.arg0(name);
    }
    command.arg("run").args(options);
    command.args([STARTED_BY, &std::process::id().to_string(), "--label", "trial"]);
    command.args(["--json", "--quiet", "--runs-dir"]).arg(runs_dir);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    command
}

/// The command line of a trial as people type it: without what [`command`] adds to their options.
pub(crate) fn by_hand(mut words: Vec<String>) -> Vec<String> {
    if let Some(at) = words.iter().rposition(|word| word == STARTED_BY) {
        words.truncate(at);
    }
    words
}

#[cfg(test)]
mod tests;
