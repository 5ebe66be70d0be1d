//! What a test starts hears signals as what is started from a terminal does.
//!
//! A shell without job control ignores SIGINT and SIGQUIT for what it starts in the background, as a
//! script does with `cargo test &`, and nohup(1) ignores SIGHUP. What is ignored stays so through
//! every fork and exec: a signal that should end a process by default would not reach it.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use rustix::process::Signal;

/// Gives every process that is started from now on the default of each signal that this one ignores.
/// This one goes on ignoring them.
pub(crate) fn by_default_in_children() {
    let status = fs::read_to_string("/proc/self/status").expect("procfs");
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).expect("proc(5)");
    let ignored = u64::from_str_radix(ignored.trim(), 16).expect("proc(5)");
    for signal in [Signal::HUP, Signal::INT, Signal::QUIT, Signal::TERM] {
        if ignored & (1 << (signal.as_raw() - 1)) != 0 {
            // A signal that has a handler gets its default back at exec: execve(2).
            let unread = Arc::new(AtomicBool::new(false));
            signal_hook::flag::register(signal.as_raw(), unread).expect("a handler");
        }
    }
}
