//! Processes that are not ours to ask: what proc(5) tells of them, and how all that came of one is ended,
//! whatever group or session it put itself into.

use std::collections::BTreeSet;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use net::child::ends_within;
use net::sock_diag::SockDiag;
use procfs::process::{FDTarget, Process, Stat, Task, all_processes};
use rustix::process::{
    Pid, PidfdFlags, PidfdGetfdFlags, Signal, getpid, pidfd_getfd, pidfd_open, pidfd_send_signal,
    set_child_subreaper,
};
use socket2::Socket;

/// `root` and all that descend from it, oldest first.
pub(crate) fn family(root: i32) -> Vec<Stat> {
    let all: Vec<Stat> = all_processes()
        .into_iter()
        .flatten()
        .filter_map(|process| process.ok()?.stat().ok())
        .collect();
    let mut family: Vec<Stat> = all.iter().filter(|stat| stat.pid == root).cloned().collect();
    let mut next = 0;
    while let Some(parent) = family.get(next).map(|stat| stat.pid) {
        let mut children: Vec<&Stat> = all.iter().filter(|stat| stat.ppid == parent).collect();
        children.sort_unstable_by_key(|stat| (stat.starttime, stat.pid));
        family.extend(children.into_iter().cloned());
        next += 1;
    }
    family
}

/// A process' stat, as long as it is there.
pub(crate) fn stat(pid: i32) -> Option<Stat> {
    Process::new(pid).ok()?.stat().ok()
}

/// Threads of a process, oldest first but for numbers that came round.
pub(crate) fn threads(pid: i32) -> Vec<Task> {
    let tasks = Process::new(pid).and_then(|process| process.tasks());
    let mut tasks: Vec<Task> = tasks.into_iter().flatten().flatten().collect();
    tasks
        .sort_by_cached_key(|task| (task.stat().map_or(u64::MAX, |stat| stat.starttime), task.tid));
    tasks
}

/// A process' command line, its words divided by blanks.
pub(crate) fn command_line(pid: i32) -> String {
    let words = Process::new(pid).and_then(|process| process.cmdline());
    words.map(|words| words.join(" ").trim().to_owned()).unwrap_or_default()
}

/// What a process is called, for people: its command line, or the kernel's name of one that has none
/// just now, as while it becomes another program.
pub(crate) fn title(pid: i32) -> String {
    let line = command_line(pid);
    if line.is_empty() { stat(pid).map(|stat| stat.comm).unwrap_or_default() } else { line }
}

/// A thread's name, and how often it has left its CPU or come to it.
pub(crate) fn switches(thread: &Task) -> Option<(String, u64)> {
    let status = thread.status().ok()?;
    let all = status.voluntary_ctxt_switches?.saturating_add(status.nonvoluntary_ctxt_switches?);
    Some((status.name, all))
}

/// Open descriptors of a process, and what they are of.
fn descriptors(pid: i32) -> impl Iterator<Item = (i32, FDTarget)> {
    let fds = Process::new(pid).and_then(|process| process.fd());
    fds.into_iter().flatten().flatten().map(|fd| (fd.fd, fd.target))
}

/// The program's listening sockets.
#[derive(Debug, Default)]
pub(crate) struct Listening {
    /// Their inodes.
    pub(crate) inodes: Vec<u64>,
    /// One of them, to be asked for its options. Absent where we may not have it.
    pub(crate) socket: Option<Socket>,
}

/// What of the program listens on `addr`, by the kernel's tables.
///
/// # Errors
/// The kernel does not tell.
pub(crate) fn listening(root: Pid, addr: SocketAddr) -> io::Result<Listening> {
    let queues = SockDiag::open()?.listeners(addr)?;
    let inodes: Vec<u64> = queues.into_iter().map(|queue| queue.inode).collect();
    let socket = borrow(root, |inode, _| inodes.contains(&inode));
    Ok(Listening { inodes, socket })
}

/// Processes that have a socket open that listens on `addr`, or on all addresses with its port;
/// those that we may look into.
///
/// # Errors
/// The kernel does not tell.
pub(crate) fn holders(addr: SocketAddr) -> io::Result<Vec<i32>> {
    let port = addr.port();
    let any = [(Ipv4Addr::UNSPECIFIED, port).into(), (Ipv6Addr::UNSPECIFIED, port).into()];
    let mut diag = SockDiag::open()?;
    let mut inodes = Vec::new();
    for addr in std::iter::once(addr).chain(any) {
        inodes.extend(diag.listeners(addr)?.into_iter().map(|queue| queue.inode));
    }
    let pids = all_processes().map_err(io::Error::other)?.flatten().map(|process| process.pid);
    Ok(pids.filter(|&pid| sockets(pid).any(|inode| inodes.contains(&inode))).collect())
}

/// Where one of these processes accepts connections; of those that we may look into.
///
/// # Errors
/// The kernel does not tell.
pub(crate) fn accepting(pids: &[i32]) -> io::Result<Vec<SocketAddr>> {
    let own: BTreeSet<u64> = pids.iter().flat_map(|&pid| sockets(pid)).collect();
    let mut queues = SockDiag::open()?.all_listeners()?;
    queues.retain(|queue| own.contains(&queue.inode));
    Ok(queues.into_iter().map(|queue| queue.addr).collect())
}

/// Inodes of a process' sockets.
fn sockets(pid: i32) -> impl Iterator<Item = u64> {
    u32::try_from(pid).ok().into_iter().flat_map(probe::process::open_sockets)
}

/// A socket of the program that is connected to `addr`.
pub(crate) fn connected(root: Pid, addr: SocketAddr) -> Option<Socket> {
    borrow(root, |_, socket| {
        socket.peer_addr().ok().and_then(|other| other.as_socket()) == Some(addr)
    })
}

/// A second descriptor of the first socket of the program that is `wanted`, by its inode and itself;
/// pidfd_getfd(2) needs the right to trace.
///
/// To be dropped soon: as long as it is there, a close by the program does not take the socket out of
/// its epoll (epoll(7)).
fn borrow(root: Pid, wanted: impl Fn(u64, &Socket) -> bool) -> Option<Socket> {
    family(root.as_raw_pid()).into_iter().find_map(|stat| {
        let process = pidfd_open(Pid::from_raw(stat.pid)?, PidfdFlags::empty()).ok()?;
        descriptors(stat.pid).find_map(|(fd, of)| {
            let FDTarget::Socket(inode) = of else { return None };
            let socket = Socket::from(pidfd_getfd(&process, fd, PidfdGetfdFlags::empty()).ok()?);
            wanted(inode, &socket).then_some(socket)
        })
    })
}

/// How long those that were just killed are waited for before it is looked who is left.
const WAIT: Duration = Duration::from_millis(200);

/// How often it is looked at most before what was seen last is taken for true.
const LOOKS: usize = 16;

/// Makes this process the one that orphans among its descendants come to, instead of the host's first
/// process.
pub(crate) fn adopt() -> io::Result<()> {
    // Any number but 0 means yes: prctl(2), PR_SET_CHILD_SUBREAPER.
    Ok(set_child_subreaper(Some(getpid()))?)
}

/// Whoever is alive and descends from `ancestor`, which is not among them; the oldest first, so that
/// a master does not start another worker.
///
/// The kernel lists its processes first and tells of each afterwards: one that starts another in
/// between and ends, as daemon(3) does, would hide it. Two looks in a row that agree hide nobody who
/// was there before the first.
pub(crate) fn living(ancestor: Pid) -> Vec<i32> {
    let mut seen = one_look(ancestor);
    for _ in 1..LOOKS {
        let again = one_look(ancestor);
        if again == seen {
            break;
        }
        seen = again;
    }
    seen
}

fn one_look(ancestor: Pid) -> Vec<i32> {
    let below = family(ancestor.as_raw_pid()).into_iter().skip(1);
    below.filter(|stat| !matches!(stat.state, 'Z' | 'X')).map(|stat| stat.pid).collect()
}

/// Kills all that descend from `ancestor` until none is alive. It has to be one that orphans come to.
///
/// # Errors
/// The time is up, and some are alive.
pub(crate) fn end_all(ancestor: Pid, deadline: Instant) -> io::Result<()> {
    // One that is killed may just have started another: look again until there is none.
    loop {
        let alive = living(ancestor);
        if alive.is_empty() {
            return Ok(());
        }
        if Instant::now() >= deadline {
            let what = format!("of its processes {alive:?} do not die");
            return Err(io::Error::new(io::ErrorKind::TimedOut, what));
        }
        let ended: Vec<OwnedFd> =
            alive.into_iter().filter_map(|pid| kill(ancestor, Pid::from_raw(pid)?)).collect();
        await_end(&ended, WAIT.min(deadline.saturating_duration_since(Instant::now())));
    }
}

/// Kills `pid` if it does descend from `ancestor`: its number may have become another's since.
fn kill(ancestor: Pid, pid: Pid) -> Option<OwnedFd> {
    let process = pidfd_open(pid, PidfdFlags::empty()).ok()?;
    if descends(pid.as_raw_pid(), ancestor) {
        // ESRCH: it is dead already.
        let _ = pidfd_send_signal(&process, Signal::KILL);
    }
    Some(process)
}

/// Whether `pid` descends from `ancestor`, or is it.
pub(crate) fn descends(mut pid: i32, ancestor: Pid) -> bool {
    // Chains of parents are short; the bound is for a table that changes under our eyes.
    for _ in 0..64 {
        if pid == ancestor.as_raw_pid() {
            return true;
        }
        match stat(pid) {
            Some(stat) => pid = stat.ppid,
            None => return false,
        }
    }
    false
}

/// Waits until all of them have ended, for that long at most.
pub(crate) fn await_end<'a>(processes: impl IntoIterator<Item = &'a OwnedFd>, at_most: Duration) {
    let deadline = Instant::now() + at_most;
    for process in processes {
        ends_within(process, deadline.saturating_duration_since(Instant::now()));
    }
}

#[cfg(test)]
mod tests;
