//! Compression in the worker, as nginx's gzip filter does it: bytes of the answer go in, chunks of
//! a gzip stream come out, a page at a time.
//!
//! It makes steps long: as long as the client takes what comes out, and that is slower than any
//! client, nothing ends a step but the upstream (nginx issue 364).
//!
//! As nginx with `gzip on; gzip_types *` and defaults else (1.22.1: `ngx_http_gzip_header_filter`
//! in src/http/modules/ngx_http_gzip_filter_module.c, `ngx_http_gzip_ok` in
//! src/http/ngx_http_core_module.c). Nothing is flushed before the end, as with `proxy_buffering
//! on`. Other than nginx, an answer that comes in chunks is passed on as it came: the upstream is
//! asked in HTTP/1.0, which has none.

use std::io;

use flate2::{Compress, Compression, Crc, FlushCompress, Status};
use http1::{
    BodyFraming, CHUNK_HEAD, CHUNK_TAIL, LAST_CHUNK, Method, RequestHead, ResponseHead, Version,
    frame_chunk,
};
use records::SessionEnd;

use super::buffer::Buffer;

/// Compressed bytes in one chunk at most (`gzip_buffers`, of a page each).
const OUTPUT: usize = 4096;

/// Bytes that [`Gzip::take`] takes at a time.
const INPUT: usize = 4096;

/// Shorter answers stay as they are (`gzip_min_length`).
const MIN_LENGTH: u64 = 20;

/// RFC 1952 2.3: deflate, no name, no time, Unix.
const HEAD: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3];

/// RFC 1952 2.3: CRC-32 and length of what was compressed.
const TAIL: usize = 8;

/// Whether the client asked for a compressed answer: by name, in HTTP/1.1 (`gzip_http_version`) and
/// not through another proxy (`gzip_proxied off`).
pub(super) fn is_wanted(request: &RequestHead) -> bool {
    request.version == Version::Http11
        && request.method != Method::Head
        && request.accepts_coding("gzip")
        && !request.headers.contains("Via")
}

/// Whether an answer is one that is compressed.
pub(super) fn is_fit(answer: &ResponseHead) -> bool {
    let long_enough = match answer.body {
        BodyFraming::Length(length) => length >= MIN_LENGTH,
        BodyFraming::UntilClose => true,
        BodyFraming::Empty | BodyFraming::Chunked => false,
    };
    let coded = answer.headers.all("Content-Encoding").any(|coding| !coding.is_empty());
    long_enough && !coded && matches!(answer.status, 200 | 403 | 404)
}

/// See the module's head.
#[derive(Debug)]
pub(super) struct Gzip {
    /// Bytes of the answer that wait to be compressed.
    pub(super) input: Buffer,
    deflate: Compress,
    crc: Crc,
    stage: Stage,
    ending: Ending,
    /// Whether a flush has left room. One that found output of an earlier call waiting hands out
    /// that and no more; the next one is whole.
    flushed: bool,
}

/// What comes out next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Head,
    Body,
    Tail,
    LastChunk,
    Done,
}

/// How the answer ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// Not yet.
    Open,
    /// As it should: all of it has gone in.
    Whole,
    /// It is cut: what has gone in shall come out, and nothing that looks like an end.
    Cut,
}

impl Ending {
    /// That of the answer of a session that ends as `end`.
    pub(super) fn of(end: SessionEnd) -> Self {
        if end == SessionEnd::Completed { Self::Whole } else { Self::Cut }
    }
}

/// What [`Gzip::compress`] came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Compressed {
    /// There are bytes to be sent.
    Bytes,
    /// All that has gone in is taken, and nothing more comes out before more goes in.
    NeedsInput,
}

impl Gzip {
    /// A stream whose first bytes are `input`, at a level of 1 (fast) to 9 (small), as
    /// `gzip_comp_level`.
    pub(super) fn new(level: u32, input: Vec<u8>) -> Self {
        Self {
            input: Buffer::holding(input),
            deflate: Compress::new(Compression::new(level), false),
            crc: Crc::new(),
            stage: Stage::Head,
            ending: Ending::Open,
            flushed: false,
        }
    }

    /// Nothing more goes in. Whether that was not known yet.
    pub(super) fn end(&mut self, ending: Ending) -> bool {
        let first = self.ending == Ending::Open;
        if first {
            self.ending = ending;
        }
        first
    }

    /// Takes in the first of `bytes`, where all that went in before is taken; how many.
    pub(super) fn take(&mut self, bytes: &[u8]) -> usize {
        let some = bytes.get(..INPUT).unwrap_or(bytes);
        let took = put(some, self.input.refill(INPUT));
        self.input.filled(took);
        took
    }

    /// Whether all that will ever come out has come out.
    pub(super) fn is_done(&self) -> bool {
        self.stage == Stage::Done
    }

    /// Fills `out`, which is empty, with the next chunk.
    ///
    /// # Errors
    /// The compressor is in a state that it cannot be in.
    pub(super) fn compress(&mut self, out: &mut Buffer) -> io::Result<Compressed> {
        let room = out.refill(CHUNK_HEAD + OUTPUT + CHUNK_TAIL + LAST_CHUNK.len());
        let data = room.get_mut(CHUNK_HEAD..CHUNK_HEAD + OUTPUT).unwrap_or_default();
        let made = self.fill(data)?;
        let mut chunk = frame_chunk(room, made).unwrap_or(0..0);
        if self.stage == Stage::LastChunk {
            chunk.end += put(LAST_CHUNK, room.get_mut(chunk.end..).unwrap_or_default());
            self.stage = Stage::Done;
        }
        out.skip(chunk.start);
        out.filled(chunk.len());
        Ok(if chunk.is_empty() { Compressed::NeedsInput } else { Compressed::Bytes })
    }

    /// Makes as many bytes as fit into `data`, or as there are to be made.
    fn fill(&mut self, data: &mut [u8]) -> io::Result<usize> {
        let mut made = 0;
        loop {
            let left = data.get_mut(made..).unwrap_or_default();
            match self.stage {
                Stage::Head => {
                    made += put(&HEAD, left);
                    self.stage = Stage::Body;
                }
                Stage::Body if left.is_empty() || self.waits_for_input() => return Ok(made),
                Stage::Body => made += self.deflate(left)?,
                Stage::Tail if left.len() < TAIL => return Ok(made),
                Stage::Tail => {
                    let (sum, length) = (self.crc.sum(), self.crc.amount());
                    made += put(&[sum.to_le_bytes(), length.to_le_bytes()].concat(), left);
                    self.stage = Stage::LastChunk;
                }
                Stage::LastChunk | Stage::Done => return Ok(made),
            }
        }
    }

    fn waits_for_input(&self) -> bool {
        self.ending == Ending::Open && self.input.is_empty()
    }

    /// Compresses into `left`, which is not empty; how many bytes it made.
    fn deflate(&mut self, left: &mut [u8]) -> io::Result<usize> {
        let flush = match self.ending {
            Ending::Open => FlushCompress::None,
            Ending::Whole => FlushCompress::Finish,
            Ending::Cut => FlushCompress::Sync,
        };
        let (took, made) = (self.deflate.total_in(), self.deflate.total_out());
        let status = self.deflate.compress(self.input.held(), left, flush)?;
        let took = usize::try_from(self.deflate.total_in() - took).unwrap_or(usize::MAX);
        let made = usize::try_from(self.deflate.total_out() - made).unwrap_or(usize::MAX);
        self.crc.update(self.input.held().get(..took).unwrap_or_default());
        self.input.gone(took);
        match (status, self.ending) {
            (Status::StreamEnd, _) => self.stage = Stage::Tail,
            (_, Ending::Cut) if self.input.is_empty() && made < left.len() => {
                if self.flushed {
                    self.stage = Stage::Done;
                }
                self.flushed = true;
            }
            _ if (took, made) == (0, 0) => return Err(io::Error::other("deflate is stuck")),
            _ => {}
        }
        Ok(made)
    }
}

/// Puts `bytes` at the start of `room`, which is large enough; how many.
fn put(bytes: &[u8], room: &mut [u8]) -> usize {
    if let Some(room) = room.get_mut(..bytes.len()) {
        room.copy_from_slice(bytes);
    }
    bytes.len()
}

#[cfg(test)]
mod tests;
