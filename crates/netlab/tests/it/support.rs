//! What every test of a lab needs.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use netlab::{Lab, LabError, LabPlan, LabReadBack, NetId, Program};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, kill_process_group, pidfd_open};

/// What hangs makes a test fail, not hang.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// The program that plays holder and hop.
pub(crate) const NETLAB: &str = env!("CARGO_BIN_EXE_netlab");

/// A lab, or the reason why there is none here.
#[expect(clippy::print_stderr, reason = "a test that is skipped says why")]
pub(crate) fn up(plan: &LabPlan) -> Option<Lab> {
    match Lab::up_with(plan, &Program::at(NETLAB)) {
        Ok(lab) => Some(lab),
        Err(error) if cannot_be_here(&error) => {
            eprintln!("skipped: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// Whether this host, and not the lab, is the reason.
fn cannot_be_here(error: &LabError) -> bool {
    match error {
        LabError::NotAllowed | LabError::NoTool(_) => true,
        LabError::Tool { said, module: Some(_), .. } => {
            said.contains("Unknown device type") || said.contains("qdisc kind is unknown")
        }
        _ => false,
    }
}

/// The links that the namespace of the test has, as everybody sees them.
pub(crate) fn own_links() -> BTreeSet<String> {
    let entries = fs::read_dir("/sys/class/net").expect("sysfs").map_while(Result::ok);
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

/// The namespaces of a lab. They are held open: the kernel gives the number of one that has gone to
/// the next that is made, which may be another test's.
pub(crate) struct Nets(Vec<(NetId, File)>);

impl Nets {
    /// Those of a lab that is up.
    pub(crate) fn of(lab: &LabReadBack) -> Self {
        let open = |holder| File::open(format!("/proc/{holder}/ns/net")).expect("a holder");
        Self(lab.hosts.iter().map(|host| (host.net, open(host.holder))).collect())
    }

    /// Whether any process is in one of them.
    pub(crate) fn inhabited(&self) -> bool {
        let pids = fs::read_dir("/proc").expect("procfs").map_while(Result::ok);
        let mut pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        pids.any(|pid| {
            NetId::of_process(pid).is_ok_and(|net| self.0.iter().any(|(own, _)| *own == net))
        })
    }
}

/// Waits until the process has ended; panics if it does not.
pub(crate) fn wait_for_the_end_of(pids: &[u32]) {
    let time = Timespec { tv_sec: PATIENCE.as_secs().cast_signed(), tv_nsec: 0 };
    for &pid in pids {
        // No such process: it has ended already.
        let Ok(process) = pidfd_open(raw(pid), PidfdFlags::empty()) else { continue };
        let mut fds = [PollFd::new(&process, PollFlags::IN)];
        assert_eq!(poll(&mut fds, Some(&time)), Ok(1), "{pid} is still there");
    }
}

pub(crate) fn send(pid: u32, signal: Signal) {
    kill_process(raw(pid), signal).expect("it is ours");
}

pub(crate) fn send_group(pid: u32, signal: Signal) {
    kill_process_group(raw(pid), signal).expect("it is ours");
}

fn raw(pid: u32) -> Pid {
    pid.try_into().ok().and_then(Pid::from_raw).expect("a process id")
}

/// `netlab up`: a lab whose owner can be killed.
pub(crate) struct Owner {
    pub(crate) process: Child,
    pub(crate) lab: LabReadBack,
    pub(crate) nets: Nets,
}

impl Owner {
    /// One with two hosts; `None`: no lab can be here.
    pub(crate) fn up() -> Option<Self> {
        drop(up(&LabPlan::of(["a"]))?);
        let mut process = Command::new(NETLAB)
            .args(["up", "--hosts", "a,b"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()
            .expect("our own program");
        let line = line(process.stdout.as_mut().expect("a pipe"));
        let lab = serde_json::from_str(&line).expect("what the kernel made of it");
        Some(Self { process, nets: Nets::of(&lab), lab })
    }

    pub(crate) fn holders(&self) -> Vec<u32> {
        self.lab.hosts.iter().map(|host| host.holder).collect()
    }

    /// The holder of the switch: a child of the owner that holds no host.
    pub(crate) fn switch(&self) -> u32 {
        let owner = self.process.id();
        let children = fs::read_to_string(format!("/proc/{owner}/task/{owner}/children"));
        let children = children.expect("CONFIG_PROC_CHILDREN");
        let mut children = children.split_whitespace().map(|pid| pid.parse().expect("a number"));
        children.find(|pid| !self.holders().contains(pid)).expect("a switch")
    }

    /// A process on the first host that nobody looks after.
    pub(crate) fn orphan(&self) -> Child {
        orphan_in(self.holders()[0])
    }
}

/// A process in a holder's namespace that nobody looks after: it has no parent that it would die with.
pub(crate) fn orphan_in(holder: u32) -> Child {
    let net = format!("/proc/{holder}/ns/net");
    let mut orphan = Command::new(NETLAB)
        .args([Program::ENTER, "--net", &net, "--", "sh", "-c", "echo up; exec sleep 60"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("our own program");
    assert_eq!(line(orphan.stdout.as_mut().expect("a pipe")), "up\n");
    orphan
}

/// The next line, and no more.
pub(crate) fn line(out: &mut ChildStdout) -> String {
    let mut line = String::new();
    BufReader::new(out).read_line(&mut line).expect("a line");
    line
}

/// A test that failed must leave nothing either.
impl Drop for Owner {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
