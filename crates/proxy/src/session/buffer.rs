//! A piece of memory that is filled, then emptied, then filled again: what waits to be written, and
//! the pages of an answer that is buffered.

use std::ops::Range;

/// See the module's head. Its memory is made once and reused.
#[derive(Debug, Default)]
pub(super) struct Buffer {
    data: Vec<u8>,
    held: Range<usize>,
}

impl Buffer {
    /// An empty buffer of `size` bytes.
    pub(super) fn of_size(size: usize) -> Self {
        Self { data: vec![0; size], held: 0..0 }
    }

    /// A buffer that holds `data`.
    pub(super) fn holding(data: Vec<u8>) -> Self {
        Self { held: 0..data.len(), data }
    }

    /// The buffer of `size` bytes that an answer's head came in, with what followed it. `head` and
    /// more bytes before that are not to be used yet.
    pub(super) fn behind_head(size: usize, head: usize, rest: &[u8]) -> Self {
        let mut buffer = Self::of_size(size.max(rest.len()));
        let start = if head < size { head.min(buffer.data.len() - rest.len()) } else { 0 };
        buffer.skip(start);
        buffer.room().iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
        buffer.filled(rest.len());
        buffer
    }

    /// What waits in it.
    pub(super) fn held(&self) -> &[u8] {
        self.data.get(self.held.clone()).unwrap_or_default()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    /// Whether nothing more fits behind what is in it.
    pub(super) fn is_full(&self) -> bool {
        self.held.end == self.data.len() && !self.is_empty()
    }

    /// What waits is dropped; all of its room, `size` bytes, can be filled.
    pub(super) fn refill(&mut self, size: usize) -> &mut [u8] {
        self.clear();
        if self.data.len() != size {
            self.data = vec![0; size];
        }
        &mut self.data
    }

    /// What waits is dropped; `fill` puts something else there, behind nothing.
    pub(super) fn refill_with(&mut self, fill: impl FnOnce(&mut Vec<u8>)) {
        self.data.clear();
        fill(&mut self.data);
        self.held = 0..self.data.len();
    }

    /// What can still be filled.
    pub(super) fn room(&mut self) -> &mut [u8] {
        self.data.get_mut(self.held.end..).unwrap_or_default()
    }

    /// The next `bytes` of the room are filled.
    pub(super) fn filled(&mut self, bytes: usize) {
        self.held.end = (self.held.end + bytes).min(self.data.len());
    }

    /// The next `bytes` of the room are to be left as they are.
    pub(super) fn skip(&mut self, bytes: usize) {
        self.filled(bytes);
        self.held.start = self.held.end;
    }

    /// The first `bytes` of what waits are gone.
    pub(super) fn gone(&mut self, bytes: usize) {
        self.held.start = (self.held.start + bytes).min(self.held.end);
    }

    pub(super) fn clear(&mut self) {
        self.held = 0..0;
    }
}
