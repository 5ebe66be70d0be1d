//! Where a body ends, told while its bytes pass by.

use crate::BodyFraming;
use crate::chunked::{Chunks, FramingError};

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
