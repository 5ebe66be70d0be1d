//! Looking into processes that are not ours to ask: proc(5).

use std::fs;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use net::sock_diag::SockDiag;
use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};
use socket2::Socket;

/// A process as `/proc/<pid>/stat` tells of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stat {
    pub(super) parent: i32,
    pub(super) group: i32,
    /// Clock ticks after boot: with it, the order of starts.
    pub(super) started: u64,
    /// `Z` or `X`: it is dead.
    pub(super) state: char,
}

impl Stat {
    pub(super) fn read(pid: i32) -> Option<Self> {
        Self::parse(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
    }

    /// The name stands in parentheses and may hold anything, so what follows the last of them.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (_, rest) = text.rsplit_once(')')?;
        let fields: Vec<&str> = rest.split_whitespace().collect();
        Some(Self {
            state: fields.first()?.chars().next()?,
            parent: fields.get(1)?.parse().ok()?,
            group: fields.get(2)?.parse().ok()?,
            started: fields.get(19)?.parse().ok()?,
        })
    }

    pub(super) const fn is_alive(self) -> bool {
        !matches!(self.state, 'Z' | 'X')
    }
}

/// All processes with their stat, as far as they last.
pub(super) fn processes() -> Vec<(i32, Stat)> {
    numbers("/proc").filter_map(|pid| Some((pid, Stat::read(pid)?))).collect()
}

/// `root` and all that descend from it, oldest first.
pub(super) fn family(root: i32) -> Vec<i32> {
    let all = processes();
    let mut family = vec![root];
    let mut next = 0;
    while let Some(&parent) = family.get(next) {
        let mut children: Vec<_> = all.iter().filter(|(_, stat)| stat.parent == parent).collect();
        children.sort_unstable_by_key(|(pid, stat)| (stat.started, *pid));
        family.extend(children.into_iter().map(|(pid, _)| *pid));
        next += 1;
    }
    family
}

/// Threads of a process, oldest first but for numbers that came round.
pub(super) fn threads(pid: i32) -> Vec<i32> {
    let mut tids: Vec<i32> = numbers(&format!("/proc/{pid}/task")).collect();
    let started = |tid: i32| {
        fs::read_to_string(format!("/proc/{pid}/task/{tid}/stat"))
            .ok()
            .and_then(|text| Stat::parse(&text))
            .map_or(u64::MAX, |stat| stat.started)
    };
    tids.sort_by_cached_key(|&tid| (started(tid), tid));
    tids
}

/// A process' command line, its words divided by blanks.
pub(super) fn command_line(pid: i32) -> String {
    let bytes = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&bytes).replace('\0', " ").trim().to_owned()
}

/// What a process is called, for people: its command line, or the kernel's name of one that has none
/// just now, as while it becomes another program.
pub(crate) fn title(pid: i32) -> String {
    let line = command_line(pid);
    if !line.is_empty() {
        return line;
    }
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    name.trim_end().to_owned()
}

/// What a thread is waiting in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wait {
    /// `epoll_wait` and its like, on that descriptor.
    Epoll(i32),
    /// `poll` or `select`.
    Poll,
    /// `futex`: another thread will wake it.
    Futex,
    /// Nothing: it runs, or is about to.
    Running,
    /// Something else, or what we may not know.
    Other,
}

/// Numbers of system calls that wait for events, unistd.h: they differ by architecture.
mod calls {
    #[cfg(target_arch = "x86_64")]
    pub(super) const EPOLL: [i64; 3] = [232, 281, 441];
    #[cfg(target_arch = "x86_64")]
    pub(super) const POLL: [i64; 4] = [7, 23, 270, 271];
    #[cfg(target_arch = "x86_64")]
    pub(super) const FUTEX: i64 = 202;
    #[cfg(not(target_arch = "x86_64"))]
    pub(super) const EPOLL: [i64; 2] = [22, 441];
    #[cfg(not(target_arch = "x86_64"))]
    pub(super) const POLL: [i64; 2] = [72, 73];
    #[cfg(not(target_arch = "x86_64"))]
    pub(super) const FUTEX: i64 = 98;
}

/// From `/proc/<pid>/task/<tid>/syscall`, which needs the right to trace it: root, or its parent.
pub(super) fn wait(pid: i32, tid: i32) -> Wait {
    let text = fs::read_to_string(format!("/proc/{pid}/task/{tid}/syscall")).unwrap_or_default();
    parse_wait(&text)
}

pub(super) fn parse_wait(text: &str) -> Wait {
    if text.trim_end() == "running" {
        return Wait::Running;
    }
    let mut words = text.split_whitespace();
    let Some(number) = words.next().and_then(|word| word.parse::<i64>().ok()) else {
        return Wait::Other;
    };
    let first = words.next().and_then(|word| word.strip_prefix("0x"));
    let first = first.and_then(|hex| i64::from_str_radix(hex, 16).ok());
    match first.and_then(|first| i32::try_from(first).ok()) {
        Some(fd) if calls::EPOLL.contains(&number) => Wait::Epoll(fd),
        _ if calls::POLL.contains(&number) => Wait::Poll,
        _ if number == calls::FUTEX => Wait::Futex,
        _ => Wait::Other,
    }
}

/// A thread's name, and how often it has left its CPU or come to it (`status`).
pub(super) fn switches(pid: i32, tid: i32) -> Option<(String, u64)> {
    parse_switches(&fs::read_to_string(format!("/proc/{pid}/task/{tid}/status")).ok()?)
}

fn parse_switches(text: &str) -> Option<(String, u64)> {
    let field = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        Some(line.trim())
    };
    let count = |name| field(name)?.parse::<u64>().ok();
    let voluntary = count("voluntary_ctxt_switches:")?;
    let all = voluntary.saturating_add(count("nonvoluntary_ctxt_switches:")?);
    Some((field("Name:")?.to_owned(), all))
}

/// Inodes of what an epoll descriptor of a process watches (`tfd:` lines of its fdinfo).
pub(super) fn watched(pid: i32, epoll: i32) -> Vec<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/fdinfo/{epoll}")).unwrap_or_default();
    parse_watched(&text)
}

pub(super) fn parse_watched(text: &str) -> Vec<u64> {
    let inode = |line: &str| {
        let rest = line.strip_prefix("tfd:")?;
        let hex = rest.split_whitespace().find_map(|word| word.strip_prefix("ino:"))?;
        u64::from_str_radix(hex, 16).ok()
    };
    text.lines().filter_map(inode).collect()
}

/// Epoll descriptors of a process.
pub(super) fn epolls(pid: i32) -> Vec<i32> {
    let is_epoll = |fd: &i32| {
        fs::read_link(format!("/proc/{pid}/fd/{fd}"))
            .is_ok_and(|target| target.as_os_str() == "anon_inode:[eventpoll]")
    };
    numbers(&format!("/proc/{pid}/fd")).filter(is_epoll).collect()
}

fn numbers(dir: &str) -> impl Iterator<Item = i32> + use<> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
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
    let names: Vec<_> = inodes.iter().map(|inode| format!("socket:[{inode}]")).collect();
    let socket = borrow(root, |name, _| names.iter().any(|known| known == name));
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
    let mut names = Vec::new();
    for addr in std::iter::once(addr).chain(any) {
        let sockets = diag.listeners(addr)?;
        names.extend(sockets.into_iter().map(|socket| format!("socket:[{}]", socket.inode)));
    }
    let has_one = |pid: &i32| {
        numbers(&format!("/proc/{pid}/fd")).any(|fd| {
            let target = fs::read_link(format!("/proc/{pid}/fd/{fd}"));
            target.is_ok_and(|target| names.iter().any(|name| target.as_os_str() == name.as_str()))
        })
    };
    Ok(numbers("/proc").filter(has_one).collect())
}

/// A socket of the program that is connected to `peer`.
pub(crate) fn connected(root: Pid, peer: SocketAddr) -> Option<Socket> {
    borrow(root, |_, socket| {
        socket.peer_addr().ok().and_then(|addr| addr.as_socket()) == Some(peer)
    })
}

/// A second descriptor of the first socket of the program that is `wanted`, by its name in `/proc`
/// and itself; pidfd_getfd(2) needs the right to trace.
///
/// To be dropped soon: as long as it is there, a close by the program does not take the socket out of
/// its epoll (epoll(7)).
fn borrow(root: Pid, wanted: impl Fn(&str, &Socket) -> bool) -> Option<Socket> {
    family(root.as_raw_pid()).into_iter().find_map(|pid| {
        let process = pidfd_open(Pid::from_raw(pid)?, PidfdFlags::empty()).ok()?;
        numbers(&format!("/proc/{pid}/fd")).find_map(|fd| {
            let target = fs::read_link(format!("/proc/{pid}/fd/{fd}")).ok()?;
            let name = target.to_str().filter(|name| name.starts_with("socket:["))?;
            let socket = pidfd_getfd(&process, fd, PidfdGetfdFlags::empty()).ok()?;
            let socket = Socket::from(socket);
            wanted(name, &socket).then_some(socket)
        })
    })
}

#[cfg(test)]
mod tests;
