//! System calls by number: what each is to an event loop, and its name.

use std::fmt;

use serde::{Serialize, Serializer};
use syscalls::Sysno;

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

    /// Whether it sleeps for a time.
    pub(crate) fn is_timer(self) -> bool {
        let Self::Number(number) = self else { return false };
        matches!(Sysno::new(number as usize), Some(Sysno::nanosleep | Sysno::clock_nanosleep))
    }
}

/// Prints its name; `call_999` when that is not known, `page fault`.
impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::PageFault => f.pad("page fault"),
            Self::Number(number) => match Sysno::new(number as usize) {
                Some(call) => f.pad(call.name()),
                None => f.pad(&format!("call_{number}")),
            },
        }
    }
}

/// As it is printed.
impl Serialize for Call {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// The calls that programs tell apart, by number.
pub(crate) fn classes() -> impl Iterator<Item = (u32, Class)> {
    Sysno::iter().filter_map(|call| Some((call.id().cast_unsigned(), class(call.name())?)))
}

/// What a call of this number is; `None`: nothing that matters here.
pub(crate) fn class_of(number: i64) -> Option<Class> {
    let call = usize::try_from(number).ok().and_then(Sysno::new)?;
    class(call.name())
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
