//! A session's temporary file: what was read from the upstream while its client took nothing.
//!
//! As nginx's with `proxy_buffering on`: written by `pwrite(2)` in the worker, which waits for it;
//! filled once, from its start to its limit, and never begun anew, also when all of it was sent
//! (`proxy_cyclic_temp_file` does not exist: ngx_http_proxy_module.c, "is disabled"). nginx keeps
//! eight pages in memory before it begins a file, and writes two at a time; the mirror keeps one
//! buffer and writes what each read returned.
//!
//! Sources: nginx 1.22.1, `ngx_event_pipe_read_upstream` and
//! `ngx_event_pipe_write_chain_to_temp_file` (src/event/ngx_event_pipe.c).

use std::fmt;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use records::Bytes;

/// A file to write at one end and read at the other: a real one here, a simulated one in tests.
pub(crate) trait SpoolFile: fmt::Debug {
    /// Writes all of `bytes` from offset `at` on.
    fn write_all_at(&self, bytes: &[u8], at: u64) -> io::Result<()>;
    /// Reads once, from offset `at` on.
    fn read_at(&self, into: &mut [u8], at: u64) -> io::Result<usize>;
}

impl SpoolFile for File {
    fn write_all_at(&self, bytes: &[u8], at: u64) -> io::Result<()> {
        FileExt::write_all_at(self, bytes, at)
    }

    fn read_at(&self, into: &mut [u8], at: u64) -> io::Result<usize> {
        FileExt::read_at(self, into, at)
    }
}

/// See the module's head.
#[derive(Debug)]
pub(super) struct Spool {
    /// `None`: nothing was spooled yet.
    file: Option<Box<dyn SpoolFile>>,
    max: u64,
    written: u64,
    taken: u64,
    /// What one read returned, on its way into the file.
    page: Vec<u8>,
}

impl Spool {
    /// A spool for at most `max` bytes, without a file yet.
    pub(super) fn new(max: Bytes) -> Self {
        Self { file: None, max: max.0, written: 0, taken: 0, page: Vec::new() }
    }

    /// Whether it will never take a byte more.
    pub(super) fn is_full(&self) -> bool {
        self.written >= self.max
    }

    /// Whether it holds bytes that were not taken.
    pub(super) fn is_behind(&self) -> bool {
        self.taken < self.written
    }

    /// Room for one read of at most `room` bytes, and of no more than still fit into the file.
    pub(super) fn room(&mut self, room: usize) -> &mut [u8] {
        if self.page.len() != room {
            self.page = vec![0; room];
        }
        let left = usize::try_from(self.max.saturating_sub(self.written)).unwrap_or(usize::MAX);
        self.page.get_mut(..left.min(room)).unwrap_or_default()
    }

    /// The first `bytes` of the room.
    pub(super) fn first(&self, bytes: usize) -> &[u8] {
        self.page.get(..bytes).unwrap_or_default()
    }

    /// Writes the first `bytes` of the room behind all others; `open` makes the file if there is
    /// none yet.
    ///
    /// # Errors
    /// As `open(2)` and `pwrite(2)`: no descriptor, no room, a broken disk. Some of the bytes may
    /// have been written; the session cannot go on.
    pub(super) fn store(
        &mut self,
        bytes: usize,
        open: impl FnOnce() -> io::Result<Box<dyn SpoolFile>>,
    ) -> io::Result<()> {
        let data = self.page.get(..bytes).unwrap_or_default();
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(open()?),
        };
        file.write_all_at(data, self.written)?;
        self.written += data.len() as u64;
        Ok(())
    }

    /// Takes the oldest bytes out. Never zero while [`Self::is_behind`].
    ///
    /// # Errors
    /// As `pread(2)`; or the file ends too early, since somebody cut it.
    pub(super) fn take(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.written - self.taken).unwrap_or(usize::MAX);
        let len = left.min(into.len());
        let (Some(file), Some(into)) = (&self.file, into.get_mut(..len)) else { return Ok(0) };
        loop {
            match file.read_at(into, self.taken) {
                Ok(0) if len > 0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(got) => {
                    self.taken += got as u64;
                    return Ok(got);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

#[cfg(test)]
mod tests;
