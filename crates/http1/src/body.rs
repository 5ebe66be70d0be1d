//! How a body is delimited (RFC 9112 6.3), and where it ends, told while its bytes pass by.

use crate::chunked::{Chunks, FramingError};
use crate::headers::list_items;
use crate::{HeadError, Headers, Method, Version};

/// Follows a body on the wire and says which bytes belong to it. Keeps none of them and allocates
/// nothing; the cost of a call does not grow with its bytes but with the chunks in them.
#[derive(Clone, Debug)]
pub struct Body {
    state: State,
    payload: u64,
}

/// What a call of [`Body::advance`] found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Advance {
    /// How many of the bytes, from the first, belong to the body as it is on the wire.
    pub take: usize,
    /// Whether the body is complete with them. What follows belongs to nobody.
    pub done: bool,
}

#[derive(Clone, Debug)]
enum State {
    Length { left: u64 },
    UntilClose,
    Chunked(Chunks),
    Failed(FramingError),
}

impl Body {
    /// A body that starts with the next byte.
    pub fn new(framing: BodyFraming) -> Self {
        let state = match framing {
            BodyFraming::Empty => State::Length { left: 0 },
            BodyFraming::Length(left) => State::Length { left },
            BodyFraming::Chunked => State::Chunked(Chunks::default()),
            BodyFraming::UntilClose => State::UntilClose,
        };
        Self { state, payload: 0 }
    }

    /// Takes note of the next bytes from the wire.
    ///
    /// # Errors
    /// The chunks are broken: nothing after them can be trusted, and every later call fails too.
    pub fn advance(&mut self, bytes: &[u8]) -> Result<Advance, FramingError> {
        match &mut self.state {
            State::Length { left } => {
                let take = usize::try_from(*left).map_or(bytes.len(), |left| left.min(bytes.len()));
                *left -= take as u64;
                self.payload += take as u64;
                Ok(Advance { take, done: *left == 0 })
            }
            State::UntilClose => {
                self.payload += bytes.len() as u64;
                Ok(Advance { take: bytes.len(), done: false })
            }
            State::Chunked(chunks) => match chunks.advance(bytes, &mut self.payload) {
                Ok(take) => Ok(Advance { take, done: chunks.is_done() }),
                Err(error) => {
                    self.state = State::Failed(error);
                    Err(error)
                }
            },
            State::Failed(error) => Err(*error),
        }
    }

    /// Takes note of bytes from the wire that nobody has looked at. Of chunks they must be.
    pub fn skip(&mut self, bytes: u64) {
        if let State::Length { left } = &mut self.state {
            *left = left.saturating_sub(bytes);
        }
        self.payload += bytes;
    }

    /// How many bytes are to come; absent: only they will tell.
    pub fn left(&self) -> Option<u64> {
        match self.state {
            State::Length { left } => Some(left),
            State::UntilClose | State::Chunked(_) | State::Failed(_) => None,
        }
    }

    /// Whether every byte has passed. Never true of a body that ends when its sender closes.
    pub fn is_done(&self) -> bool {
        match &self.state {
            State::Length { left } => *left == 0,
            State::Chunked(chunks) => chunks.is_done(),
            State::UntilClose | State::Failed(_) => false,
        }
    }

    /// Whether a close by the sender is the body's proper end.
    pub fn ends_at_close(&self) -> bool {
        matches!(self.state, State::UntilClose)
    }

    /// Bytes of content so far: those taken, without sizes, line ends and trailers of chunks.
    pub fn payload(&self) -> u64 {
        self.payload
    }
}

/// Where the body of a message ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BodyFraming {
    /// There is none.
    Empty,
    /// After this many bytes.
    Length(u64),
    /// After the last chunk and its trailer.
    Chunked,
    /// When the sender closes.
    UntilClose,
}

impl BodyFraming {
    /// A request has a body only when it says so.
    pub(crate) fn of_request(version: Version, headers: &Headers) -> Result<Self, HeadError> {
        match Announced::read(version, headers)? {
            Announced::Nothing => Ok(Self::Empty),
            Announced::Length(length) => Ok(Self::of_length(length)),
            Announced::Coding(Coding::Chunked) => Ok(Self::Chunked),
            Announced::Coding(_) => Err(HeadError::UnsupportedTransferCoding),
        }
    }

    /// What announces no end runs until close. Codings under `chunked` are the receiver's matter.
    pub(crate) fn of_response(
        version: Version,
        headers: &Headers,
        status: u16,
        request: &Method,
    ) -> Result<Self, HeadError> {
        let announced = Announced::read(version, headers)?;
        if *request == Method::Head || matches!(status, 100..=199 | 204 | 304) {
            return Ok(Self::Empty);
        }
        Ok(match announced {
            Announced::Length(length) => Self::of_length(length),
            Announced::Coding(Coding::Chunked | Coding::EndsChunked) => Self::Chunked,
            Announced::Nothing | Announced::Coding(Coding::Other) => Self::UntilClose,
        })
    }

    const fn of_length(length: u64) -> Self {
        if length == 0 { Self::Empty } else { Self::Length(length) }
    }
}

/// What the headers say of the body.
enum Announced {
    Nothing,
    Length(u64),
    Coding(Coding),
}

/// The codings in Transfer-Encoding.
enum Coding {
    /// `chunked` and nothing else.
    Chunked,
    /// Others, and `chunked` once, as the last.
    EndsChunked,
    /// Anything else, also an empty list: its end cannot be seen.
    Other,
}

impl Announced {
    fn read(version: Version, headers: &Headers) -> Result<Self, HeadError> {
        let coded = headers.contains("Transfer-Encoding");
        match (coded, headers.contains("Content-Length")) {
            (false, false) => Ok(Self::Nothing),
            (true, true) => Err(HeadError::ConflictingFraming),
            (true, false) if version == Version::Http10 => Err(HeadError::TransferCodingInHttp10),
            (true, false) => Ok(Self::Coding(Coding::read(headers))),
            (false, true) => content_length(headers).map(Self::Length),
        }
    }
}

impl Coding {
    fn read(headers: &Headers) -> Self {
        let is_chunked = |coding: &[u8]| coding.eq_ignore_ascii_case(b"chunked");
        let codings: Vec<&[u8]> = list_items(headers.all("Transfer-Encoding")).collect();
        match codings.split_last() {
            Some((last, [])) if is_chunked(last) => Self::Chunked,
            Some((last, others)) if is_chunked(last) && !others.iter().any(|c| is_chunked(c)) => {
                Self::EndsChunked
            }
            _ => Self::Other,
        }
    }
}

/// One number of one or more digits. Repeated lines and lists are refused even when all are equal:
/// RFC 9112 6.3 allows either, nginx refuses them too (1.23.0 on), and what is relayed as it came
/// must not be readable in two ways.
fn content_length(headers: &Headers) -> Result<u64, HeadError> {
    let mut values = headers.all("Content-Length");
    let (Some(value), None) = (values.next(), values.next()) else {
        return Err(HeadError::BadContentLength);
    };
    if value.is_empty() {
        return Err(HeadError::BadContentLength);
    }
    value
        .iter()
        .try_fold(0_u64, |number, &byte| {
            let digit = byte.is_ascii_digit().then(|| u64::from(byte - b'0'))?;
            number.checked_mul(10)?.checked_add(digit)
        })
        .ok_or(HeadError::BadContentLength)
}
