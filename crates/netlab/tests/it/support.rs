//! What every test of a lab needs.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use netlab::{Lab, LabError, LabPlan, LabReadBack, NetId, Program};
use rustix::process::{Pid, kill_process_group};
use testkit::{Running, Signal, installed, pids, skip};

/// The program that plays the hop.
pub(crate) const NETLAB: &str = env!("CARGO_BIN_EXE_netlab");

/// A lab; `None`, and a word why the test is skipped, where there can be none.
pub(crate) fn up(plan: &LabPlan) -> Option<Lab> {
    match Lab::up_with(plan, &Program::at(NETLAB)) {
        Ok(lab) => Some(lab),
        Err(LabError::NoTool(name)) => {
            assert!(!installed(name), "{name} is there");
            None
        }
        Err(error) if cannot_be_here(&error) => {
            skip(error);
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// Whether this host, and not the lab, is the reason.
fn cannot_be_here(error: &LabError) -> bool {
    match error {
        LabError::NotAllowed => true,
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
        let open = |path| File::open(path).expect("a lab that is up");
        Self(lab.hosts.iter().map(|host| (host.net, open(&host.net_path))).collect())
    }

    /// Whether any process is in one of them.
    pub(crate) fn inhabited(&self) -> bool {
        pids().any(|pid| {
            NetId::of_process(pid).is_ok_and(|net| self.0.iter().any(|(own, _)| *own == net))
        })
    }
}

/// As from a terminal: to all of a process group.
pub(crate) fn send_group(pid: u32, signal: Signal) {
    let group = i32::try_from(pid).ok().and_then(Pid::from_raw).expect("a process id");
    kill_process_group(group, signal).expect("it is ours");
}

/// `netlab up`: a lab whose owner can be killed.
pub(crate) struct Owner {
    pub(crate) process: Running,
    pub(crate) lab: LabReadBack,
    pub(crate) nets: Nets,
}

impl Owner {
    /// One with two hosts; `None`: no lab can be here.
    pub(crate) fn up() -> Option<Self> {
        drop(up(&LabPlan::of(["a"]))?);
        let mut command = Command::new(NETLAB);
        let process = Running::with_stdin(command.args(["up", "--hosts", "a,b"]).process_group(0));
        let line = process.line().expect("what the kernel made of it");
        let lab = serde_json::from_str(&line).expect("what the kernel made of it");
        Some(Self { process, nets: Nets::of(&lab), lab })
    }

    /// A process on the first host that nobody looks after.
    pub(crate) fn orphan(&self) -> Running {
        orphan_in(&self.lab.hosts[0].net_path)
    }
}

/// A process in a namespace that nobody looks after: it has no parent that it would die with.
pub(crate) fn orphan_in(net: &Path) -> Running {
    let mut command = Command::new(NETLAB);
    command.args([Program::ENTER, "--net"]).arg(net);
    let orphan = Running::start(command.args(["--", "sh", "-c", "echo up; exec sleep 60"]));
    assert_eq!(orphan.line().as_deref(), Some("up"));
    orphan
}
