//! How a body is delimited (RFC 9112 6.3), and where it ends, told while its bytes pass by.
//!
//! The scanner of chunks (RFC 9112 7.1) is strict where lenience has led to smuggling: lines end in CR LF only, sizes are at most 16
//! hexadecimal digits, control characters are refused.

use crate::head::list_items;
use crate::{HeadError, Headers};

/// Follows a body on the wire and says which bytes belong to it. Keeps none of them and allocates
/// nothing; the cost of a call does not grow with its bytes but with the chunks in them.
#[derive(Clone, Debug)]
pub struct Body {
    /// Of a length: what is left of it.
    framing: BodyFraming,
    chunks: Chunks,
    payload: u64,
}

impl Body {
    /// A body that starts with the next byte.
    pub fn new(framing: BodyFraming) -> Self {
        Self { framing, chunks: Chunks::default(), payload: 0 }
    }

    /// Takes note of the next bytes from the wire: says how many, from the first, belong to the body.
    /// What follows these belongs to nobody.
    ///
    /// # Errors
    /// The chunks are broken: nothing after them can be trusted.
    pub fn advance(&mut self, bytes: &[u8]) -> Result<usize, FramingError> {
        let here = match &mut self.framing {
            BodyFraming::Length(left) => {
                let here = usize::try_from(*left).map_or(bytes.len(), |left| left.min(bytes.len()));
                *left -= here as u64;
                here
            }
            BodyFraming::UntilClose => bytes.len(),
            BodyFraming::Chunked => return self.chunks.advance(bytes, &mut self.payload),
        };
        self.payload += here as u64;
        Ok(here)
    }

    /// Takes note of bytes from the wire that nobody has looked at. Of chunks they must be.
    pub fn skip(&mut self, bytes: u64) {
        if let BodyFraming::Length(left) = &mut self.framing {
            *left = left.saturating_sub(bytes);
        }
        self.payload += bytes;
    }

    /// How many bytes are to come; absent: only they will tell.
    pub fn left(&self) -> Option<u64> {
        match self.framing {
            BodyFraming::Length(left) => Some(left),
            BodyFraming::UntilClose | BodyFraming::Chunked => None,
        }
    }

    /// Whether every byte has passed. Never true of a body that ends when its sender closes.
    pub fn is_done(&self) -> bool {
        self.left() == Some(0) || self.chunks.at == At::Done
    }

    /// Whether a close by the sender is the body's proper end.
    pub fn ends_at_close(&self) -> bool {
        self.framing == BodyFraming::UntilClose
    }

    /// Bytes of content so far: those taken, without sizes, line ends and trailers of chunks.
    pub fn payload(&self) -> u64 {
        self.payload
    }
}

/// Where the body of a message ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyFraming {
    /// After this many bytes; zero: there is none.
    Length(u64),
    /// After the last chunk and its trailer.
    Chunked,
    /// When the sender closes.
    UntilClose,
}

impl BodyFraming {
    /// A request has a body only when it says so, in one coding at most.
    pub(crate) fn of_request(minor: u8, headers: &Headers) -> Result<Self, HeadError> {
        match codings(minor, headers)?.as_deref() {
            None => Ok(content_length(headers)?.unwrap_or(Self::Length(0))),
            Some([only]) if is_chunked(only) => Ok(Self::Chunked),
            Some(_) => Err(HeadError::UnsupportedTransferCoding),
        }
    }

    /// What announces no end runs until close. Codings under `chunked`, which is once the last, are the
    /// receiver's matter.
    pub(crate) fn of_response(
        minor: u8,
        headers: &Headers,
        status: u16,
        request_method: &str,
    ) -> Result<Self, HeadError> {
        let framing = match codings(minor, headers)?.as_deref() {
            None => content_length(headers)?.unwrap_or(Self::UntilClose),
            Some([others @ .., last]) if is_chunked(last) && !others.iter().any(is_chunked) => {
                Self::Chunked
            }
            Some(_) => Self::UntilClose,
        };
        let has_none = request_method == "HEAD" || matches!(status, 100..=199 | 204 | 304);
        Ok(if has_none { Self::Length(0) } else { framing })
    }
}

/// The codings of the body, if the head tells of any: then it tells no length (RFC 9112 6.1).
fn codings(minor: u8, headers: &Headers) -> Result<Option<Vec<&[u8]>>, HeadError> {
    if headers.get("Transfer-Encoding").is_none() {
        return Ok(None);
    }
    // HTTP/1.0 has none.
    if minor == 0 || headers.get("Content-Length").is_some() {
        return Err(HeadError::BadRequest);
    }
    Ok(Some(list_items(headers.all("Transfer-Encoding")).collect()))
}

fn is_chunked(coding: &&[u8]) -> bool {
    coding.eq_ignore_ascii_case(b"chunked")
}

/// One number of one or more digits. Repeated lines and lists are refused even when all are equal:
/// RFC 9112 6.3 allows either, nginx refuses them too (1.23.0 on), and what is relayed as it came
/// must not be readable in two ways.
fn content_length(headers: &Headers) -> Result<Option<BodyFraming>, HeadError> {
    let mut values = headers.all("Content-Length");
    let value = match (values.next(), values.next()) {
        (None, _) => return Ok(None),
        (Some(value), None) if value.iter().all(u8::is_ascii_digit) => value,
        _ => return Err(HeadError::BadRequest),
    };
    let length = str::from_utf8(value).ok().and_then(|digits| digits.parse().ok());
    length.map(|length| Some(BodyFraming::Length(length))).ok_or(HeadError::BadRequest)
}

/// Bytes of one chunk's size line at most, without CR LF. Nobody needs extensions.
const SIZE_LINE_LIMIT: u16 = 1024;

/// Bytes of all trailer lines at most: as of a head.
const TRAILER_LIMIT: u16 = 8 * 1024;

/// Chunks that are not what RFC 9112 7.1 allows. The side that sent them is at fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FramingError;

/// Where in the chunks we are.
#[derive(Clone, Debug, Default)]
struct Chunks {
    at: At,
    /// Size of the chunk whose size line is being read.
    size: u64,
    /// Bytes of the line, or of all trailer lines, so far.
    line: u16,
}

/// What the next byte is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum At {
    /// The first digit of a size.
    #[default]
    SizeStart,
    /// Another digit, or what may follow a size.
    Size,
    /// A blank after the size, or what may follow it.
    AfterSize,
    /// An extension.
    Extension,
    /// The LF of a size line.
    SizeLf,
    /// One of this many bytes of data, at least one.
    Data(u64),
    /// The CR behind the data.
    DataCr,
    /// The LF behind the data.
    DataLf,
    /// The first byte of a trailer line or of the last line.
    TrailerStart,
    /// Inside a trailer line.
    Trailer,
    /// The LF of a trailer line.
    TrailerLf,
    /// The LF of the last line.
    LastLf,
    /// Behind the body.
    Done,
}

impl Chunks {
    /// Says how many of `bytes` belong to the body, and adds those that are data to `payload`.
    fn advance(&mut self, bytes: &[u8], payload: &mut u64) -> Result<usize, FramingError> {
        let mut rest = bytes;
        while let Some((&byte, after)) = rest.split_first() {
            match self.at {
                At::Done => break,
                At::Data(left) => {
                    let here = usize::try_from(left).map_or(rest.len(), |n| n.min(rest.len()));
                    let left = left - here as u64;
                    *payload = payload.saturating_add(here as u64);
                    self.at = if left == 0 { At::DataCr } else { At::Data(left) };
                    rest = &rest[here..];
                }
                _ => {
                    self.at = self.after(byte)?;
                    rest = after;
                }
            }
        }
        Ok(bytes.len() - rest.len())
    }

    /// What follows `byte`, which is not data.
    fn after(&mut self, byte: u8) -> Result<At, FramingError> {
        match (self.at, byte) {
            (At::SizeStart | At::Size, b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F') => {
                if self.at == At::SizeStart {
                    (self.size, self.line) = (0, 0);
                }
                self.count(16)?;
                let digit = char::from(byte).to_digit(16).unwrap_or(0);
                self.size = (self.size << 4) | u64::from(digit);
                Ok(At::Size)
            }
            (At::Size | At::AfterSize | At::Extension, b'\r') => Ok(At::SizeLf),
            (At::Size | At::AfterSize, b' ' | b'\t') => {
                self.count(SIZE_LINE_LIMIT)?;
                Ok(At::AfterSize)
            }
            (At::Size | At::AfterSize, b';') => Ok(At::Extension),
            (At::Extension, _) if is_text(byte) => {
                self.count(SIZE_LINE_LIMIT)?;
                Ok(At::Extension)
            }
            (At::SizeLf, b'\n') if self.size == 0 => {
                self.line = 0;
                Ok(At::TrailerStart)
            }
            (At::SizeLf, b'\n') => Ok(At::Data(self.size)),
            (At::DataCr, b'\r') => Ok(At::DataLf),
            (At::DataLf, b'\n') => Ok(At::SizeStart),
            (At::TrailerStart, b'\r') => Ok(At::LastLf),
            (At::Trailer, b'\r') => Ok(At::TrailerLf),
            (At::TrailerStart | At::Trailer, _) if is_text(byte) => {
                self.count(TRAILER_LIMIT)?;
                Ok(At::Trailer)
            }
            (At::TrailerLf, b'\n') => Ok(At::TrailerStart),
            (At::LastLf, b'\n') => Ok(At::Done),
            _ => Err(FramingError),
        }
    }

    /// Counts one byte of a line against its limit.
    fn count(&mut self, limit: u16) -> Result<(), FramingError> {
        if self.line >= limit {
            return Err(FramingError);
        }
        self.line += 1;
        Ok(())
    }
}

/// What may stand in a line: text, blanks and obs-text (RFC 9110 5.5).
fn is_text(byte: u8) -> bool {
    byte == b'\t' || (byte >= b' ' && byte != 0x7f)
}
