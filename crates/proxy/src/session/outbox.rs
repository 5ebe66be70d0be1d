//! Bytes on their way out: a buffer that is filled, then emptied, then filled again.

use std::ops::Range;

/// Bytes that wait to be written. Its room is made once and reused.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    data: Vec<u8>,
    start: usize,
    end: usize,
}

impl Outbox {
    /// An outbox that holds `data`.
    pub(crate) fn holding(data: Vec<u8>) -> Self {
        Self { start: 0, end: data.len(), data }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.start == self.end
    }

    /// What waits.
    pub(crate) fn waiting(&self) -> &[u8] {
        self.data.get(self.start..self.end).unwrap_or_default()
    }

    /// `bytes` of it are gone.
    pub(crate) fn sent(&mut self, bytes: usize) {
        self.start = (self.start + bytes).min(self.end);
    }

    /// All of `room` bytes to be filled anew; what waited is dropped.
    pub(crate) fn room(&mut self, room: usize) -> &mut [u8] {
        self.start = 0;
        self.end = 0;
        if self.data.len() != room {
            self.data = vec![0; room];
        }
        &mut self.data
    }

    /// The first `bytes` of the room are filled.
    pub(crate) fn filled(&mut self, bytes: usize) {
        self.end = bytes.min(self.data.len());
    }

    /// These bytes of the room are filled, and no others.
    pub(crate) fn filled_at(&mut self, bytes: Range<usize>) {
        self.end = bytes.end.min(self.data.len());
        self.start = bytes.start.min(self.end);
    }

    /// The first `bytes` of the room.
    pub(crate) fn first(&self, bytes: usize) -> &[u8] {
        self.data.get(..bytes).unwrap_or_default()
    }
}
