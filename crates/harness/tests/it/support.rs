//! Starts `turnstile`, waits for it with a deadline, and looks at what it left behind.

use std::fs;
use std::io::Read;
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
pub(crate) const SHORT: [&str; 8] =
    ["--idle", "2.1s", "--duration", "2.1s", "--fetch-size", "64KiB", "--slow", "2"];

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

    fn has_ended(&mut self) -> bool {
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

    /// Checks that no process of the run is left.
    pub(crate) fn assert_nobody_left(&self) {
        let manifest = self.manifest().expect("a manifest");
        for process in manifest.processes {
            assert!(is_gone(process.pid), "{} is left as {}", process.role, process.pid);
        }
    }
}

/// The process of a role.
pub(crate) fn pid_of(manifest: &Manifest, role: Role) -> u32 {
    manifest.processes.iter().rfind(|process| process.role == role).expect("the role").pid
}

/// Whether a process has ended, reaped or not.
pub(crate) fn is_gone(pid: u32) -> bool {
    // proc(5): the state stands after the name, which is in brackets and may hold any letter.
    let Ok(stat) = fs::read_to_string(format!("/proc/{pid}/stat")) else { return true };
    stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with(['Z', 'X']))
}

pub(crate) fn kill(pid: u32, signal: Signal) {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw).expect("a process id");
    kill_process(pid, signal).expect("kill");
}
