//! The probe upon real processes: threads of its own, the mirror's workers, whose own records it has to
//! agree with, and those of foreign proxies where they are installed.
//!
//! The roles are played by the example `roles`, which `cargo test` builds.

mod foreign;
mod holds;
mod mirror;
mod namespace;
mod support;
