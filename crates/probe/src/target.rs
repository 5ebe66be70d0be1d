//! Who is watched for a trial: threads of a proxy, by number; and where what they did is told.

use std::path::Path;

use procfs::process::Process;
use records::Record;

use crate::error::ProbeError;

/// Where records go.
pub(crate) type Take<'a> = &'a mut dyn FnMut(Record);

/// One worker to be watched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Target {
    /// Its number, from 0.
    pub worker: u32,
    /// Its process.
    pub pid: u32,
    /// Its thread; of a worker that is a process, the same number.
    pub tid: u32,
}

impl Target {
    /// That it runs.
    pub(crate) fn must_run(&self) -> Result<(), ProbeError> {
        let Self { pid, tid, .. } = *self;
        let is_there = Path::new(&format!("/proc/{pid}/task/{tid}")).exists();
        if is_there { Ok(()) } else { Err(ProbeError::Gone { pid, tid }) }
    }
}

/// The process of a thread.
pub(crate) fn process_of(tid: u32) -> Option<u32> {
    let status = Process::new(i32::try_from(tid).ok()?).ok()?.status().ok()?;
    u32::try_from(status.tgid).ok()
}
