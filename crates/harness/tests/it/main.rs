//! The real binary, end to end.

mod commands;
mod faults;
mod run;
mod signals;
mod support;
