//! How long a foreign program and its parts may take, and all of it.
//!
//! In one place, since who waits for the whole must have more patience than the whole has with its
//! parts: else the wrong side is blamed, and what was seen last is lost.

use std::time::Duration;

/// How long a program may take to say its version.
pub(crate) const VERSION: Duration = Duration::from_secs(5);

/// How long a program may take to be ready. Those here take a tenth of a second; Caddy on a busy
/// CPU takes two.
pub(crate) const PROVEN: Duration = Duration::from_secs(8);

/// How long a program that nobody knows is got to know: no round of requests begins later.
pub(crate) const ACQUAINTED: Duration = Duration::from_secs(3);

/// How long one answer may take to begin, and each part of it to follow.
pub(crate) const ANSWER: Duration = Duration::from_secs(2);

/// How long the last words of a dead program are waited for: others may hold its standard error.
pub(crate) const HEARING: Duration = Duration::from_millis(500);

/// How long a program may take to end when it is asked to. A worker in a step without an end does
/// not hear it.
pub(crate) const ASKED: Duration = Duration::from_millis(1_200);

/// How long the kernel may take to end a killed process.
pub(crate) const KILLED: Duration = Duration::from_secs(2);

/// How long a keeper tries to end what came of the program.
pub(crate) const KEEPER_TRIES: Duration = Duration::from_secs(3);

/// How long a keeper may take to end: longer than its own patience.
pub(crate) const KEEPER: Duration = KEEPER_TRIES.saturating_add(Duration::from_secs(1));

/// The longest that [`crate::run()`] takes until it is ready, or says why it is not: the program's
/// version, the means to watch it, the program itself with the look at its threads, the tracer.
pub const READY_WITHIN: Duration = VERSION
    .saturating_add(tracer::MEANS_WITHIN)
    .saturating_add(PROVEN)
    .saturating_add(ACQUAINTED)
    // The last attempt begins within that: a dial, a request and two parts of an answer. And so do
    // the last round of four, and the look at its sockets.
    .saturating_add(ANSWER.saturating_mul(24))
    .saturating_add(HEARING)
    .saturating_add(tracer::ATTACHED_WITHIN);

/// The longest that [`crate::run()`] takes to end when it is told to: the tracer first, then the
/// program, then its keeper, and what a keeper that was killed has left.
pub const STOPPED_WITHIN: Duration = tracer::STOPPED_WITHIN
    .saturating_add(HEARING)
    .saturating_add(ASKED)
    .saturating_add(KILLED.saturating_mul(2))
    .saturating_add(KEEPER.saturating_mul(2));
