//! Runs trials of an event-loop proxy under load and says what they prove.
//!
//! - `cli`: the command line of `turnstile`
//! - [`campaign`]: many trials, arms in turn
//! - [`cases`]: published situations as campaigns
//! - `output`: what goes to the terminal
//! - [`demo`]: two trials, one after the other, shown live on a stage
//! - [`live`]: a trial as a process of its own, followed while it runs
//! - [`screen`]: the terminal, as the demo and `who` take it over
//! - `who`: live servers, and which connection holds a worker of theirs
//!
//! Not for: one trial (the crate `trial`); load, relaying or measuring (the roles, each in a process of
//! its own).

pub mod campaign;
pub mod cases;
mod cli;
pub mod demo;
pub mod live;
mod output;
pub mod screen;
mod who;

pub use cli::main;
