//! Files that lines are added to while others may read them.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};

/// Opens `path` to write at its end; made if it is not there. Writes wait, as to any file.
///
/// # Errors
/// As `open(2)`. A FIFO that nobody reads is refused, where `open(2)` would wait for a reader
/// (fifo(7)): whoever waits for us would not know for what.
pub fn append(path: &Path) -> io::Result<File> {
    let at_once = OFlags::NONBLOCK.bits().cast_signed();
    let opened = File::options().create(true).append(true).custom_flags(at_once).open(path);
    let file = opened.map_err(|error| {
        let is_fifo = path.metadata().is_ok_and(|meta| meta.file_type().is_fifo());
        if is_fifo && error.raw_os_error() == Some(rustix::io::Errno::NXIO.raw_os_error()) {
            io::Error::other("it is a FIFO that nobody reads: start its reader first")
        } else {
            error
        }
    })?;
    fcntl_setfl(&file, fcntl_getfl(&file)? - OFlags::NONBLOCK)?;
    Ok(file)
}
