//! SIGINT and SIGTERM: events for the trial, and an end at once for who insists. SIGUSR1: on with the
//! next phase.

use std::io;
use std::sync::mpsc::Sender;

use net::stop::{self, Next};
use signal_hook::consts::{SIGINT, SIGTERM, SIGUSR1};
use signal_hook::low_level;

use super::children::Event;

/// The first signal asks the trial for an orderly end, the second for a hasty one. The third
/// ends this process at once, and the kernel ends its children (PR_SET_PDEATHSIG). SIGUSR1 asks
/// it to go on. Of a trial whose receiver is gone no children are left: a signal ends this process at once.
///
/// # Errors
/// The handlers or their thread could not be made.
pub(super) fn report_to(trial: Sender<Event>) -> io::Result<()> {
    const HEARD: usize = 2;
    let mut seen = 0;
    stop::on_signals(&[SIGINT, SIGTERM, SIGUSR1], move |signal| {
        if signal == SIGUSR1 {
            let _ = trial.send(Event::GoOn);
            return Next::Wait;
        }
        seen += 1;
        if seen > HEARD || trial.send(Event::Signal(signal)).is_err() {
            die_by(signal);
        }
        Next::Wait
    })
}

/// Ends this process by `signal`, so that its parent sees why it ended.
pub fn die_by(signal: i32) {
    // It returns only for signals without a default that ends a process; ours have one.
    let _ = low_level::emulate_default_handler(signal);
}

/// `SIGINT` for 2.
pub fn name(signal: i32) -> String {
    low_level::signal_name(signal).map_or_else(|| format!("signal {signal}"), str::to_owned)
}
