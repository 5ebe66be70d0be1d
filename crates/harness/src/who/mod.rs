//! `turnstile who`: which connection holds a worker of a live server, and who waits for it.
//!
//! - [`WhoOptions`], `processes`: who is watched
//! - `queues`: their accept queues
//! - `ledger`, with `holder` and `convoy`: what is known of them; pure
//! - `words`, `picture`, `metrics`: the same for people, a terminal, a scraper
//! - `capture`: holds kept as runs
//! - [`run`], `front`: the loop, and where it is seen, by programs as lines of JSON
//!
//! Not for: looking into threads; that is the probe's.
//!
//! Invariants:
//! - Nothing in the watched processes is changed.
//! - It ends when it is told to, when its time is over, or with the last of them, and says so.

mod capture;
mod convoy;
mod front;
mod holder;
mod ledger;
mod metrics;
mod options;
mod picture;
mod processes;
mod queues;
mod run;
#[cfg(test)]
mod tests;
mod words;

pub(crate) use options::WhoOptions;
pub(crate) use run::run;
