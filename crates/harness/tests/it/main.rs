//! The real binary, end to end.

mod commands;
mod explain;
mod faults;
mod run;
mod samples;
mod signals;
mod support;
