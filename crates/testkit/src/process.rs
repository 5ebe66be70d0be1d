//! A role under test: a process that says when it is ready and prints records.

use std::net::{SocketAddr, TcpStream};
use std::ops::{Deref, DerefMut};
use std::process::Command;
use std::time::Instant;

use records::{Ready, Record};

use crate::running::record;
use crate::socket::connect;
use crate::wait::soon;
use crate::{PATIENCE, Running};

/// A role that is ready. Its records can be taken as they come, each once.
///
/// Some records never end, as those of intervals: so that a loop that waits for others does, none is
/// waited for when the role has been ready for [`PATIENCE`] twice.
#[derive(Debug)]
pub struct Process {
    running: Running,
    too_late: Instant,
    /// What it said first.
    pub ready: Ready,
}

impl Process {
    /// Starts a role with nothing on its standard input, and waits until it is ready.
    #[track_caller]
    pub fn start(command: &mut Command) -> Self {
        Self::of(Running::start(command))
    }

    /// A role that was started, once it is ready.
    #[track_caller]
    pub fn of(running: Running) -> Self {
        let first = running.out.next(soon(), "the first line");
        match first.as_deref().map(Record::from_line) {
            Some(Ok(Record::Ready(ready))) => Self { running, too_late: soon() + PATIENCE, ready },
            _ => panic!("{} is not ready: {first:?}", running.command),
        }
    }

    /// Where it accepts connections.
    #[track_caller]
    pub fn addr(&self) -> SocketAddr {
        self.ready.listen.expect("a role that listens")
    }

    /// A connection to it, whose reads end.
    #[track_caller]
    pub fn connect(&self) -> TcpStream {
        connect(self.addr())
    }

    /// What `pick` takes of the records to come, where `what` is waited for.
    #[track_caller]
    pub fn await_record<T>(&self, what: &str, mut pick: impl FnMut(Record) -> Option<T>) -> T {
        let deadline = soon().min(self.too_late);
        while let Some(line) = self.out.next(deadline, what) {
            if let Some(picked) = pick(record(&line)) {
                return picked;
            }
        }
        panic!("{} ended before {what}", self.command)
    }
}

/// Takes the records of one kind, as `pick!(Session)`: a closure that makes of each record, or of
/// what borrows it, what is in it, and `None` of another kind's.
#[macro_export]
macro_rules! pick {
    ($kind:ident) => {
        |record| match record {
            ::records::Record::$kind(picked) => Some(picked),
            _ => None,
        }
    };
}

impl Deref for Process {
    type Target = Running;

    fn deref(&self) -> &Running {
        &self.running
    }
}

impl DerefMut for Process {
    fn deref_mut(&mut self) -> &mut Running {
        &mut self.running
    }
}
