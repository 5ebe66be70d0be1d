//! The probe upon real processes.

mod holds;
mod support;
