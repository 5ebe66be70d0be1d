//! The memory of one buffered answer: pages that are filled and leave in the order in which they were
//! filled, and the part of the file that has not left yet.
//!
//! ```text
//! upstream --> free --> held --+------------------------> client
//!                              '--> file --> copy ---^
//!                                   (while the client is full)
//! ```
//!
//! Not for: reading, writing, or whether to; it is told what was read, written and stored.
//!
//! Invariants:
//! - No more than [`PAGES`] pages and the head's exist. Only the last that holds bytes has room.
//! - What is in the copy is older than what is in the file, and that is older than the pages.
//! - Nothing is allocated once all pages and the copy are made.
//!
//! Sources: nginx 1.17.4, `ngx_event_pipe_read_upstream`, `ngx_event_pipe_write_to_downstream` and
//! `ngx_event_pipe_write_chain_to_temp_file` (src/event/ngx_event_pipe.c);
//! `ngx_http_upstream_send_response` (src/http/ngx_http_upstream.c) for the head's page. Other than there, pages
//! that were offered to the client may still go to the file, and one copy is read back at a time, not two.

use std::array;
use std::collections::VecDeque;
use std::io::{self, IoSlice, IoSliceMut};
use std::ops::Range;

use records::Bytes;

use crate::session::connection::Buffer;

/// Pages that are made beside the head's, each when there is no free one (`proxy_buffers 8 4k`).
pub(super) const PAGES: usize = 8;

/// Pages that one write offers to the client (`proxy_busy_buffers_size`).
const BUSY: usize = 2;

/// Pages' worth of bytes that one write puts into the file (`proxy_temp_file_write_size`). The
/// head's page may be short, so that one more fits.
const WRITE: usize = 2;

/// What is read back at a time (`output_buffers`).
const COPY: usize = 32 << 10;

/// Slices of one write at most: the answer's head and every page.
const SLICES: usize = 1 + PAGES + 1;

/// What one call writes: the first so many of the slices.
pub(super) type Line<'a> = ([IoSlice<'a>; SLICES], usize);

/// When a page goes on that a read filled in part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::session) enum WhenShort {
    /// Once it is full, or nothing more will come.
    #[default]
    Waits,
    /// At once: it may end with a chunk (`ngx_http_proxy_chunked_filter`).
    GoesOn,
}

/// See the module's head.
#[derive(Debug, Default)]
pub(in crate::session) struct Pages {
    size: usize,
    when_short: WhenShort,
    /// Pages that one write offers.
    busy: usize,
    /// Pages that may still be made.
    to_make: usize,
    free: Vec<Buffer>,
    held: VecDeque<Buffer>,
    /// Bytes of the file that are still to be read back. Its end is what was ever written: the file
    /// is filled once (`cyclic_temp_file` off).
    filed: Range<u64>,
    file_max: u64,
    copy: Buffer,
}

impl Pages {
    /// Pages of `size` bytes, the first of them made already, and a file of at most `file_max`
    /// bytes.
    pub(in crate::session) fn new(
        size: usize,
        first: Buffer,
        file_max: Bytes,
        when_short: WhenShort,
    ) -> Self {
        let mut free = Vec::with_capacity(PAGES + 1);
        let mut held = VecDeque::with_capacity(PAGES + 1);
        if first.is_empty() {
            free.push(first);
        } else {
            held.push_back(first);
        }
        let file_max = file_max.0;
        let pages = Self { size, when_short, busy: BUSY, free, held, file_max, ..Self::default() };
        Self { to_make: PAGES, ..pages }
    }

    /// Nothing more will come: all that is here may leave.
    pub(super) fn finish(&mut self) {
        (self.when_short, self.busy) = (WhenShort::GoesOn, SLICES);
    }

    /// Whether something can be read; a page is made for it if there may be one more.
    pub(super) fn has_room(&mut self) -> bool {
        let has_room = !self.free.is_empty() || self.held.back().is_some_and(Buffer::has_room);
        if !has_room && self.to_make > 0 {
            self.to_make -= 1;
            self.free.push(Buffer::of_size(self.size));
            return true;
        }
        has_room
    }

    /// Room for one read: what is left of the last page, and every free one; and how many slices of
    /// the array that is.
    pub(super) fn room(&mut self) -> ([IoSliceMut<'_>; PAGES + 1], usize) {
        let last = self.held.back_mut().filter(|page| page.has_room());
        let slices = usize::from(last.is_some()) + self.free.len();
        let mut pages = last.into_iter().chain(self.free.iter_mut().rev());
        let next = |_| IoSliceMut::new(pages.next().map(Buffer::room).unwrap_or_default());
        (array::from_fn(next), slices)
    }

    /// A read has filled `got` bytes of the room. `body` is shown them, in pieces, and says how many
    /// of each are to be kept; if not all are, the rest is dropped.
    ///
    /// # Errors
    /// Those of `body`; what it had kept before stays.
    pub(super) fn took<E>(
        &mut self,
        mut got: usize,
        mut body: impl FnMut(&[u8]) -> Result<usize, E>,
    ) -> Result<(), E> {
        while got > 0 {
            if !self.held.back().is_some_and(Buffer::has_room) {
                self.held.extend(self.free.pop());
            }
            let Some(page) = self.held.back_mut() else { break };
            let room = page.room();
            let here = got.min(room.len());
            let keep = body(room.get(..here).unwrap_or_default())?;
            page.filled(keep);
            if keep < here || here == 0 {
                break;
            }
            got -= here;
        }
        Ok(())
    }

    /// The oldest pages, as many as one write puts into the file; none: the file has no room.
    pub(super) fn to_spool(&self) -> Line<'_> {
        let mut end = self.filed.end;
        let most = self.file_max.min(end.saturating_add((WRITE * self.size) as u64));
        let fits = |page: &&Buffer| {
            end = end.saturating_add(page.held().len() as u64);
            !page.has_room() && end <= most
        };
        gather(self.held.iter().take_while(fits).map(Buffer::held))
    }

    /// Where the file ends.
    pub(super) fn file_end(&self) -> u64 {
        self.filed.end
    }

    /// The `oldest` pages are in the file, and free.
    pub(super) fn spooled(&mut self, oldest: usize) {
        for mut page in self.held.drain(..oldest.min(self.held.len())) {
            self.filed.end += page.held().len() as u64;
            page.clear();
            self.free.push(page);
        }
    }

    /// Reads more of the file back, if that is what leaves next; `read_at` fills a buffer from an
    /// offset of the file.
    ///
    /// # Errors
    /// Those of `read_at`.
    pub(super) fn read_back(
        &mut self,
        read_at: impl FnOnce(&mut [u8], u64) -> io::Result<()>,
    ) -> io::Result<()> {
        let left = usize::try_from(self.filed.end - self.filed.start).unwrap_or(usize::MAX);
        let bytes = left.min(COPY);
        if bytes == 0 || !self.copy.is_empty() {
            return Ok(());
        }
        let copy = self.copy.refill(COPY);
        read_at(copy.get_mut(..bytes).unwrap_or_default(), self.filed.start)?;
        self.copy.filled(bytes);
        self.filed.start += bytes as u64;
        Ok(())
    }

    /// What the next write offers, `head` first.
    pub(super) fn line<'a>(&'a self, head: &'a [u8]) -> Line<'a> {
        let from_file = !self.copy.is_empty();
        let pages = self.held.iter().filter(|page| self.may_leave(page));
        let pages = pages.take(if from_file { 0 } else { self.busy }).map(Buffer::held);
        let pieces = [head, self.copy.held()].into_iter().chain(pages);
        gather(pieces.filter(|piece| !piece.is_empty()))
    }

    /// The first `bytes` of the line behind its head have left.
    pub(super) fn sent(&mut self, mut bytes: usize) {
        if !self.copy.is_empty() {
            return self.copy.gone(bytes);
        }
        while bytes > 0
            && let Some(page) = self.held.front_mut()
        {
            let here = bytes.min(page.held().len());
            page.gone(here);
            bytes -= here;
            if !page.is_empty() {
                return;
            }
            page.clear();
            self.free.extend(self.held.pop_front());
        }
    }

    /// Whether nothing waits for the client. What is in a page that is not full waits for more.
    pub(super) fn is_drained(&self) -> bool {
        let pages = self.held.iter().any(|page| self.may_leave(page) && !page.is_empty());
        !pages && self.filed.is_empty() && self.copy.is_empty()
    }

    fn may_leave(&self, page: &Buffer) -> bool {
        self.when_short == WhenShort::GoesOn || !page.has_room()
    }
}

/// Slices for one call, without an allocation.
fn gather<'a>(mut pieces: impl Iterator<Item = &'a [u8]>) -> Line<'a> {
    let mut count = 0;
    let slices = array::from_fn(|_| {
        let piece = pieces.next();
        count += usize::from(piece.is_some());
        IoSlice::new(piece.unwrap_or_default())
    });
    (slices, count)
}
