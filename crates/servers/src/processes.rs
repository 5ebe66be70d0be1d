//! A program's processes: its threads and sockets, and how all that came of one is ended, whatever group or
//! session it put itself into.

use std::collections::BTreeSet;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Instant;

use net::process::{self, descends, family, pids, stat};
use net::sock_diag::SockDiag;
use procfs::process::{FDTarget, Process, Task};
use rustix::process::{
    Pid, PidfdFlags, PidfdGetfdFlags, getpid, pidfd_getfd, pidfd_open, set_child_subreaper,
};
use socket2::Socket;

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

/// Inodes of the sockets that listen on `addr`, by the kernel's tables; and one of them that is the program's, to
/// be asked for its options. Absent where we may not have it.
///
/// # Errors
/// The kernel does not tell.
pub(crate) fn listening(root: Pid, addr: SocketAddr) -> io::Result<(Vec<u64>, Option<Socket>)> {
    let queues = SockDiag::open()?.listeners(addr)?;
    let inodes: Vec<u64> = queues.into_iter().map(|queue| queue.inode).collect();
    let socket = borrow(root, |inode, _| inodes.contains(&inode));
    Ok((inodes, socket))
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
    Ok(pids().filter(|&pid| sockets(pid).any(|inode| inodes.contains(&inode))).collect())
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
        probe::process::descriptors(stat.pid.cast_unsigned()).find_map(|(fd, of)| {
            let FDTarget::Socket(inode) = of else { return None };
            let socket = Socket::from(pidfd_getfd(&process, fd, PidfdGetfdFlags::empty()).ok()?);
            wanted(inode, &socket).then_some(socket)
        })
    })
}

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
pub(crate) fn living(ancestor: i32) -> Vec<i32> {
    let look = || -> Vec<i32> {
        let below = family(ancestor).into_iter().skip(1);
        below.filter(|stat| !matches!(stat.state, 'Z' | 'X')).map(|stat| stat.pid).collect()
    };
    let mut seen = look();
    for _ in 1..LOOKS {
        let again = look();
        if again == seen {
            break;
        }
        seen = again;
    }
    seen
}

/// Kills all that descend from this process until none is alive. It has to be one that orphans come to.
///
/// # Errors
/// The time is up, and some are alive.
pub(crate) fn end_own(deadline: Instant) -> io::Result<()> {
    let own = std::process::id().cast_signed();
    let left = process::end_all(|| living(own), |pid| descends(pid, own), deadline);
    if left.is_empty() {
        return Ok(());
    }
    let what = format!("of its processes {left:?} do not die");
    Err(io::Error::new(io::ErrorKind::TimedOut, what))
}

#[cfg(test)]
mod tests;
