//! Simulations: how often the rule says what, on trials drawn from real ones.
//!
//! `STATS_TIMES=2000 cargo test -p stats --test it -- --nocapture` prints the tables of
//! `docs/internals/statistics.md`; without it, each cell is drawn 100 times.

#![expect(clippy::unwrap_used, reason = "a test draws its own figures, and may fail by them")]
#![expect(clippy::print_stdout, reason = "the tables of the document")]

mod draws;
mod judgements;
mod properties;
mod simulations;
