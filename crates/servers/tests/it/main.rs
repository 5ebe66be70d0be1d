//! The real programs behind the role's binary, on free ports; what is not installed is skipped and
//! says so.

mod command;
mod ends;
mod faults;
mod own;
mod proxies;
mod support;
mod threads;
