//! The holder: a process of ours that makes a network namespace, keeps it while its lab lives, and
//! leaves nothing inside when it ends.
//!
//! It does not ask for a signal at its parent's death: it reads a pipe whose other side only the lab
//! has, and so has time to end what is still inside. SIGHUP, SIGINT and SIGTERM do not keep it from
//! that. SIGHUP comes from the kernel when the lab's process dies while its holder is stopped, and with
//! it a SIGCONT (setpgid(2), orphaned process groups): so even a stopped one does its duty.

use std::fs;
use std::io::{self, Read};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sched::{CloneFlags, unshare};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::plan::{flat, sysctl_path};
use crate::strays;
use crate::told::{Known, Told};
use crate::{NetId, Sysctl, SysctlReadBack};

/// What a holder needs to know.
#[derive(Clone, Debug, clap::Args)]
pub struct HolderOptions {
    /// The host whose namespace it holds
    #[arg(long, value_name = "HOST")]
    pub name: String,

    /// The process that the lab belongs to
    #[arg(long, value_name = "PID")]
    pub owner: u32,

    /// Set this inside, as net.ipv4.tcp_rmem=4096 131072 6291456
    #[arg(long, value_name = "NAME=VALUE")]
    pub sysctl: Vec<Sysctl>,
}

impl HolderOptions {
    /// The same options as arguments of a command line.
    pub fn to_args(&self) -> Vec<String> {
        let mut args = vec!["--name".to_owned(), self.name.clone()];
        args.extend(["--owner".to_owned(), self.owner.to_string()]);
        for sysctl in &self.sysctl {
            args.extend(["--sysctl".to_owned(), sysctl.to_string()]);
        }
        args
    }
}

/// How long a holder tries to end what is inside: only a process that waits for a dead disk takes
/// longer.
const PATIENCE: Duration = Duration::from_secs(5);

/// Holds a network namespace until standard input ends, then ends every process that is still
/// inside. Call it from the main thread of a process that does nothing else. Its failures are told to
/// the lab on standard output.
pub fn hold(options: &HolderOptions) -> ExitCode {
    let net = match make(options) {
        Ok((net, ready)) => {
            if ready.tell().is_err() {
                return ExitCode::FAILURE;
            }
            net
        }
        Err(told) => {
            // Nobody may be listening: the exit code says it too.
            let _ = told.tell();
            return ExitCode::FAILURE;
        }
    };
    wait_for_the_end_of(io::stdin().lock());
    let strays = strays::end_all(net, Instant::now() + PATIENCE);
    // The lab may be gone already: then nobody is left to tell.
    let _ = Told::Ended { strays }.tell();
    ExitCode::SUCCESS
}

/// Makes the namespace and its settings; what went wrong is for the lab to hear.
fn make(options: &HolderOptions) -> Result<(NetId, Told), Told> {
    let failed =
        |what: &str, why: &dyn std::fmt::Display| Told::Failed { why: format!("{what}: {why}") };
    let ignored = Arc::new(AtomicBool::new(false));
    for signal in [SIGHUP, SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&ignored))
            .map_err(|why| failed("ignore signals", &why))?;
    }
    let outside = NetId::current().map_err(|why| failed("read /proc", &why))?;
    unshare(CloneFlags::CLONE_NEWNET).map_err(|errno| match errno {
        Errno::EPERM => Told::NotAllowed,
        Errno::EINVAL => failed("unshare", &"the kernel has no network namespaces (CONFIG_NET_NS)"),
        other => failed("unshare", &other),
    })?;
    let net = NetId::current().map_err(|why| failed("read /proc", &why))?;
    // All that is inside will be ended one day: be sure that it is not the host itself, and that the
    // path by which others enter leads here and not to another thread's namespace.
    let by_pid = NetId::of_process(std::process::id()).ok();
    if net == outside || by_pid != Some(net) {
        return Err(failed("unshare", &"this is not the main thread of a holder"));
    }
    let sysctls: Result<_, _> = options.sysctl.iter().map(set).collect();
    Ok((net, Told::Ready { net, sysctls: sysctls? }))
}

fn set(sysctl: &Sysctl) -> Result<SysctlReadBack, Told> {
    let path = sysctl_path(sysctl.name());
    let told = |error: io::Error| Told::Sysctl {
        sysctl: sysctl.to_string(),
        why: error.to_string(),
        known: if path.exists() { Known::Here } else { Known::NotHere },
    };
    // Opened to write, never created: procfs has no files of ours.
    let write = || {
        let mut file = fs::OpenOptions::new().write(true).open(&path)?;
        io::Write::write_all(&mut file, sysctl.value().as_bytes())
    };
    write().map_err(told)?;
    let effective = fs::read_to_string(&path).map_err(told)?;
    Ok(SysctlReadBack {
        name: sysctl.name().to_owned(),
        requested: Some(sysctl.value().to_owned()),
        effective: flat(&effective),
    })
}

/// What is sent is not looked at; an error is an end too.
fn wait_for_the_end_of(mut input: impl Read) {
    let mut ignored = [0; 64];
    loop {
        match input.read(&mut ignored) {
            Ok(0) => return,
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}
