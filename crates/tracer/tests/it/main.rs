//! The tracer upon real workers: the mirror's, whose own records it has to agree with, and those of
//! foreign proxies where they are installed.
//!
//! The roles are played by the example `roles`, which `cargo test` builds.

mod foreign;
mod mirror;
mod namespace;
mod sample;
mod support;
