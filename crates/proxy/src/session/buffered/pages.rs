//! The memory of one buffered answer: a ring of pages that are filled and leave in the order of their bytes,
//! and the part of the file that has not left yet.
//!
//! ```text
//! upstream --> held --+------------------------> client
//!                     '--> file --> copy ---^
//!                          (while the client is full)
//! ```
//!
//! Not for: reading, writing, or whether to; it is told what was read, written and stored.
//!
//! Invariants:
//! - A page whose bytes have not all left takes its room.
//! - What is in the copy is older than what is in the file, and that is older than the pages.
//! - Nothing is allocated once the copy is made.
//!
//! Sources: nginx 1.17.4, `ngx_event_pipe_read_upstream`, `ngx_event_pipe_write_to_downstream` and
//! `ngx_event_pipe_write_chain_to_temp_file` (src/event/ngx_event_pipe.c);
//! `ngx_http_upstream_send_response` (src/http/ngx_http_upstream.c) for the head's page. Other than there, pages
//! that were offered to the client may still go to the file, and one copy is read back at a time, not two.

use std::io::{self, IoSlice, IoSliceMut};
use std::ops::Range;

use records::Bytes;

use crate::session::connection::Buffer;

/// Pages of one answer: the head's, and those beside it (`proxy_buffers 8 4k`).
pub(super) const PAGES: usize = 9;

/// Pages that one write offers to the client (`proxy_busy_buffers_size`).
const BUSY: usize = 2;

/// Pages that one write puts into the file (`proxy_temp_file_write_size`).
const WRITE: usize = 2;

/// What is read back at a time (`output_buffers`).
const COPY: usize = 32 << 10;

/// When a page goes on that a read filled in part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::session) enum WhenShort {
    /// Once it is full, or nothing more will come.
    Waits,
    /// At once: it may end with a chunk (`ngx_http_proxy_chunked_filter`).
    GoesOn,
}

/// See the module's head.
#[derive(Debug)]
pub(in crate::session) struct Pages {
    size: usize,
    when_short: WhenShort,
    /// Pages that one write offers.
    busy: usize,
    /// Pages that may be filled: one more each time that none of these has room.
    in_use: usize,
    ring: Box<[u8]>,
    /// The bytes that are held, counted on from lap to lap of the ring.
    held: Range<usize>,
    /// Bytes of the file that are still to be read back. Its end is what was ever written: the file
    /// is filled once (`cyclic_temp_file` off).
    filed: Range<u64>,
    file_max: u64,
    copy: Buffer,
}

impl Pages {
    /// Pages of `size` bytes, the first of them behind a head of `head` bytes, with which `rest` came; and a
    /// file of at most `file_max` bytes.
    pub(in crate::session) fn new(
        size: usize,
        head: usize,
        rest: &[u8],
        file_max: Bytes,
        when_short: WhenShort,
    ) -> Self {
        let start = if head < size { head } else { 0 };
        let mut ring = vec![0; PAGES * size].into_boxed_slice();
        ring.iter_mut().skip(start).zip(rest).for_each(|(to, from)| *to = *from);
        let held = start..(start + rest.len()).min(ring.len());
        Self {
            size,
            when_short,
            busy: BUSY,
            in_use: held.end.div_ceil(size).max(1),
            ring,
            held,
            filed: 0..0,
            file_max: file_max.0,
            copy: Buffer::default(),
        }
    }

    /// Nothing more will come: all that is here may leave.
    pub(super) fn finish(&mut self) {
        (self.when_short, self.busy) = (WhenShort::GoesOn, PAGES);
    }

    /// Whether something can be read; a page more is used for it if there is one.
    pub(super) fn has_room(&mut self) -> bool {
        if self.held.end == self.behind(self.in_use) && self.in_use < PAGES {
            self.in_use += 1;
        }
        self.held.end < self.behind(self.in_use)
    }

    /// Room for one read: what is left of the last page, and every free one.
    pub(super) fn room(&mut self) -> [IoSliceMut<'_>; 2] {
        let bytes = self.behind(self.in_use) - self.held.end;
        let (front, back) = self.ring.split_at_mut(self.held.end % self.ring.len());
        let first = bytes.min(back.len());
        [IoSliceMut::new(&mut back[..first]), IoSliceMut::new(&mut front[..bytes - first])]
    }

    /// A read has filled `got` bytes of the room. `body` is shown them, in pieces, and says how many
    /// of each are to be kept; if not all are, the rest is dropped.
    ///
    /// # Errors
    /// Those of `body`; what it had kept before stays.
    pub(super) fn took<E>(
        &mut self,
        got: usize,
        mut body: impl FnMut(&[u8]) -> Result<usize, E>,
    ) -> Result<(), E> {
        for piece in pieces(&self.ring, self.held.end..self.held.end + got) {
            let keep = body(piece)?;
            self.held.end += keep;
            if keep < piece.len() {
                break;
            }
        }
        Ok(())
    }

    /// The oldest pages, as many as one write puts into the file; none: the file has no room.
    pub(super) fn to_spool(&self) -> [IoSlice<'_>; 2] {
        let Range { start, end } = self.held;
        let room = self.file_max.saturating_sub(self.filed.end);
        let fits = |until: &usize| *until <= end && (*until - start) as u64 <= room;
        let until = (1..=WRITE).rev().map(|pages| self.behind(pages)).find(fits);
        pieces(&self.ring, start..until.unwrap_or(start)).map(IoSlice::new)
    }

    /// Where the file ends.
    pub(super) fn file_end(&self) -> u64 {
        self.filed.end
    }

    /// The oldest `bytes`, whole pages, are in the file, and their pages free.
    pub(super) fn spooled(&mut self, bytes: usize) {
        self.filed.end += bytes as u64;
        self.held.start += bytes;
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
    pub(super) fn line<'a>(&'a self, head: &'a [u8]) -> [IoSlice<'a>; 4] {
        let start = self.held.start;
        let pages = if self.copy.is_empty() { start..self.may_leave() } else { start..start };
        let [first, second] = pieces(&self.ring, pages);
        [head, self.copy.held(), first, second].map(IoSlice::new)
    }

    /// The first `bytes` of the line behind its head have left.
    pub(super) fn sent(&mut self, bytes: usize) {
        if !self.copy.is_empty() {
            return self.copy.gone(bytes);
        }
        self.held.start += bytes;
        if bytes > 0 && self.held.is_empty() {
            // A page that was short is free as a whole.
            self.held = 0..0;
        }
    }

    /// Whether nothing waits for the client. What is in a page that is not full waits for more.
    pub(super) fn is_drained(&self) -> bool {
        self.may_leave() == self.held.start && self.filed.is_empty() && self.copy.is_empty()
    }

    /// Where what may leave next ends.
    fn may_leave(&self) -> usize {
        let Range { start, end } = self.held;
        let end = match self.when_short {
            WhenShort::Waits => end / self.size * self.size,
            WhenShort::GoesOn => end,
        };
        end.clamp(start, self.behind(self.busy).max(start))
    }

    /// Where so many pages end, the oldest that holds something first.
    fn behind(&self, pages: usize) -> usize {
        (self.held.start / self.size + pages) * self.size
    }
}

/// What is there in the ring, which may go on at its beginning.
fn pieces(ring: &[u8], Range { start, end }: Range<usize>) -> [&[u8]; 2] {
    let (front, back) = ring.split_at(start % ring.len());
    let first = (end - start).min(back.len());
    [&back[..first], &front[..end - start - first]]
}
