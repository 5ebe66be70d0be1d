//! Being told to stop: SIGTERM and SIGINT as something a program can wait for.
//!
//! Invariant: a signal is heard, or it does what it does by default. Taking a handler away does not
//! bring the default back: signal-hook leaves its own with the kernel, which then ignores the signal.
//! So one handler stays that acts as the default does while nobody listens.

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag::register_conditional_default;
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;

#[cfg(test)]
mod tests;

/// Signals that come within this time of the last that is heard are that one, sent twice: timeout(1)
/// sends its own to the process and to its group.
const TWICE: Duration = Duration::from_millis(100);

/// Calls `on_signal` with each SIGTERM or SIGINT, on a thread of its own, until it returns another
/// word than [`Next::Wait`]. From then on (0.1 s later, where it was heard), unless others listen,
/// the signals end the process as usual.
///
/// # Errors
/// The handlers or the thread could not be made.
pub fn on_signal(on_signal: impl FnMut(i32) -> Next + Send + 'static) -> io::Result<()> {
    on_signals(&[SIGINT, SIGTERM], on_signal)
}

/// The same for these signals.
///
/// # Errors
/// The handlers or the thread could not be made, or a signal is none that can be caught.
pub fn on_signals(
    signals: &[i32],
    mut on_signal: impl FnMut(i32) -> Next + Send + 'static,
) -> io::Result<()> {
    let listening = Listening::to(signals)?;
    let mut arriving = Signals::new(signals)?;
    thread::Builder::new().name("signals".into()).spawn(move || {
        let unheard = arriving.forever().find_map(|signal| match on_signal(signal) {
            Next::Wait => None,
            Next::Done => Some(None),
            Next::Unheard => Some(Some(signal)),
        });
        let unheard = unheard.flatten();
        if unheard.is_none() {
            thread::sleep(TWICE);
            arriving.pending().for_each(drop);
        }
        drop(listening);
        // With those that came before the default was back.
        unheard.into_iter().chain(arriving.pending()).for_each(unless_heard);
    })?;
    Ok(())
}

/// What became of a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// It was heard; wait for another.
    Wait,
    /// It was heard, and was the last.
    Done,
    /// Nobody wants it any more. Unless others listen, it does what it does by default.
    Unheard,
}

/// Who listens in this process, by signal.
static HEARD: Mutex<BTreeMap<i32, Heard>> = Mutex::new(BTreeMap::new());

struct Heard {
    listeners: usize,
    /// What the handler that acts by default looks at.
    by_nobody: Arc<AtomicBool>,
}

fn heard() -> MutexGuard<'static, BTreeMap<i32, Heard>> {
    HEARD.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Somebody who listens to these signals, until it is dropped.
struct Listening(Vec<i32>);

impl Listening {
    fn to(signals: &[i32]) -> io::Result<Self> {
        let mut listening = Self(Vec::new());
        for &signal in signals {
            begin(signal)?;
            listening.0.push(signal);
        }
        Ok(listening)
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        let mut all = heard();
        for signal in &self.0 {
            if let Some(heard) = all.get_mut(signal) {
                heard.listeners -= 1;
                heard.by_nobody.store(heard.listeners == 0, Ordering::SeqCst);
            }
        }
    }
}

/// One more listens to `signal`.
fn begin(signal: i32) -> io::Result<()> {
    let mut all = heard();
    if let Some(heard) = all.get_mut(&signal) {
        heard.listeners += 1;
        heard.by_nobody.store(false, Ordering::SeqCst);
        return Ok(());
    }
    let by_nobody = Arc::new(AtomicBool::new(false));
    register_conditional_default(signal, Arc::clone(&by_nobody))?;
    all.insert(signal, Heard { listeners: 1, by_nobody });
    Ok(())
}

/// Does what `signal` does by default, unless somebody listens.
fn unless_heard(signal: i32) {
    if heard().get(&signal).is_some_and(|heard| heard.listeners == 0) {
        // It fails for signals that it does not know; those were refused at the beginning.
        let _ = emulate_default_handler(signal);
    }
}
