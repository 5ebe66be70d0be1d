//! Looks at one worker, made into absences: pure.
//!
//! Invariants:
//! - An absence is at least as long as asked for, and no two of a worker overlap.
//! - Its looks are running, waiting and blocked ones, and no others.

use records::{Absence, Micros, MonoNs};

use super::look::{Doing, Times};

/// See the module's head.
#[derive(Debug)]
pub(super) struct Absences {
    worker: u32,
    shortest: Micros,
    away: Option<Away>,
}

/// The absence under way.
#[derive(Debug)]
struct Away {
    start: MonoNs,
    ready: u32,
    blocked: u32,
    times: Times,
}

impl Absences {
    /// Of `worker`, from the length `shortest` on.
    pub(super) fn of(worker: u32, shortest: Micros) -> Self {
        Self { worker, shortest, away: None }
    }

    /// Takes in a look; `None`: the worker has ended. An absence that ended with it is returned.
    /// `times` is asked where one begins and where it ends.
    pub(super) fn looked(
        &mut self,
        at: MonoNs,
        doing: Option<Doing>,
        times: impl FnOnce() -> Times,
    ) -> Option<Absence> {
        match doing {
            None | Some(Doing::Polling) => self.finish(at, times),
            Some(Doing::Ready | Doing::Blocked) => {
                let away = self.away.get_or_insert_with(|| Away {
                    start: at,
                    ready: 0,
                    blocked: 0,
                    times: times(),
                });
                if doing == Some(Doing::Ready) {
                    away.ready += 1;
                } else {
                    away.blocked += 1;
                }
                None
            }
        }
    }

    /// Ends the absence under way.
    pub(super) fn finish(&mut self, at: MonoNs, times: impl FnOnce() -> Times) -> Option<Absence> {
        let away = self.away.take()?;
        if at.micros_since(away.start) < self.shortest {
            return None;
        }
        let waiting = away.waiting(times());
        Some(Absence {
            worker: self.worker,
            start_ns: away.start,
            end_ns: at,
            looks: away.ready + away.blocked,
            running: away.ready - waiting,
            waiting,
            blocked: away.blocked,
        })
    }
}

impl Away {
    /// A look does not tell who runs from who would like to: what the scheduler counted over the
    /// whole absence does, and parts the looks accordingly.
    fn waiting(&self, now: Times) -> u32 {
        let ran = now.ran.saturating_sub(self.times.ran);
        let waited = now.waited.saturating_sub(self.times.waited);
        let both = u128::from(ran) + u128::from(waited);
        if both == 0 {
            return 0;
        }
        let part = u128::from(self.ready) * u128::from(waited) / both;
        u32::try_from(part).unwrap_or(u32::MAX).min(self.ready)
    }
}

#[cfg(test)]
mod tests;
