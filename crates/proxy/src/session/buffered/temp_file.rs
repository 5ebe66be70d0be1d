//! A session's temporary file, written by the worker, which waits for it.

use std::fmt;
use std::fs::File;
use std::io::{self, IoSlice};
use std::os::unix::fs::FileExt;

/// A file to write at one end and read at the other: a real one here, a simulated one in tests.
pub(crate) trait TempFile: fmt::Debug {
    /// Writes all of `bytes` from offset `at` on, in one call.
    ///
    /// # Errors
    /// As `pwritev(2)`; or it wrote less, as where a disk is full. What it wrote is not told.
    fn store(&self, bytes: &[IoSlice<'_>], at: u64) -> io::Result<()>;

    /// Fills `into` from offset `at` on.
    ///
    /// # Errors
    /// As `pread(2)`; or the file ends too early, since somebody cut it.
    fn fetch(&self, into: &mut [u8], at: u64) -> io::Result<()>;
}

impl TempFile for File {
    fn store(&self, bytes: &[IoSlice<'_>], at: u64) -> io::Result<()> {
        let all: usize = bytes.iter().map(|slice| slice.len()).sum();
        let wrote = rustix::io::retry_on_intr(|| rustix::io::pwritev(self, bytes, at))?;
        // nginx gives up as well (`ngx_writev_file`).
        if wrote == all { Ok(()) } else { Err(io::ErrorKind::WriteZero.into()) }
    }

    fn fetch(&self, into: &mut [u8], at: u64) -> io::Result<()> {
        self.read_exact_at(into, at)
    }
}

#[cfg(test)]
mod tests;
