//! The run directory, as a trial writes it. What is in it, and how it is read back, is `records`'.

pub mod write;

pub use records::RunRecords;
pub use records::run_dir::*;
