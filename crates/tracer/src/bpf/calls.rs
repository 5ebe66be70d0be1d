//! System calls of x86-64 by number (arch/x86/entry/syscalls/syscall_64.tbl): those that make a
//! loop, those that move bytes, and the names of what else an event loop may call.

/// A system call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Call {
    pub(crate) number: u32,
    pub(crate) name: &'static str,
}

const fn call(number: u32, name: &'static str) -> Call {
    Call { number, name }
}

/// Calls that wait for events: a loop turn lies between two of them.
pub(crate) const POLLS: [Call; 7] = [
    call(232, "epoll_wait"),
    call(281, "epoll_pwait"),
    call(441, "epoll_pwait2"),
    call(7, "poll"),
    call(271, "ppoll"),
    call(23, "select"),
    call(270, "pselect6"),
];

/// Calls that return bytes read from the descriptor that is their first argument. splice(2) is
/// among them, and looked at again when its first argument is a pipe.
pub(super) const IN: [u32; 7] = [0, 45, 19, 47, 17, 295, 275];

/// Calls that return bytes written to the descriptor that is their first argument.
pub(super) const OUT: [u32; 7] = [1, 44, 20, 46, 40, 18, 296];

/// close(2).
pub(super) const CLOSE: u32 = 3;

const OTHERS: [Call; 75] = [
    call(0, "read"),
    call(1, "write"),
    call(2, "open"),
    call(3, "close"),
    call(4, "stat"),
    call(5, "fstat"),
    call(6, "lstat"),
    call(8, "lseek"),
    call(9, "mmap"),
    call(10, "mprotect"),
    call(11, "munmap"),
    call(12, "brk"),
    call(13, "rt_sigaction"),
    call(14, "rt_sigprocmask"),
    call(15, "rt_sigreturn"),
    call(16, "ioctl"),
    call(17, "pread64"),
    call(18, "pwrite64"),
    call(19, "readv"),
    call(20, "writev"),
    call(22, "pipe"),
    call(24, "sched_yield"),
    call(28, "madvise"),
    call(32, "dup"),
    call(33, "dup2"),
    call(35, "nanosleep"),
    call(39, "getpid"),
    call(40, "sendfile"),
    call(41, "socket"),
    call(42, "connect"),
    call(43, "accept"),
    call(44, "sendto"),
    call(45, "recvfrom"),
    call(46, "sendmsg"),
    call(47, "recvmsg"),
    call(48, "shutdown"),
    call(49, "bind"),
    call(50, "listen"),
    call(51, "getsockname"),
    call(52, "getpeername"),
    call(54, "setsockopt"),
    call(55, "getsockopt"),
    call(61, "wait4"),
    call(62, "kill"),
    call(72, "fcntl"),
    call(74, "fsync"),
    call(75, "fdatasync"),
    call(76, "truncate"),
    call(77, "ftruncate"),
    call(82, "rename"),
    call(87, "unlink"),
    call(96, "gettimeofday"),
    call(187, "readahead"),
    call(202, "futex"),
    call(213, "epoll_create"),
    call(221, "fadvise64"),
    call(228, "clock_gettime"),
    call(230, "clock_nanosleep"),
    call(233, "epoll_ctl"),
    call(257, "openat"),
    call(262, "newfstatat"),
    call(263, "unlinkat"),
    call(275, "splice"),
    call(276, "tee"),
    call(277, "sync_file_range"),
    call(285, "fallocate"),
    call(286, "timerfd_settime"),
    call(288, "accept4"),
    call(291, "epoll_create1"),
    call(293, "pipe2"),
    call(295, "preadv"),
    call(296, "pwritev"),
    call(318, "getrandom"),
    call(332, "statx"),
    call(426, "io_uring_enter"),
];

/// The name of a call; `call_999` when it is not one of those above.
pub(super) fn name(number: u64) -> String {
    let known = POLLS.iter().chain(&OTHERS).find(|call| u64::from(call.number) == number);
    known.map_or_else(|| format!("call_{number}"), |call| call.name.to_owned())
}
