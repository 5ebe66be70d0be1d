//! Being told to stop: SIGTERM and SIGINT as something a program can wait for.

use std::io;
use std::thread;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// Calls `on_signal` with each SIGTERM or SIGINT, on a thread of its own, until it returns
/// [`Next::Done`]. From then on the signals end the process as usual.
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
    mut on_signal: impl FnMut(i32) -> Next + Send + 'static,
) -> io::Result<()> {
    let mut signals = Signals::new(signals)?;
    thread::Builder::new().name("signals".into()).spawn(move || {
        for signal in signals.forever() {
            if on_signal(signal) == Next::Done {
                break;
            }
        }
    })?;
    Ok(())
}

/// Whether to wait for another signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Wait for another.
    Wait,
    /// That was the last.
    Done,
}
