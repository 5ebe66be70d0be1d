//! The chunked transfer coding, RFC 9112 7.1: a scanner for chunks that come. Of chunks on their way out
//! the mirror's gzip makes its own.
//!
//! The scanner is strict where lenience has led to smuggling: lines end in CR LF only, sizes are at most 16
//! hexadecimal digits, control characters are refused.

/// Bytes of one chunk's size line at most, without CR LF. Nobody needs extensions.
const SIZE_LINE_LIMIT: u16 = 1024;

/// Bytes of all trailer lines at most: the default [`crate::HeadLimit`].
const TRAILER_LIMIT: u16 = 8 * 1024;

/// Chunks that are not what RFC 9112 7.1 allows. The side that sent them is at fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum FramingError {
    /// A chunk's size is missing, has a digit that is none, or has more than 64 bits.
    #[error("a chunk's size is not a hexadecimal number of at most 64 bits")]
    BadSize,
    /// A size line or a trailer line has a forbidden byte, or does not end in CR LF.
    #[error("a chunk's line has a forbidden byte or does not end in CR LF")]
    BadLine,
    /// The data of a chunk is not followed by CR LF.
    #[error("a chunk is longer than its size")]
    BadDataEnd,
    /// A size line is longer than 1 KiB, or the trailer longer than 8 KiB.
    #[error("a chunk's extensions or the trailer are too long")]
    TooLong,
}

/// Where in the chunks we are.
#[derive(Clone, Debug, Default)]
pub(crate) struct Chunks {
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
    /// Whether the last line has passed.
    pub(crate) fn is_done(&self) -> bool {
        self.at == At::Done
    }

    /// Says how many of `bytes` belong to the body, and adds those that are data to `payload`.
    pub(crate) fn advance(
        &mut self,
        bytes: &[u8],
        payload: &mut u64,
    ) -> Result<usize, FramingError> {
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
                self.count(16).map_err(|_| FramingError::BadSize)?;
                let digit = char::from(byte).to_digit(16).unwrap_or(0);
                self.size = (self.size << 4) | u64::from(digit);
                Ok(At::Size)
            }
            (At::SizeStart, _) => Err(FramingError::BadSize),
            (At::Size | At::AfterSize | At::Extension, b'\r') => Ok(At::SizeLf),
            (At::Size | At::AfterSize, b' ' | b'\t') => {
                self.count(SIZE_LINE_LIMIT)?;
                Ok(At::AfterSize)
            }
            (At::Size | At::AfterSize, b';') => Ok(At::Extension),
            (At::Size | At::AfterSize, _) => Err(FramingError::BadSize),
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
            (At::DataCr | At::DataLf, _) => Err(FramingError::BadDataEnd),
            (At::TrailerStart, b'\r') => Ok(At::LastLf),
            (At::Trailer, b'\r') => Ok(At::TrailerLf),
            (At::TrailerStart | At::Trailer, _) if is_text(byte) => {
                self.count(TRAILER_LIMIT)?;
                Ok(At::Trailer)
            }
            (At::TrailerLf, b'\n') => Ok(At::TrailerStart),
            (At::LastLf, b'\n') => Ok(At::Done),
            _ => Err(FramingError::BadLine),
        }
    }

    /// Counts one byte of a line against its limit.
    fn count(&mut self, limit: u16) -> Result<(), FramingError> {
        if self.line >= limit {
            return Err(FramingError::TooLong);
        }
        self.line += 1;
        Ok(())
    }
}

/// What may stand in a line: text, blanks and obs-text (RFC 9110 5.5).
fn is_text(byte: u8) -> bool {
    byte == b'\t' || (byte >= b' ' && byte != 0x7f)
}
