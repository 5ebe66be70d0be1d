//! The memory of one buffered answer: pages that are filled, wait, and leave in the order in which
//! they were filled.
//!
//! ```text
//! upstream --> free --> full --+---------------------> outlet --> client
//!                              '--> file (while the ---^
//!                                   client is full)
//! ```
//!
//! Not for: reading, writing, or whether to; it is told what was read, written and stored.
//!
//! Invariants:
//! - No more than [`PAGES`] pages and the head's exist, and no more than [`BUSY`] of them are in the
//!   outlet while the upstream has more.
//! - Only the first free page holds bytes.
//! - Nothing is allocated once all pages are made.
//!
//! Sources: nginx 1.17.4, `ngx_event_pipe_read_upstream`, `ngx_event_pipe_write_to_downstream` and
//! `ngx_event_pipe_write_chain_to_temp_file` (src/event/ngx_event_pipe.c);
//! `ngx_http_upstream_send_response` (src/http/ngx_http_upstream.c) for the head's page.

use std::collections::VecDeque;
use std::io::{self, IoSlice, IoSliceMut};
use std::ops::Range;

use records::Bytes;

use crate::session::connection::Buffer;

/// Pages that are made beside the head's, each when there is no free one (`proxy_buffers 8 4k`).
pub(super) const PAGES: usize = 8;

/// Pages that are on their way to the client at a time (`proxy_busy_buffers_size`).
const BUSY: usize = 2;

/// Pages' worth of bytes that one write puts into the file (`proxy_temp_file_write_size`). The
/// head's page may be short, so that one more fits.
const WRITE: usize = 2;
const WRITE_SLICES: usize = WRITE + 1;

/// Buffers for what is read back, and the size of each (`output_buffers`).
const COPIES: usize = 2;
const COPY: usize = 32 << 10;

/// Slices of one write at most: the answer's head, every page, every copy.
const LINE: usize = 1 + (PAGES + 1) + COPIES;

/// How much of what was read may go to the outlet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HandOut {
    /// Up to [`BUSY`] pages: the rest may still be spooled.
    Some,
    /// All of it: nothing more will come.
    All,
}

/// See the module's head.
#[derive(Debug, Default)]
pub(in crate::session) struct Pages {
    size: usize,
    /// Pages that may still be made.
    to_make: usize,
    free: VecDeque<Buffer>,
    full: VecDeque<Buffer>,
    /// Bytes of the file that are not in the outlet yet; they are older than `full`. Its end is
    /// what was ever written: the file is filled once (`cyclic_temp_file` off).
    filed: Range<u64>,
    file_max: u64,
    pub(super) outlet: Outlet,
}

impl Pages {
    /// Pages of `size` bytes, the first of them made already, and a file of at most `file_max`
    /// bytes.
    pub(in crate::session) fn new(size: usize, first: Buffer, file_max: Bytes) -> Self {
        let mut pages = Self {
            size,
            to_make: PAGES,
            free: VecDeque::with_capacity(PAGES + 1),
            full: VecDeque::with_capacity(PAGES + 1),
            filed: 0..0,
            file_max: file_max.0,
            outlet: Outlet::new(),
        };
        let of = if first.is_full() { &mut pages.full } else { &mut pages.free };
        of.push_back(first);
        pages
    }

    /// Whether something can be read; a page is made for it if there may be one more.
    pub(super) fn has_room(&mut self) -> bool {
        if self.free.is_empty() && self.to_make > 0 {
            self.to_make -= 1;
            self.free.push_back(Buffer::of_size(self.size));
        }
        !self.free.is_empty()
    }

    /// Room for one read: every free page; and how many slices of the array that is.
    pub(super) fn room(&mut self) -> ([IoSliceMut<'_>; PAGES + 1], usize) {
        let slices = self.free.len();
        let mut free = self.free.iter_mut();
        let next = |_| IoSliceMut::new(free.next().map(Buffer::room).unwrap_or_default());
        (std::array::from_fn(next), slices)
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
        while got > 0
            && let Some(page) = self.free.front_mut()
        {
            let room = page.room();
            let here = got.min(room.len());
            let keep = body(room.get(..here).unwrap_or_default())?;
            page.filled(keep);
            if page.is_full() {
                self.full.extend(self.free.pop_front());
            } else if keep < here || here == got {
                return Ok(());
            }
            got -= here;
        }
        Ok(())
    }

    /// The page that is filled in part counts as full.
    pub(super) fn close_page(&mut self) {
        if self.free.front().is_some_and(|page| !page.is_empty()) {
            self.full.extend(self.free.pop_front());
        }
    }

    /// The oldest pages, as many as one write puts into the file; none: the file has no room.
    pub(super) fn to_spool(&self) -> ([IoSlice<'_>; WRITE_SLICES], usize) {
        let (mut bytes, mut slices) = (0, 0);
        for page in self.full.iter().take(WRITE_SLICES) {
            bytes += page.held().len();
            let end = self.filed.end.saturating_add(bytes as u64);
            if bytes > WRITE * self.size || end > self.file_max {
                break;
            }
            slices += 1;
        }
        let mut full = self.full.iter();
        let next = |_| IoSlice::new(full.next().map(Buffer::held).unwrap_or_default());
        (std::array::from_fn(next), slices)
    }

    /// Where the file ends.
    pub(super) fn file_end(&self) -> u64 {
        self.filed.end
    }

    /// The `oldest` pages are in the file, and free.
    pub(super) fn spooled(&mut self, oldest: usize) {
        for mut page in self.full.drain(..oldest.min(self.full.len())) {
            self.filed.end += page.held().len() as u64;
            page.clear();
            self.free.push_back(page);
        }
    }

    /// Moves what may go to the client to the outlet: first what is in the file.
    pub(super) fn hand_out(&mut self, how_much: HandOut) {
        let most = if how_much == HandOut::All { usize::MAX } else { BUSY };
        if self.outlet.pages() >= most {
            return;
        }
        if !self.filed.is_empty() {
            self.outlet.push_file(self.filed.clone());
            self.filed.start = self.filed.end;
        }
        while self.outlet.pages() < most
            && let Some(page) = self.full.pop_front()
        {
            self.outlet.push_page(page);
        }
    }

    /// The first `bytes` of the outlet's line have left.
    pub(super) fn sent(&mut self, bytes: usize) {
        let free = &mut self.free;
        self.outlet.sent(bytes, |mut page| {
            page.clear();
            // Behind the one that is filled in part, and before all others: it is warm.
            let at = usize::from(free.front().is_some_and(|first| !first.is_empty()));
            free.insert(at, page);
        });
    }

    /// Whether nothing waits for the client. What is in a page that is not full waits for more.
    pub(super) fn is_drained(&self) -> bool {
        self.full.is_empty() && self.filed.is_empty() && self.outlet.is_empty()
    }
}

/// Something to be sent that is not in the line yet.
#[derive(Debug)]
enum Piece {
    Page(Buffer),
    /// These bytes of the file.
    File(Range<u64>),
}

/// Where a page of the line belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    Upstream,
    File,
}

/// What is on its way to the client: pages, and bytes of the file that have to be read back first, 32 KiB
/// at a time.
///
/// As nginx without `sendfile`, its default: a file is read into at most two buffers
/// (`output_buffers 2 32k`), the second only when the first has not left (`ngx_output_chain`,
/// src/core/ngx_output_chain.c, 1.17.4).
#[derive(Debug, Default)]
pub(super) struct Outlet {
    waiting: VecDeque<Piece>,
    /// What the next write offers.
    line: VecDeque<(Buffer, Origin)>,
    copies: Vec<Buffer>,
    copies_to_make: usize,
    /// Pages of the upstream, waiting or in the line.
    pages: usize,
}

impl Outlet {
    /// An empty one.
    pub(super) fn new() -> Self {
        Self {
            // Between two pages there is at most one stretch of the file.
            waiting: VecDeque::with_capacity(2 * (PAGES + 1) + 1),
            line: VecDeque::with_capacity(LINE),
            copies: Vec::with_capacity(COPIES),
            copies_to_make: COPIES,
            pages: 0,
        }
    }

    pub(super) fn push_page(&mut self, page: Buffer) {
        self.pages += 1;
        self.waiting.push_back(Piece::Page(page));
    }

    pub(super) fn push_file(&mut self, bytes: Range<u64>) {
        match self.waiting.back_mut() {
            Some(Piece::File(last)) if last.end == bytes.start => last.end = bytes.end,
            _ => self.waiting.push_back(Piece::File(bytes)),
        }
    }

    /// Pages of the upstream in here.
    pub(super) fn pages(&self) -> usize {
        self.pages
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.line.is_empty()
    }

    /// Brings into the line what it has room for; `read_at` fills a buffer from an offset of the
    /// file.
    ///
    /// # Errors
    /// Those of `read_at`.
    pub(super) fn line_up(
        &mut self,
        mut read_at: impl FnMut(&mut [u8], u64) -> io::Result<()>,
    ) -> io::Result<()> {
        let before = self.line.len();
        while let Some(piece) = self.waiting.pop_front() {
            match piece {
                Piece::Page(page) => self.line.push_back((page, Origin::Upstream)),
                Piece::File(mut bytes) => {
                    let Some(mut copy) = self.copy(self.line.len() > before) else {
                        self.waiting.push_front(Piece::File(bytes));
                        break;
                    };
                    let left = usize::try_from(bytes.end - bytes.start).unwrap_or(usize::MAX);
                    let len = left.min(COPY);
                    read_at(copy.room().get_mut(..len).unwrap_or_default(), bytes.start)?;
                    copy.filled(len);
                    self.line.push_back((copy, Origin::File));
                    bytes.start += len as u64;
                    if !bytes.is_empty() {
                        self.waiting.push_front(Piece::File(bytes));
                    }
                }
            }
        }
        Ok(())
    }

    /// A buffer to read back into. A new one is only made where nothing else is new in the line.
    fn copy(&mut self, something_new: bool) -> Option<Buffer> {
        if self.copies.is_empty() && !something_new && self.copies_to_make > 0 {
            self.copies_to_make -= 1;
            return Some(Buffer::of_size(COPY));
        }
        self.copies.pop()
    }

    /// What one write offers, `head` first; and how many slices of the array that is.
    pub(super) fn line<'a>(&'a self, head: &'a [u8]) -> ([IoSlice<'a>; LINE], usize) {
        let first = (!head.is_empty()).then_some(head);
        let mut all = first.into_iter().chain(self.line.iter().map(|(page, _)| page.held()));
        let slices = usize::from(first.is_some()) + self.line.len();
        let slice = std::array::from_fn(|_| IoSlice::new(all.next().unwrap_or_default()));
        (slice, slices.min(LINE))
    }

    /// The first bytes of the line that stand together.
    pub(super) fn first(&self) -> &[u8] {
        self.line.front().map_or(&[], |(page, _)| page.held())
    }

    /// The first `bytes` of the line have left; pages of the upstream that are empty now go back.
    pub(super) fn sent(&mut self, mut bytes: usize, mut back: impl FnMut(Buffer)) {
        while let Some((page, _)) = self.line.front_mut() {
            let here = bytes.min(page.held().len());
            page.gone(here);
            bytes -= here;
            if !page.is_empty() {
                return;
            }
            match self.line.pop_front() {
                Some((page, Origin::Upstream)) => {
                    self.pages -= 1;
                    back(page);
                }
                Some((mut copy, Origin::File)) => {
                    copy.clear();
                    self.copies.push(copy);
                }
                None => return,
            }
        }
    }
}
