//! How long the parts of a tracer may take, and all of it.
//!
//! In one place, since who waits for the whole must have more patience than the whole has with its
//! parts: else the wrong side is blamed, and what was seen last is lost.

use std::time::Duration;

/// How long bpftrace may take to tell what the host calls a thread, and to say its version: it compiles
/// a dozen lines, on a host where all CPUs may be taken.
pub(crate) const NUMBERS: Duration = Duration::from_secs(20);

/// How long bpftrace may take to compile the script and to put its probes in place: 1.5 s on an idle
/// CPU, several times that where all are taken.
pub(crate) const LIVE: Duration = Duration::from_secs(40);

/// How long it may take to print its maps and to end.
pub(crate) const END: Duration = Duration::from_secs(15);

/// How long steps may take to end before it is stopped.
pub(crate) const SETTLED: Duration = Duration::from_millis(300);

/// How long a line may take from the kernel to bpftrace's output.
pub(crate) const DELIVERED: Duration = Duration::from_millis(150);

/// How long a thread is looked for in its poll.
pub(crate) const LOOKED_FOR: Duration = Duration::from_millis(500);

/// The longest that numbers take to be learnt, where they have to be: two runs of bpftrace.
const LEARNT: Duration = NUMBERS.saturating_add(NUMBERS);

/// The longest that [`crate::means`] takes: 40 s inside a PID namespace, nothing elsewhere.
pub const MEANS_WITHIN: Duration = LEARNT;

/// The longest that [`crate::Tracer::attach`] takes to watch, or to say why it cannot: 80 s.
pub const ATTACHED_WITHIN: Duration = LEARNT.saturating_add(LIVE);

/// The longest that [`crate::Tracer::stop`] takes: 15.45 s.
pub const STOPPED_WITHIN: Duration = SETTLED.saturating_add(DELIVERED).saturating_add(END);

/// The longest that [`crate::run()`] takes until it is ready, or says why it is not.
pub const READY_WITHIN: Duration =
    LOOKED_FOR.saturating_add(MEANS_WITHIN).saturating_add(ATTACHED_WITHIN);
