//! Run directories, read back.

mod run_records;
