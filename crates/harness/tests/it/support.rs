//! Starts `turnstile`, waits for it with a deadline, and looks at what it left behind.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use records::{Manifest, Phase, Role};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

/// No run of these tests takes as long.
const PATIENCE: Duration = Duration::from_secs(60);
/// The usual short trial: enough fetches in each phase, and little to move.
pub(crate) const SHORT: [&str; 5] =
    ["--idle=1.2s", "--duration=1.2s", "--arrivals=20/s", "--fetch-size=64KiB", "--slow=2"];

/// Trials take turns: on few CPUs two at a time would starve each other.
pub(crate) fn in_turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The binary under test.
pub(crate) fn turnstile() -> Command {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("turnstile"));
    command.stdin(Stdio::null()).env_remove("NO_COLOR").env_remove("COLUMNS");
    command
}

/// What a finished command said.
pub(crate) struct Said {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Said {
    /// Its exit code; a death by signal has none.
    pub(crate) fn code(&self) -> Option<i32> {
        self.status.code()
    }
}

/// Runs a command to its end.
pub(crate) fn say(command: &mut Command) -> Said {
    Running::start(command).finish()
}

/// A command that runs. It does not outlive its test.
pub(crate) struct Running {
    child: Child,
    stdout: Option<thread::JoinHandle<String>>,
    stderr: Option<thread::JoinHandle<String>>,
}

impl Running {
    pub(crate) fn start(command: &mut Command) -> Self {
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary under test");
        let stdout = child.stdout.take().map(read_on);
        let stderr = child.stderr.take().map(read_on);
        Self { child, stdout, stderr }
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill(self.child.id(), signal);
    }

    /// Its process id.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn has_ended(&mut self) -> bool {
        self.child.try_wait().expect("wait").is_some()
    }

    /// Waits for its end.
    pub(crate) fn finish(mut self) -> Said {
        let child = &mut self.child;
        let status = until("its end", || child.try_wait().expect("wait"));
        let said = |reader: Option<thread::JoinHandle<String>>| {
            reader.map(|reader| reader.join().expect("a reader")).unwrap_or_default()
        };
        Said { status, stdout: said(self.stdout.take()), stderr: said(self.stderr.take()) }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // No error when it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn read_on(mut stream: impl Read + Send + 'static) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let mut text = String::new();
        stream.read_to_string(&mut text).expect("UTF-8");
        text
    })
}

/// Asks again and again until there is an answer.
pub(crate) fn until<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(Instant::now() < deadline, "waited in vain for {what}");
        thread::sleep(Duration::from_millis(2));
    }
}

/// A place for one run directory.
pub(crate) struct Runs(TempDir);

impl Runs {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().expect("a directory"))
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// A short trial that leaves its records here.
    pub(crate) fn trial(&self, more: &[&str]) -> Command {
        let mut command = turnstile();
        command.args(SHORT).args(more).arg("--runs-dir").arg(self.path());
        command
    }

    /// The one run directory, once it is there.
    pub(crate) fn dir(&self) -> Option<PathBuf> {
        let mut entries = fs::read_dir(self.path()).expect("read_dir");
        let dir = entries.next()?.expect("an entry").path();
        assert!(entries.next().is_none(), "one run only");
        Some(dir)
    }

    /// The manifest as it is now, once it is there.
    pub(crate) fn manifest(&self) -> Option<Manifest> {
        let text = fs::read_to_string(self.dir()?.join("manifest.json")).ok()?;
        Some(serde_json::from_str(&text).expect("a whole manifest"))
    }

    /// Waits until the trial that runs here is in `phase`.
    pub(crate) fn await_phase(&self, running: &mut Running, phase: Phase) -> Manifest {
        until(phase.name(), || {
            assert!(!running.has_ended(), "it ended before {phase:?}");
            let manifest = self.manifest()?;
            let now = manifest.phases.last()?.phase;
            assert!(now <= phase, "{phase:?} is over");
            (now == phase).then_some(manifest)
        })
    }

    /// Waits until nobody of `family` is left, nor anybody who names a file of these runs.
    pub(crate) fn await_nobody(&self, family: &[u32]) {
        for &pid in family {
            until(&format!("the end of {pid}"), || is_gone(pid).then_some(()));
        }
        until("the end of all who name the run", || those_of(self.path()).is_empty().then_some(()));
    }

    /// Checks that no process of the run is left.
    pub(crate) fn assert_nobody_left(&self) {
        let manifest = self.manifest().expect("a manifest");
        for process in manifest.processes {
            assert!(is_gone(process.pid), "{} is left as {}", process.role, process.pid);
        }
    }
}

/// Every process that descends from `root`.
pub(crate) fn family(root: u32) -> Vec<u32> {
    let parents: BTreeMap<u32, u32> =
        pids().filter_map(|pid| Some((pid, status_of(pid)?.1))).collect();
    let descends = |mut pid: u32| {
        // Bounded: the table may change under our eyes.
        (0..64).any(|_| match parents.get(&pid) {
            Some(parent) => {
                pid = *parent;
                pid == root
            }
            None => false,
        })
    };
    parents.keys().copied().filter(|pid| descends(*pid)).collect()
}

/// Living processes whose command line or working directory names `path`.
pub(crate) fn those_of(path: &Path) -> Vec<(u32, String)> {
    let name = path.display().to_string();
    let found = pids().filter_map(|pid| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        let cwd = fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd.starts_with(path));
        ((cwd || line.contains(&name)) && !is_gone(pid)).then_some((pid, line))
    });
    found.collect()
}

fn pids() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").expect("/proc");
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
}

/// Tells people why a test shows less than it could.
pub(crate) fn note(text: &str) {
    // Not by eprintln: the test harness would keep it for itself unless the test fails.
    let _ = writeln!(io::stderr(), "{text}");
}

/// Whether a program is installed where proxies and tools are; says so if it is not.
pub(crate) fn installed(program: &str) -> bool {
    let path = std::env::var("PATH").unwrap_or_default();
    let dirs = path.split(':').chain(["/usr/sbin", "/usr/local/sbin", "/sbin"]);
    let there = dirs.map(Path::new).any(|dir| dir.join(program).is_file());
    if !there {
        note(&format!("skipped: {program} is not installed"));
    }
    there
}

/// Whether we may make network namespaces; says so if we may not.
pub(crate) fn root() -> bool {
    let root = rustix::process::geteuid().is_root();
    if !root {
        note("skipped: network namespaces need root");
    }
    root
}

/// The process of a role.
pub(crate) fn pid_of(manifest: &Manifest, role: Role) -> u32 {
    manifest.processes.iter().rfind(|process| process.role == role).expect("the role").pid
}

/// Whether a process has ended, reaped or not.
pub(crate) fn is_gone(pid: u32) -> bool {
    status_of(pid).is_none_or(|(state, _)| matches!(state, 'Z' | 'X'))
}

/// State and parent of a process.
fn status_of(pid: u32) -> Option<(char, u32)> {
    // proc(5): they stand after the name, which is in brackets and may hold any letter.
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut words = stat.rsplit(')').next()?.split_whitespace();
    Some((words.next()?.chars().next()?, words.next()?.parse().ok()?))
}

pub(crate) fn kill(pid: u32, signal: Signal) {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw).expect("a process id");
    kill_process(pid, signal).expect("kill");
}
