//! The origin as its users meet it: the real binary, over loopback, on a port the kernel chose.

mod answers;
mod application;
mod process;
mod support;
