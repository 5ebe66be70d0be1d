//! What is left of a body, and how it is taken off a socket without looking at it where that can be.

use http1::{Body, BodyFraming};
use records::{Bytes, DownloadEnd};
use socket2::Socket;

use crate::sink::{Drain, Taken};

/// How long a body should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    /// This many bytes: the ones asked for.
    Exactly(Bytes),
    /// Coded, it is as long as it is.
    Coded,
}

impl Asked {
    /// How a body of `bytes` that has come to its own end ends the download.
    pub(crate) fn end_of(self, bytes: u64) -> DownloadEnd {
        match self {
            Self::Exactly(Bytes(asked)) if bytes != asked => DownloadEnd::BadStatus,
            _ => DownloadEnd::Completed,
        }
    }
}

/// What is left of a body.
pub(crate) enum Rest {
    /// This many bytes. Nobody has to see them.
    Counted(u64),
    /// All that comes; it should be what was asked for.
    UntilClose,
    /// Chunks: they must be looked at, so they are copied whatever the sink.
    Chunked(Body),
}

impl Rest {
    /// What is left after the bytes that came with the head, and how many those were.
    ///
    /// # Errors
    /// How the download ends: the chunks are broken, or it is said to be of another length.
    pub(crate) fn after(
        framing: BodyFraming,
        early: &[u8],
        asked: Asked,
    ) -> Result<(Self, u64), DownloadEnd> {
        // What is not what was asked for is no load, however fast it comes.
        if let BodyFraming::Length(length) = framing
            && asked.end_of(length) != DownloadEnd::Completed
        {
            return Err(DownloadEnd::BadStatus);
        }
        let mut body = Body::new(framing);
        body.advance(early).map_err(|_| DownloadEnd::BadStatus)?;
        let bytes = body.payload();
        let rest = match framing {
            BodyFraming::Empty => Self::Counted(0),
            BodyFraming::Length(length) => Self::Counted(length.saturating_sub(bytes)),
            BodyFraming::UntilClose => Self::UntilClose,
            BodyFraming::Chunked => Self::Chunked(body),
        };
        Ok((rest, bytes))
    }

    /// Takes up to `limit` bytes, which is not 0, and adds those of the body to `bytes`. Not to be
    /// called when it is done.
    ///
    /// # Errors
    /// How the download ends: the chunks are broken.
    pub(crate) fn take(
        &mut self,
        drain: &mut Drain,
        socket: &Socket,
        limit: u64,
        bytes: &mut u64,
    ) -> Result<Taken, DownloadEnd> {
        match self {
            Self::Counted(left) => {
                let taken = drain.discard(socket, limit.min(*left));
                *left = left.saturating_sub(taken.len() as u64);
                *bytes += taken.len() as u64;
                Ok(taken)
            }
            Self::UntilClose => {
                let taken = drain.discard(socket, limit);
                *bytes += taken.len() as u64;
                Ok(taken)
            }
            Self::Chunked(body) => {
                let (taken, seen) = drain.read(socket, limit);
                body.advance(seen).map_err(|_| DownloadEnd::BadStatus)?;
                *bytes = body.payload();
                Ok(taken)
            }
        }
    }

    /// How many bytes to wait for at a time, `most` or fewer: never more than are to come. Chunks do
    /// not tell how many that is.
    pub(crate) fn mark(&self, most: Bytes) -> Bytes {
        match self {
            Self::Counted(left) => Bytes(*left).min(most),
            Self::UntilClose => most,
            Self::Chunked(_) => Bytes(1),
        }
    }

    /// Whether every byte has come. Never true of what ends with a close.
    pub(crate) fn is_done(&self) -> bool {
        match self {
            Self::Counted(left) => *left == 0,
            Self::UntilClose => false,
            Self::Chunked(body) => body.is_done(),
        }
    }

    /// How the download ends when the peer closes after `bytes`.
    pub(crate) fn end_at_close(&self, bytes: u64, asked: Asked) -> DownloadEnd {
        match (self, asked) {
            (Self::UntilClose, Asked::Exactly(Bytes(size))) if bytes < size => {
                DownloadEnd::ClosedEarly
            }
            (Self::UntilClose, asked) => asked.end_of(bytes),
            _ => DownloadEnd::ClosedEarly,
        }
    }
}
