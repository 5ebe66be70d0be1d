//! System calls by number: those that make a loop, those that move bytes, and the names of what else
//! an event loop may call.

use std::fmt;

/// What a call is to the programs in the kernel; numbers as in bpf/probe.bpf.c.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// It waits for events: a turn lies between two of them.
    Poll = 1,
    /// The same; a thread that uses it has no other way back to its loop.
    Epoll = 2,
    /// It returns bytes read from the descriptor that is its first argument.
    In = 3,
    /// It returns bytes written to that.
    Out = 4,
    Splice = 5,
    Accept = 6,
    Connect = 7,
    Close = 8,
    Futex = 9,
}

/// A system call by its number; a page fault is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Call {
    /// A call of this number.
    Number(u32),
    /// Not in a call: a page had to be fetched.
    PageFault,
}

impl Call {
    /// As the kernel has it: -1 is none.
    pub(crate) fn of(number: u32) -> Self {
        if number > 0xffff { Self::PageFault } else { Self::Number(number) }
    }
}

/// Prints its name; `call_999` when that is not known, `page fault`.
impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PageFault => f.pad("page fault"),
            Self::Number(number) => match NAMES.iter().find(|(known, _)| known == number) {
                Some((_, name)) => f.pad(name),
                None => f.pad(&format!("call_{number}")),
            },
        }
    }
}

/// The calls that programs tell apart, by number.
pub(crate) fn classes() -> impl Iterator<Item = (u32, Class)> {
    NAMES.iter().filter_map(|&(number, name)| Some((number, class(name)?)))
}

/// Whether a call of this number waits for events.
pub(crate) fn is_poll(number: i64) -> bool {
    classes().any(|(known, class)| {
        i64::from(known) == number && matches!(class, Class::Poll | Class::Epoll)
    })
}

fn class(name: &str) -> Option<Class> {
    Some(match name {
        "poll" | "ppoll" | "select" | "pselect6" => Class::Poll,
        "epoll_wait" | "epoll_pwait" | "epoll_pwait2" => Class::Epoll,
        "read" | "recvfrom" | "readv" | "recvmsg" | "pread64" | "preadv" => Class::In,
        "write" | "sendto" | "writev" | "sendmsg" | "sendfile" | "pwrite64" | "pwritev" => {
            Class::Out
        }
        "splice" => Class::Splice,
        "accept" | "accept4" => Class::Accept,
        "connect" => Class::Connect,
        "close" => Class::Close,
        "futex" => Class::Futex,
        _ => return None,
    })
}

/// arch/x86/entry/syscalls/syscall_64.tbl
#[cfg(target_arch = "x86_64")]
const NAMES: &[(u32, &str)] = &[
    (0, "read"),
    (1, "write"),
    (2, "open"),
    (3, "close"),
    (4, "stat"),
    (5, "fstat"),
    (6, "lstat"),
    (7, "poll"),
    (8, "lseek"),
    (9, "mmap"),
    (10, "mprotect"),
    (11, "munmap"),
    (12, "brk"),
    (13, "rt_sigaction"),
    (14, "rt_sigprocmask"),
    (15, "rt_sigreturn"),
    (16, "ioctl"),
    (17, "pread64"),
    (18, "pwrite64"),
    (19, "readv"),
    (20, "writev"),
    (22, "pipe"),
    (23, "select"),
    (24, "sched_yield"),
    (28, "madvise"),
    (32, "dup"),
    (33, "dup2"),
    (35, "nanosleep"),
    (39, "getpid"),
    (40, "sendfile"),
    (41, "socket"),
    (42, "connect"),
    (43, "accept"),
    (44, "sendto"),
    (45, "recvfrom"),
    (46, "sendmsg"),
    (47, "recvmsg"),
    (48, "shutdown"),
    (49, "bind"),
    (50, "listen"),
    (51, "getsockname"),
    (52, "getpeername"),
    (54, "setsockopt"),
    (55, "getsockopt"),
    (61, "wait4"),
    (62, "kill"),
    (72, "fcntl"),
    (74, "fsync"),
    (75, "fdatasync"),
    (76, "truncate"),
    (77, "ftruncate"),
    (82, "rename"),
    (87, "unlink"),
    (96, "gettimeofday"),
    (187, "readahead"),
    (202, "futex"),
    (213, "epoll_create"),
    (221, "fadvise64"),
    (228, "clock_gettime"),
    (230, "clock_nanosleep"),
    (232, "epoll_wait"),
    (233, "epoll_ctl"),
    (257, "openat"),
    (262, "newfstatat"),
    (263, "unlinkat"),
    (270, "pselect6"),
    (271, "ppoll"),
    (275, "splice"),
    (276, "tee"),
    (277, "sync_file_range"),
    (281, "epoll_pwait"),
    (285, "fallocate"),
    (286, "timerfd_settime"),
    (288, "accept4"),
    (291, "epoll_create1"),
    (293, "pipe2"),
    (295, "preadv"),
    (296, "pwritev"),
    (318, "getrandom"),
    (332, "statx"),
    (426, "io_uring_enter"),
    (441, "epoll_pwait2"),
];

/// include/uapi/asm-generic/unistd.h
#[cfg(target_arch = "aarch64")]
const NAMES: &[(u32, &str)] = &[
    (19, "eventfd2"),
    (20, "epoll_create1"),
    (21, "epoll_ctl"),
    (22, "epoll_pwait"),
    (23, "dup"),
    (24, "dup3"),
    (25, "fcntl"),
    (29, "ioctl"),
    (35, "unlinkat"),
    (45, "truncate"),
    (46, "ftruncate"),
    (47, "fallocate"),
    (56, "openat"),
    (57, "close"),
    (59, "pipe2"),
    (62, "lseek"),
    (63, "read"),
    (64, "write"),
    (65, "readv"),
    (66, "writev"),
    (67, "pread64"),
    (68, "pwrite64"),
    (69, "preadv"),
    (70, "pwritev"),
    (71, "sendfile"),
    (72, "pselect6"),
    (73, "ppoll"),
    (76, "splice"),
    (77, "tee"),
    (79, "newfstatat"),
    (80, "fstat"),
    (82, "fsync"),
    (83, "fdatasync"),
    (84, "sync_file_range"),
    (86, "timerfd_settime"),
    (98, "futex"),
    (101, "nanosleep"),
    (113, "clock_gettime"),
    (115, "clock_nanosleep"),
    (124, "sched_yield"),
    (129, "kill"),
    (134, "rt_sigaction"),
    (135, "rt_sigprocmask"),
    (139, "rt_sigreturn"),
    (172, "getpid"),
    (198, "socket"),
    (200, "bind"),
    (201, "listen"),
    (202, "accept"),
    (203, "connect"),
    (204, "getsockname"),
    (205, "getpeername"),
    (206, "sendto"),
    (207, "recvfrom"),
    (208, "setsockopt"),
    (209, "getsockopt"),
    (210, "shutdown"),
    (211, "sendmsg"),
    (212, "recvmsg"),
    (213, "readahead"),
    (214, "brk"),
    (215, "munmap"),
    (222, "mmap"),
    (223, "fadvise64"),
    (226, "mprotect"),
    (233, "madvise"),
    (242, "accept4"),
    (260, "wait4"),
    (276, "renameat2"),
    (278, "getrandom"),
    (291, "statx"),
    (426, "io_uring_enter"),
    (441, "epoll_pwait2"),
];
