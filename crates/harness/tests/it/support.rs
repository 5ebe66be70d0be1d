//! `turnstile`, the runs that it leaves, and what of them is left in the process table.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use records::{Cause, Manifest, Phase, Role, RunRecords, Summary};
use serde::de::DeserializeOwned;
use tempfile::TempDir;
pub(crate) use testkit::is_root;
pub(crate) use testkit::{
    Running, Said, family, in_turn, installed, is_gone, kill, note, say, until,
};
use testkit::{await_gone, pids};

/// The usual short trial: enough fetches in each phase, and little to move.
pub(crate) const SHORT: [&str; 5] =
    ["--idle=500ms", "--duration=500ms", "--arrivals=48/s", "--fetch-size=64KiB", "--slow=2"];

/// The binary under test.
pub(crate) fn turnstile() -> Command {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("turnstile"));
    command.env_remove("NO_COLOR").env_remove("COLUMNS");
    command
}

/// The document at `path`, once it is there.
pub(crate) fn document<T: DeserializeOwned>(path: &Path) -> Option<T> {
    let text = fs::read_to_string(path).ok()?;
    Some(serde_json::from_str(&text).expect("a whole document"))
}

/// The only directory there is, if there is one.
pub(crate) fn only(place: &Path) -> Option<PathBuf> {
    let mut entries = fs::read_dir(place).ok()?.map(|entry| entry.expect("an entry").path());
    let first = entries.next()?;
    assert_eq!(entries.next(), None, "one only in {}", place.display());
    Some(first)
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
        only(self.path())
    }

    /// The manifest as it is now, once it is there.
    pub(crate) fn manifest(&self) -> Option<Manifest> {
        document(&self.dir()?.join("manifest.json"))
    }

    /// The summary as it was filed.
    pub(crate) fn summary(&self) -> Summary {
        document(&self.dir().expect("a run").join("summary.json")).expect("a summary")
    }

    /// All records of the run.
    pub(crate) fn records(&self) -> RunRecords {
        RunRecords::load(&self.dir().expect("a run")).expect("a whole run")
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
        await_gone(family.iter().copied());
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

/// The summary that a command printed.
#[track_caller]
pub(crate) fn summary(said: &Said) -> Summary {
    serde_json::from_str(&said.stdout).expect("a summary")
}

/// The share that a cause has of a run's late time.
pub(crate) fn share(summary: &Summary, cause: Cause) -> f64 {
    let share = summary.causes.iter().find(|share| share.cause == cause);
    share.map_or(0.0, |share| share.share_of_late_time)
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

/// Whether we may make network namespaces; says so if we may not.
pub(crate) fn root() -> bool {
    is_root("making network namespaces")
}

/// The process of a role.
pub(crate) fn pid_of(manifest: &Manifest, role: Role) -> u32 {
    manifest.processes.iter().rfind(|process| process.role == role).expect("the role").pid
}
