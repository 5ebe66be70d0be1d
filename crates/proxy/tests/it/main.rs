//! The real proxy binary on free ports, with raw sockets on both sides.

mod accept;
mod inline_log;
mod process;
mod relay;
mod support;
