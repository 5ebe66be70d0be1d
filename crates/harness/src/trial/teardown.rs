//! The last phase: every child is asked to end, made to, and reaped; the manifest is completed.

use std::time::{Duration, Instant};

use records::{Phase, Role, Side};

use super::crew::ChildId;
use super::stage::{Happening, Stage};
use super::{Finished, Stop, TrialError, signals};
use crate::roles;

/// Clients first, so that the proxy and the origin see their connections end and can tell of them.
/// A tracer tells the rest of what it saw while its workers are still there.
const ORDER: [Role; 5] = [Role::Fast, Role::Slow, Role::Trace, Role::Proxy, Role::Origin];
/// Time for all children together to end when asked, once somebody has pressed Ctrl-C: within 2 s
/// they are gone, also on a busy host where a killed process takes its time to die.
const HASTE: Duration = Duration::from_millis(800);
/// Time for the kernel to end a killed child.
const DEATH: Duration = Duration::from_secs(10);

/// How children are stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pace {
    /// Each in its own time.
    Orderly,
    /// All by this time.
    Hasty(Instant),
    /// At once.
    Now,
}

impl Pace {
    /// The pace after one more signal.
    fn hurried(self, now: Instant) -> Self {
        match self {
            Self::Orderly => Self::Hasty(now + HASTE),
            Self::Hasty(_) | Self::Now => Self::Now,
        }
    }

    /// Until when a child that was asked at `asked` and may take `patience` has time.
    fn deadline(self, asked: Instant, patience: Duration) -> Instant {
        match self {
            Self::Orderly => asked + patience,
            Self::Hasty(all) => all.min(asked + patience),
            Self::Now => asked,
        }
    }
}

impl Stage<'_> {
    /// Stops and reaps everything, whatever the phases came to, and completes the manifest.
    pub(super) fn tear_down(mut self, stop: Option<Stop>) -> Result<Finished, TrialError> {
        let mut pace = Pace::Orderly;
        let mut interrupted = None;
        let mut broken = None;
        match stop {
            // Only then the phase before came to its end.
            None => self.end_phase(),
            Some(Stop::Interrupted(signal)) => {
                interrupted = Some(signal);
                pace = pace.hurried(Instant::now());
            }
            Some(Stop::Fault(fault)) => self.manifest.faults.push(fault),
            Some(Stop::Broken(error)) => {
                // Who reads the directory later must not take it for a whole run.
                let fault = self.fault(Side::Host, error.to_string());
                self.manifest.faults.push(fault);
                broken = Some(error);
            }
        }
        if let Err(error) = self.enter(Phase::Teardown) {
            broken.get_or_insert(error.into());
        }
        // What is seen from outside ends here; what follows is the end of all there is to see.
        self.manifest.kernel_counters = self.counters.until(&self.read_counters());
        if let Some(sampler) = &mut self.sampler {
            sampler.stop();
        }
        for role in ORDER {
            let patience = roles::patience(role, &self.plan.arm.proxy).end;
            for id in self.crew.living(role) {
                self.stop((id, patience), &mut pace, &mut interrupted, &mut broken);
            }
        }
        self.file_last_samples(&mut interrupted, &mut broken);
        self.progress.clear();
        self.end_phase();
        self.manifest.host.stolen_ms = self.stolen_ms();
        self.manifest.interrupted = interrupted.map(signals::name);
        if broken.is_none() {
            broken = self.run.flush().err().map(TrialError::from);
        }
        // Also after a failure: a manifest is better than none, and an old one stays whole.
        let written = self.run.manifest(&self.manifest);
        match broken.or(written.err().map(TrialError::from)) {
            Some(error) => Err(error),
            None => Ok(Finished {
                dir: self.run.dir().to_owned(),
                faults: self.manifest.faults,
                interrupted,
            }),
        }
    }

    /// Waits for the end of the sampling, and files what it still had to report.
    fn file_last_samples(
        &mut self,
        interrupted: &mut Option<i32>,
        broken: &mut Option<TrialError>,
    ) {
        // Milliseconds at most: nobody is left whose sockets it could wait for.
        let Some(sampler) = self.sampler.take() else { return };
        sampler.finish();
        loop {
            match self.wait(Instant::now()) {
                Ok(None) => return,
                Ok(Some(Happening::Signal(signal))) => {
                    interrupted.get_or_insert(signal);
                }
                Ok(Some(_)) => {}
                Err(error) => {
                    broken.get_or_insert(error.into());
                }
            }
        }
    }

    fn stop(
        &mut self,
        (id, patience): (ChildId, Duration),
        pace: &mut Pace,
        interrupted: &mut Option<i32>,
        broken: &mut Option<TrialError>,
    ) {
        let asked = Instant::now();
        self.crew.dismiss(id);
        let mut killed = None;
        while !self.has_ended(id) {
            let deadline = match killed {
                None => pace.deadline(asked, patience),
                Some(at) => at + DEATH,
            };
            // News may be pending at any time: they must not give a child more of it.
            if Instant::now() >= deadline {
                if killed.is_some() {
                    // Not even the kernel can end it now; it is not ours to wait for any longer.
                    return;
                }
                if *pace == Pace::Orderly {
                    let what =
                        format!("did not end within {} s and was killed", patience.as_secs());
                    let fault = self.blame(id, &what);
                    self.manifest.faults.push(fault);
                }
                self.crew.kill(id);
                killed = Some(Instant::now());
                continue;
            }
            match self.wait(deadline) {
                Ok(Some(Happening::Signal(signal))) => {
                    interrupted.get_or_insert(signal);
                    *pace = pace.hurried(Instant::now());
                }
                // It says itself what it could not bring to an end.
                Ok(Some(Happening::Ended(who, status)))
                    if who == id && status.code().is_some_and(|code| code != 0) =>
                {
                    let fault = self.blame(id, &format!("did not end well ({status})"));
                    self.manifest.faults.push(fault);
                }
                Ok(_) => {}
                Err(error) => {
                    broken.get_or_insert(error.into());
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
