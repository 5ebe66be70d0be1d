//! Being told to stop: SIGTERM and SIGINT as something a program can wait for.
//!
//! Invariant: a signal is heard, or it does what it does by default. One thread takes all signals of the
//! process, and does that itself where nobody listens.

use std::io;
use std::sync::mpsc::{self, Receiver};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::{Handle, Signals};
use signal_hook::low_level::emulate_default_handler;

#[cfg(test)]
mod tests;

/// Signals that come within this time of the last that is heard are that one, sent twice: timeout(1)
/// sends its own to the process and to its group.
const TWICE: Duration = Duration::from_millis(100);

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

/// Calls `on_signal` with each SIGTERM or SIGINT, on the thread that takes signals, until it returns another
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
/// The handlers or the thread could not be made.
pub fn on_signals(
    signals: &[i32],
    on_signal: impl FnMut(i32) -> Next + Send + 'static,
) -> io::Result<()> {
    let mut hearing = hearing();
    let handle = match hearing.handle.take() {
        Some(handle) => handle,
        None => {
            let arriving = Signals::new([0; 0])?;
            let handle = arriving.handle();
            thread::Builder::new().name("signals".into()).spawn(move || hear(arriving))?;
            handle
        }
    };
    let added = signals.iter().try_for_each(|&signal| handle.add_signal(signal));
    hearing.handle = Some(handle);
    let (signals, on_signal) = (signals.to_vec(), Box::new(on_signal));
    hearing.listeners.push(Listener { signals, on_signal });
    added
}

/// Those of these signals that come while the receiver lives; then they do what they do by default, unless
/// others listen.
///
/// # Errors
/// The handlers or the thread could not be made.
pub fn signals(signals: &[i32]) -> io::Result<Receiver<i32>> {
    let (sender, receiver) = mpsc::channel();
    on_signals(signals, move |signal| match sender.send(signal) {
        Ok(()) => Next::Wait,
        Err(_) => Next::Unheard,
    })?;
    Ok(receiver)
}

/// Who listens in this process, and to which signals.
struct Hearing {
    /// Absent: nobody has listened yet.
    handle: Option<Handle>,
    listeners: Vec<Listener>,
}

struct Listener {
    signals: Vec<i32>,
    on_signal: Box<dyn FnMut(i32) -> Next + Send>,
}

fn hearing() -> MutexGuard<'static, Hearing> {
    static HEARING: Mutex<Hearing> = Mutex::new(Hearing { handle: None, listeners: Vec::new() });
    HEARING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Takes the signals of the process as long as that lives.
fn hear(mut arriving: Signals) {
    let mut last_heard: Option<Instant> = None;
    for signal in arriving.forever() {
        let mut heard = last_heard.is_some_and(|last| last.elapsed() < TWICE);
        hearing().listeners.retain_mut(|listener| {
            if !listener.signals.contains(&signal) {
                return true;
            }
            let next = (listener.on_signal)(signal);
            heard |= next != Next::Unheard;
            if next == Next::Done {
                last_heard = Some(Instant::now());
            }
            next == Next::Wait
        });
        if !heard {
            // It fails for signals that it does not know; nobody can have added one.
            let _ = emulate_default_handler(signal);
        }
    }
}
