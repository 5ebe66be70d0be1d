//! By which means workers can be watched on this host.

use records::TraceMode;

use crate::engine::{Engine, RETURNED, Way};
use crate::error::ProbeError;

/// How workers are watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Means {
    /// Every system call and switch, by programs in the kernel.
    Probe,
    /// Samples of `/proc`.
    Sample,
}

/// What `mode` means on this host; `None`: nothing is watched.
///
/// [`TraceMode::Auto`] is the probe where the kernel offers what it needs and this user may use it,
/// else samples. Whether it is so is tried, which takes some 50 ms.
///
/// # Errors
/// The probe was asked for and cannot be had here; the message says what is missing.
pub fn means(mode: TraceMode) -> Result<Option<Means>, ProbeError> {
    match mode {
        TraceMode::Off => Ok(None),
        TraceMode::Sample => Ok(Some(Means::Sample)),
        TraceMode::Auto if tried().is_err() => Ok(Some(Means::Sample)),
        TraceMode::Auto => Ok(Some(Means::Probe)),
        TraceMode::Probe => tried().map(|()| Some(Means::Probe)),
    }
}

fn tried() -> Result<(), ProbeError> {
    Engine::load(Way::EveryStep)?.prepare(RETURNED)
}

#[cfg(test)]
mod tests;
