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

use std::io::{self, Write};

use flate2::Compression;
use flate2::write::GzEncoder;
use http1::{BodyFraming, Method, RequestHead, ResponseHead, Version};
use records::SessionEnd;

use super::connection::Buffer;

/// Compressed bytes in one chunk at most (`gzip_buffers`, of a page each).
pub(super) const OUTPUT: usize = 4096;

/// Bytes that [`Gzip::take`] takes at a time.
const INPUT: usize = 4096;

/// Shorter answers stay as they are (`gzip_min_length`).
const MIN_LENGTH: u64 = 20;

/// The chunk of no bytes, and no trailer: what ends a body in chunks (RFC 9112 7.1).
pub(super) const LAST_CHUNK: &[u8] = b"0\r\n\r\n";

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
    /// With what has come out of it and is not in a chunk yet.
    encoder: GzEncoder<Vec<u8>>,
    ending: Ending,
    stage: Stage,
}

/// What comes out next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// What goes in.
    Body,
    /// What is left in the encoder: the end has gone in.
    Rest,
    /// Nothing.
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
            encoder: GzEncoder::new(Vec::new(), Compression::new(level)),
            ending: Ending::Open,
            stage: Stage::Body,
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
        self.input.refill_with(|input| input.extend_from_slice(some));
        some.len()
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
        if self.stage == Stage::Body && self.encoder.get_ref().is_empty() {
            self.put_in()?;
        }
        let made = self.encoder.get_mut();
        let size = made.len().min(OUTPUT);
        let is_last = self.stage == Stage::Rest && size == made.len();
        let chunk = made.drain(..size);
        out.refill_with(|out| {
            if size > 0 {
                // Into memory: it cannot fail.
                let _ = write!(out, "{size:x}\r\n");
                out.extend(chunk);
                out.extend_from_slice(b"\r\n");
            }
            if is_last && self.ending == Ending::Whole {
                out.extend_from_slice(LAST_CHUNK);
            }
        });
        if is_last {
            self.stage = Stage::Done;
        }
        Ok(if out.is_empty() { Compressed::NeedsInput } else { Compressed::Bytes })
    }

    /// Compresses all that waits; and brings out what is left, once nothing more goes in.
    fn put_in(&mut self) -> io::Result<()> {
        self.encoder.write_all(self.input.held())?;
        self.input.clear();
        match self.ending {
            Ending::Open => return Ok(()),
            Ending::Whole => self.encoder.try_finish()?,
            // A flush that finds output of an earlier call waiting brings out that and no more: the second
            // one is whole.
            Ending::Cut => self.encoder.flush().and_then(|()| self.encoder.flush())?,
        }
        self.stage = Stage::Rest;
        Ok(())
    }
}
