//! Processes that are bounded by a test, and what they tell.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use records::{Ready, Record, TraceMode};
use rustix::process::{Pid, Signal, kill_process};
use tracer::{Means, means};

/// Nothing here takes longer than this unless it hangs.
pub(crate) const PATIENCE: Duration = Duration::from_secs(40);

/// One at a time: what is compared must not be late because of another test.
pub(crate) fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

#[expect(clippy::print_stdout, reason = "why a test is skipped is for people")]
pub(crate) fn skip(test: &str, why: &str) {
    println!("{test}: skipped: {why}");
}

/// Whether bpftrace can be used; says why a test is skipped.
pub(crate) fn can_trace(test: &str) -> bool {
    match means(TraceMode::Bpftrace) {
        Ok(found) => found == Some(Means::Bpftrace),
        Err(error) => {
            skip(test, &error.to_string());
            false
        }
    }
}

/// Where `program` is installed; says why a test is skipped.
pub(crate) fn installed(program: &str, test: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let dirs = std::env::split_paths(&path).chain([PathBuf::from("/usr/sbin")]);
    let found = dirs.map(|dir| dir.join(program)).find(|file| file.is_file());
    if found.is_none() {
        skip(test, &format!("apt-get install {program}"));
    }
    found
}

/// A process that ends with its test, and the records it prints.
pub(crate) struct Process {
    child: Child,
    records: Receiver<Record>,
}

impl Process {
    pub(crate) fn spawn(command: &mut Command) -> Self {
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a program that runs");
        let out = BufReader::new(child.stdout.take().expect("its output"));
        let (tell, records) = channel();
        thread::spawn(move || {
            for line in out.lines().map_while(Result::ok) {
                if let Ok(record) = Record::from_line(&line) {
                    let _ = tell.send(record);
                }
            }
        });
        Self { child, records }
    }

    /// A role, once it is ready.
    pub(crate) fn role(role: &str, args: &[&str]) -> (Self, Ready) {
        let parent = std::process::id().to_string();
        let process =
            Self::spawn(Command::new(roles()).arg(role).args(args).args(["--parent-pid", &parent]));
        let ready = process.await_ready();
        (process, ready)
    }

    /// What it says when it is ready.
    pub(crate) fn await_ready(&self) -> Ready {
        match self.records.recv_timeout(PATIENCE) {
            Ok(Record::Ready(ready)) => ready,
            other => panic!("not ready: {other:?}"),
        }
    }

    /// A program of others, which dies with us.
    pub(crate) fn foreign(program: &Path, args: &[&str]) -> Self {
        Self::spawn(
            Command::new("setpriv").args(["--pdeathsig", "KILL", "--"]).arg(program).args(args),
        )
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Asks it to stop; all that it said.
    pub(crate) fn stop(mut self) -> Vec<Record> {
        let pid = i32::try_from(self.pid()).ok().and_then(Pid::from_raw).expect("a pid");
        kill_process(pid, Signal::TERM).expect("our own child");
        self.child.wait().expect("it ends");
        self.records.iter().collect()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The example beside the tested binary.
fn roles() -> PathBuf {
    let tracer = PathBuf::from(env!("CARGO_BIN_EXE_tracer"));
    let roles = tracer.with_file_name("examples").join("roles");
    assert!(roles.is_file(), "{} is not built: cargo build -p tracer --examples", roles.display());
    roles
}

/// An origin on a free port.
pub(crate) fn origin() -> (Process, SocketAddr) {
    let (process, ready) = Process::role("origin", &[]);
    (process, ready.listen.expect("an origin listens"))
}

/// Puts `downloads` upon `addr` for `length` and waits for their end.
pub(crate) fn download(addr: SocketAddr, downloads: u32, length: Duration) {
    let (addr, downloads) = (addr.to_string(), downloads.to_string());
    let length = format!("{}ms", length.as_millis());
    let args = [&*addr, "--slow", &downloads, "--duration", &length];
    let (mut slow, _) = Process::role("slow", &args);
    slow.child.wait().expect("it ends by itself");
}
