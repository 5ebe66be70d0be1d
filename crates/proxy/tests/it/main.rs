//! The real proxy binary on free ports, with raw sockets on both sides.

mod faults;
mod memory;
mod process;
mod relay;
mod support;
