//! Workers being watched, by whichever means.

use records::{Micros, Record};

use crate::bpf::Bpf;
use crate::error::TracerError;
use crate::means::Means;
use crate::sample::Sampler;

/// One worker to be watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// Its number, from 0.
    pub worker: u32,
    /// Its process.
    pub pid: u32,
    /// Its thread; of a worker that is a process, the same number.
    pub tid: u32,
}

/// Workers being watched. Dropped without [`Tracer::stop`], it ends at once and tells nothing more.
#[derive(Debug)]
pub struct Tracer {
    at_work: AtWork,
}

#[derive(Debug)]
enum AtWork {
    Bpf(Bpf),
    Sample(Sampler),
}

impl Tracer {
    /// Begins to watch; returns when the first event would be seen, which takes bpftrace a second
    /// or more. Steps, loop turns and absences are told one by one from `hold` on (an absence from
    /// 20 ms on, if that is longer). `take` is called on a thread of the tracer.
    ///
    /// # Errors
    /// The workers are not there, or this host does not allow it.
    pub fn attach(
        targets: &[Target],
        means: Means,
        hold: Micros,
        take: impl FnMut(Record) + Send + 'static,
    ) -> Result<Self, TracerError> {
        for target in targets {
            crate::workers::check(target)?;
        }
        let at_work = match means {
            Means::Bpftrace => AtWork::Bpf(Bpf::attach(targets, hold, Box::new(take))?),
            Means::Sample => AtWork::Sample(Sampler::attach(targets, hold, Box::new(take))?),
        };
        Ok(Self { at_work })
    }

    /// Ends: what is still to be told is told before this returns. A step, a turn or a poll that is
    /// under way is told as far as it has come.
    ///
    /// # Errors
    /// The tracer failed while it ran: what it told is not all there was.
    pub fn stop(self) -> Result<(), TracerError> {
        match self.at_work {
            AtWork::Bpf(bpf) => bpf.stop(),
            AtWork::Sample(sampler) => sampler.stop(),
        }
    }
}
