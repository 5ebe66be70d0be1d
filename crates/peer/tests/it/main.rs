//! The real programs behind the peer binary, on free ports; what is not installed is skipped and
//! says so.

mod command;
mod ends;
mod proxies;
mod refusals;
mod support;
mod threads;
