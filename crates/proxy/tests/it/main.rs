//! The real proxy binary on free ports, with raw sockets on both sides.

mod accept;
mod faults;
mod gzip;
mod inline_log;
mod memory;
mod process;
mod recording;
mod relay;
mod spool;
mod support;
