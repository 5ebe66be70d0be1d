//! How long a server and its parts may take, and all of it.
//!
//! In one place, since who waits for the whole must wait longer than the whole waits for its parts: else
//! the wrong side is blamed, and what was seen last is lost.

use std::time::Duration;

use records::{Micros, ServerToggles};

/// How long a program may take to say its version.
pub(crate) const VERSION: Duration = Duration::from_secs(5);

/// How long a program may take to be ready unless its user says so. Those here take a tenth of a second;
/// Caddy on a busy CPU takes two.
const PROVEN: Duration = Duration::from_secs(8);

/// How long the workers of a program are looked for of which nobody knows how it works: no round of
/// requests begins later.
pub(crate) const DISCOVERED: Duration = Duration::from_secs(3);

/// How long one answer may take to begin, and each part of it to follow.
pub(crate) const ANSWER: Duration = Duration::from_secs(2);

/// How long a program may take to end when it is asked to. A worker in a step without an end does
/// not hear it.
pub(crate) const ASKED: Duration = Duration::from_millis(1_200);

/// How long a subreaper tries to end what came of the program.
pub(crate) const ORPHANS: Duration = Duration::from_secs(3);

/// How long a subreaper may take to end: longer than it tries.
pub(crate) const SUBREAPER: Duration = ORPHANS.saturating_add(Duration::from_secs(1));

/// How long the program takes to end: when it is asked to, else by its subreaper, and what a subreaper
/// that was killed has left.
const ENDED: Duration = ASKED.saturating_add(SUBREAPER.saturating_mul(2));

/// How long the program may take to be ready.
pub(crate) fn proven(server: &ServerToggles) -> Duration {
    server.ready_within.map_or(PROVEN, Micros::as_duration)
}

/// The longest that [`crate::run()`] takes until it is ready, or says why it is not: the program's
/// version, the means to watch it, the program itself with the look at its threads, the tracer; or the
/// end of a program that is of no use.
pub fn ready_within(server: &ServerToggles) -> Duration {
    VERSION
        .saturating_add(probe::ATTACHED_WITHIN)
        .saturating_add(proven(server))
        .saturating_add(DISCOVERED)
        // The last attempt begins within that: a dial, a request and two parts of an answer. And so do
        // the last round of four, and the look at its sockets.
        .saturating_add(ANSWER.saturating_mul(24))
        .saturating_add(probe::ATTACHED_WITHIN)
        .saturating_add(ENDED)
}

/// The longest that [`crate::run()`] takes to end when it is told to: the tracer first, then the
/// program.
pub const STOPPED_WITHIN: Duration = probe::STOPPED_WITHIN.saturating_add(ENDED);
