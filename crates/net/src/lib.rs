//! Sockets, CPUs, the monotonic clock and process hygiene for every role.
//!
//! Thin wrappers over rustix and socket2 that set an option, read it back and tell both.
//! Not for: HTTP, event loops, or any decision about what should be set.

pub mod child;
pub mod clock;
pub mod cpu;
pub mod log_file;
pub mod process;
pub mod role;
pub mod sock_diag;
pub mod stop;
pub mod tcp;
pub mod terminal;

#[cfg(test)]
mod tests;
