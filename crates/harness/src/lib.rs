//! Runs trials of an event-loop proxy under load and says what they prove.
//!
//! - [`cli`]: the command line of `turnstile`
//! - [`campaign`]: many trials, arms in turn
//! - [`cases`]: published situations as campaigns
//! - [`trial`]: one run, from the start of its processes to their end
//! - [`roles`]: the only module that names the programs of a trial
//! - [`output`]: what goes to the terminal
//! - [`progress`]: what a trial shows of itself while it runs
//! - [`demo`]: two trials, one after the other, shown live on a stage
//! - [`live`]: a trial as a process of its own, followed while it runs
//! - [`doctor`]: what this machine can and cannot show
//! - [`run_dir`]: the files of a run, as a trial writes them
//!
//! Not for: load, relaying or measuring; those are the roles, each in a process of its own.

pub mod campaign;
pub mod cases;
pub mod cli;
pub mod demo;
pub mod doctor;
pub mod live;
pub mod output;
pub mod progress;
pub mod roles;
pub mod run_dir;
pub mod trial;
