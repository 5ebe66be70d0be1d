//! A proxy that gets less CPU than it asks for: by a control group of the run's own, with a quota (cgroups(7)), or
//! by [`Neighbours`].
//!
//! Both versions are served: of version 1 the hierarchy with the `cpu` controller, else version 2. The
//! group is made beside all others, at the top: within a group that has processes of its own version 2
//! allows none with a quota.
//!
//! Invariant: the group is removed when its value is dropped. One whose run was killed is removed by the next.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use procfs::process::Process;

/// A control group that the run has made.
#[derive(Debug)]
pub(crate) struct Cgroup {
    dir: PathBuf,
    version: Version,
}

/// Which interface it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    One,
    Two,
}

/// What its name begins with; the id of the process that made it follows.
const NAME: &str = "turnstile-";
/// The kernel's own period, us: a quota is a part of it.
const PERIOD_US: u32 = 100_000;
/// So long the last process of a group may take to be gone: it is reaped already, or about to be.
const EMPTIED_WITHIN: Duration = Duration::from_secs(1);

impl Cgroup {
    /// A new one without a limit.
    ///
    /// # Errors
    /// The caller is not root, or the kernel has no such hierarchy. The message tells how to mend it.
    pub(crate) fn make() -> io::Result<Self> {
        let (mount, version) = top().ok_or_else(|| {
            io::Error::other("no control groups for CPU time are mounted (cgroups(7))")
        })?;
        sweep(&mount);
        let dir = mount.join(format!("{NAME}{}", std::process::id()));
        fs::create_dir(&dir).map_err(|error| told(&error, &dir))?;
        let made = Self { dir, version };
        // Without the controller the file is not there: of version 2 the top may not hand it down.
        let (file, text) = made.limit_of(None);
        fs::write(&file, text).map_err(|error| told(&error, &file))?;
        Ok(made)
    }

    /// The file that takes a process in: its id, or 0 for the one that writes.
    pub(crate) fn procs(&self) -> PathBuf {
        self.dir.join("cgroup.procs")
    }

    /// From now on those inside get `percent` of one CPU.
    ///
    /// # Errors
    /// The kernel refuses.
    pub(crate) fn limit(&self, percent: u32) -> io::Result<()> {
        let (file, text) = self.limit_of(Some(percent));
        fs::write(&file, text).map_err(|error| told(&error, &file))
    }

    fn limit_of(&self, percent: Option<u32>) -> (PathBuf, String) {
        let us = percent.map(|percent| percent.saturating_mul(PERIOD_US / 100));
        let us = |none: &str| us.map_or_else(|| none.to_owned(), |us| us.to_string());
        match self.version {
            Version::One => (self.dir.join("cpu.cfs_quota_us"), us("-1")),
            Version::Two => (self.dir.join("cpu.max"), format!("{} {PERIOD_US}", us("max"))),
        }
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        let deadline = Instant::now() + EMPTIED_WITHIN;
        // EBUSY: a process inside has ended and is not gone yet.
        while fs::remove_dir(&self.dir)
            .is_err_and(|error| error.kind() == io::ErrorKind::ResourceBusy)
            && Instant::now() < deadline
        {
            thread::sleep(Duration::from_millis(1));
        }
    }
}

/// Files of the quota of the group that thread `tid` is in, and of those that it lies in, from inside out:
/// none where nothing can be withheld.
pub(crate) fn stat_files(tid: i32) -> Vec<PathBuf> {
    let own = || {
        let (mount, version) = top()?;
        let groups = Process::new(tid).ok()?.cgroups().ok()?;
        let group = groups.0.into_iter().find(|group| match version {
            Version::One => group.controllers.iter().any(|name| name == "cpu"),
            Version::Two => group.hierarchy == 0,
        })?;
        let path = PathBuf::from(group.pathname.trim_start_matches('/'));
        // The top has no quota.
        let inside = path.ancestors().filter(|path| !path.as_os_str().is_empty());
        Some(inside.map(|path| mount.join(path).join("cpu.stat")).collect())
    };
    own().unwrap_or_default()
}

/// Periods in which a quota was used up, and the time withheld, us, as `cpu.stat` has them.
pub(crate) fn withheld(text: &str) -> Option<(u64, u64)> {
    let field = |name: &str| {
        let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        value?.trim().parse::<u64>().ok()
    };
    let us = field("throttled_usec").or_else(|| Some(field("throttled_time")? / 1_000));
    Some((field("nr_throttled")?, us?))
}

/// The mount of the hierarchy in which a group may have a quota; its top has none.
fn top() -> Option<(PathBuf, Version)> {
    let mounts = Process::myself().ok()?.mountinfo().ok()?;
    let mounted = |version, is_it: &dyn Fn(&str, bool) -> bool| {
        let mount = mounts.0.iter().find(|mount| {
            is_it(&mount.fs_type, mount.super_options.contains_key("cpu")) && mount.root == "/"
        });
        Some((mount?.mount_point.clone(), version))
    };
    // A controller is in one hierarchy alone: where version 1 has it, version 2 has not.
    mounted(Version::One, &|kind, cpu| kind == "cgroup" && cpu)
        .or_else(|| mounted(Version::Two, &|kind, _| kind == "cgroup2"))
}

/// Removes groups whose runs were killed. One that still has processes stays.
fn sweep(mount: &Path) {
    for entry in fs::read_dir(mount).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let of = name.to_str().and_then(|name| name.strip_prefix(NAME)?.parse::<i32>().ok());
        if of.is_some_and(|pid| !Path::new(&format!("/proc/{pid}")).exists()) {
            let _ = fs::remove_dir(entry.path());
        }
    }
}

fn told(error: &io::Error, path: &Path) -> io::Error {
    let how = match error.kind() {
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            ": it needs root, and control groups that may be written"
        }
        io::ErrorKind::NotFound => {
            ": this hierarchy hands the cpu controller to no group (cgroup.subtree_control)"
        }
        _ => "",
    };
    io::Error::new(error.kind(), format!("{}: {error}{how}", path.display()))
}

/// Busy loops on the workers' CPUs: the neighbour of a proxy that is ready and has no CPU. The threads end with
/// it.
#[derive(Debug, Default)]
pub(crate) struct Neighbours {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Neighbours {
    /// Starts `count` of them on each of `cpus`; where that is empty, wherever the scheduler likes.
    /// As many as this host has room for.
    pub(crate) fn start(count: u32, cpus: &[usize]) -> Self {
        let mut neighbours = Self::default();
        let cpus: Vec<Option<usize>> = match cpus {
            [] => vec![None],
            cpus => cpus.iter().copied().map(Some).collect(),
        };
        for cpu in cpus.into_iter().flat_map(|cpu| (0..count).map(move |_| cpu)) {
            let stop = Arc::clone(&neighbours.stop);
            let spin = move || {
                // On another CPU it would disturb the load instead.
                if cpu.is_some_and(|cpu| net::cpu::pin_current_thread(&[cpu]).is_err()) {
                    return;
                }
                while !stop.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            };
            neighbours.threads.extend(thread::Builder::new().name("neighbour".into()).spawn(spin));
        }
        neighbours
    }
}

impl Drop for Neighbours {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests;
