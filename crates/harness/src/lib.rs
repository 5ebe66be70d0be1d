//! Runs trials of an event-loop proxy under load and says what they prove.
//!
//! - [`run_dir`]: the files of a run, and how they are read back
//! - [`summarise`]: from records to the figures of `summary.json`
//! - [`judge`]: the verdict, its reasons and its caveats
//! - [`render`]: the summary as people and programs read it
//!
//! Not for: load, relaying or measuring; those are the roles, each in a process of its own.

pub mod judge;
pub mod render;
pub mod run_dir;
pub mod summarise;

#[cfg(test)]
mod fixture;
