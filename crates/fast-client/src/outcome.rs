//! Which outcome a failure is. By the kinds of errors along their chain, never by their words.

use std::error::Error;
use std::io::{self, ErrorKind};

use records::Outcome;

/// How far a fetch had come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reached {
    /// The handshake is under way.
    Connecting,
    /// Connected; no byte of the answer has come.
    Waiting,
    /// Inside the answer.
    Answer,
}

impl Reached {
    /// What hitting the cap here is called.
    pub(crate) const fn timeout(self) -> Outcome {
        match self {
            Self::Connecting => Outcome::TimeoutConnect,
            Self::Waiting => Outcome::TimeoutNoByte,
            Self::Answer => Outcome::TimeoutPartial,
        }
    }
}

/// Why a fetch failed before its cap.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// A system call.
    #[error(transparent)]
    Socket(#[from] io::Error),
    /// The exchange of HTTP.
    #[error(transparent)]
    Http(#[from] hyper::Error),
    /// The answer is not the one that was asked for.
    #[error("the answer has another status or length")]
    WrongAnswer,
    /// The connection ended inside an answer that did not tell its length.
    #[error("the answer is cut")]
    CutAnswer,
    /// The kernel connected the socket to itself: nobody listens there.
    #[error("nobody listens there")]
    SelfConnected,
}

impl Failure {
    /// What this is to whoever counts outcomes.
    pub(crate) fn outcome(&self, reached: Reached) -> Outcome {
        match self {
            Self::WrongAnswer => Outcome::BadStatus,
            Self::CutAnswer => Outcome::ClosedEarly,
            Self::SelfConnected => Outcome::Refused,
            Self::Socket(error) => of_kind(error.kind(), reached),
            Self::Http(error) => of_chain(error, reached),
        }
    }
}

/// The first error of the chain that says something decides.
fn of_chain(error: &(dyn Error + 'static), reached: Reached) -> Outcome {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(io) = error.downcast_ref::<io::Error>() {
            return of_kind(io.kind(), reached);
        }
        if let Some(http) = error.downcast_ref::<hyper::Error>() {
            if http.is_parse() {
                return Outcome::BadStatus;
            }
            if http.is_incomplete_message() {
                return Outcome::ClosedEarly;
            }
        }
        next = error.source();
    }
    // The connection was over before the request or the body was: hyper says "closed", "canceled".
    Outcome::ClosedEarly
}

fn of_kind(kind: ErrorKind, reached: Reached) -> Outcome {
    match kind {
        ErrorKind::ConnectionRefused => Outcome::Refused,
        // EPIPE: a write after the peer's reset was already told.
        ErrorKind::ConnectionReset
        | ErrorKind::ConnectionAborted
        | ErrorKind::BrokenPipe
        | ErrorKind::NotConnected => Outcome::Reset,
        ErrorKind::UnexpectedEof => Outcome::ClosedEarly,
        // What hyper makes of chunks that are none.
        ErrorKind::InvalidData | ErrorKind::InvalidInput if reached == Reached::Answer => {
            Outcome::BadStatus
        }
        // tcp(7): the kernel gave up sending before our cap.
        ErrorKind::TimedOut => reached.timeout(),
        // EMFILE, ENFILE, ENOBUFS, ENOMEM, EADDRNOTAVAIL, EACCES, ENETUNREACH, ...
        _ => Outcome::LocalError,
    }
}

#[cfg(test)]
mod tests;
