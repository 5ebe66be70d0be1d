//! Local files for a program to serve: text that compresses moderately and repeats nothing within
//! the window of deflate.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use records::{Arm, Bytes};
use rustix::fs::{fdatasync, statvfs};

/// More than that would take longer to write than a trial takes.
const MOST: Bytes = Bytes::gib(8);
/// The text repeats after so many bytes: deflate looks back 32 KiB (RFC 1951).
const PERIOD: usize = 4 * 1024 * 1024;

/// Files that exist as long as this does.
#[derive(Debug)]
pub(crate) struct LocalFiles {
    www: PathBuf,
}

impl LocalFiles {
    /// Writes a file for each size that clients ask for, below `www/bytes/`, named as they ask for
    /// it, and waits for the disk: its work must not fall into the measurement.
    ///
    /// # Errors
    /// They are too large for a run or for the disk, or cannot be written.
    pub(crate) fn write(www: &Path, arm: &Arm) -> io::Result<Self> {
        let mut sizes = vec![arm.load.slow_size, arm.fetch.fetch_size, Bytes(1)];
        sizes.sort_unstable();
        sizes.dedup();
        let dir = www.join("bytes");
        let files = Self { www: www.to_owned() };
        std::fs::create_dir_all(&dir)?;
        let needed: Bytes = sizes.iter().copied().sum();
        let disk = statvfs(&dir)?;
        let free = Bytes(disk.f_bavail.saturating_mul(disk.f_frsize));
        if needed > MOST.min(free) {
            return Err(io::Error::other(format!(
                "local content of {needed} does not fit: {MOST} are written at most, {free} are \
                 free in {}; ask for less with --slow-size",
                dir.display()
            )));
        }
        let text = text(PERIOD);
        for size in sizes {
            let mut file = File::create(dir.join(size.exact()))?;
            let mut left = size.as_usize();
            while left > 0 {
                let part = text.get(..left.min(text.len())).unwrap_or_default();
                file.write_all(part)?;
                left -= part.len();
            }
            fdatasync(&file)?;
        }
        Ok(files)
    }
}

impl Drop for LocalFiles {
    fn drop(&mut self) {
        // They are gone already, or the directory is no more ours to change.
        let _ = std::fs::remove_dir_all(&self.www);
    }
}

/// Hexadecimal digits in an order without a pattern, as many bytes as asked for: deflate makes half of them.
fn text(length: usize) -> Vec<u8> {
    // xorshift64*, Vigna 2016: quick, and nothing that deflate could find.
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut text = Vec::with_capacity(length + 16);
    while text.len() < length {
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        let number = state.wrapping_mul(0x2545_f491_4f6c_dd1d);
        text.extend_from_slice(format!("{number:016x}").as_bytes());
    }
    text.truncate(length);
    text
}

#[cfg(test)]
mod tests;
