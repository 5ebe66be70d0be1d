//! What is on its way to the client: pages, and bytes of the file that have to be read back first,
//! 32 KiB at a time.
//!
//! As nginx without `sendfile`, its default: a file is read into at most two buffers
//! (`output_buffers 2 32k`), the second only when the first has not left.
//!
//! Source: nginx 1.17.4, `ngx_output_chain` (src/core/ngx_output_chain.c).

use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::ops::Range;

use super::pages::PAGES;
use crate::session::buffer::Buffer;

/// Buffers for what is read back, and the size of each (`output_buffers`).
const COPIES: usize = 2;
const COPY: usize = 32 << 10;

/// Slices of one write at most: the answer's head, every page, every copy.
const LINE: usize = 1 + (PAGES + 1) + COPIES;

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

/// See the module's head.
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
