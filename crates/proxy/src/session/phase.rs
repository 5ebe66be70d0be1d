//! Where a session stands, and what moves it on.
//!
//! ```text
//! ReadingRequest -> Connecting -> SendingRequest -> ReadingHead -> Relaying -> Lingering
//!        |              |               |               |                        ^
//!        '--------------'---------------'---------------'---------> Answering ---'
//! ```

/// Where a session stands between two steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Phase {
    /// The client's request head is not complete.
    ReadingRequest,
    /// The upstream handshake is under way.
    Connecting,
    /// The request is on its way upstream.
    SendingRequest,
    /// The upstream's head is not complete.
    ReadingHead,
    /// The upstream's body moves to the client.
    Relaying,
    /// An answer of our own (an error) moves to the client.
    Answering,
    /// Everything is sent; what the client still sends is thrown away, so that closing does not
    /// reset the connection under the answer (nginx's `lingering_close`).
    Lingering,
}

/// What moves a session on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Happening {
    /// The request's head is complete and acceptable.
    RequestComplete,
    /// The upstream handshake is complete.
    Connected,
    /// The whole request is sent.
    RequestSent,
    /// The upstream's head is complete.
    HeadComplete,
    /// We answer by ourselves: the request, the upstream or its time was no good.
    Refused,
    /// The answer is sent but the client has sent more than we have read.
    AnswerSent,
}

impl Phase {
    /// Every phase.
    #[cfg(test)]
    pub(crate) const ALL: [Self; 7] = [
        Self::ReadingRequest,
        Self::Connecting,
        Self::SendingRequest,
        Self::ReadingHead,
        Self::Relaying,
        Self::Answering,
        Self::Lingering,
    ];

    /// The phase after `happening`; `None` where it cannot happen.
    pub(crate) const fn after(self, happening: Happening) -> Option<Self> {
        use Happening as H;
        match (self, happening) {
            (Self::ReadingRequest, H::RequestComplete) => Some(Self::Connecting),
            (Self::Connecting, H::Connected) => Some(Self::SendingRequest),
            (Self::SendingRequest, H::RequestSent) => Some(Self::ReadingHead),
            (Self::ReadingHead, H::HeadComplete) => Some(Self::Relaying),
            (
                Self::ReadingRequest | Self::Connecting | Self::SendingRequest | Self::ReadingHead,
                H::Refused,
            ) => Some(Self::Answering),
            (Self::Relaying | Self::Answering, H::AnswerSent) => Some(Self::Lingering),
            _ => None,
        }
    }

    /// Whether an upstream exchange is on, so that a client that closes ends the session at once
    /// (`ngx_http_upstream_check_broken_connection`).
    pub(crate) const fn is_upstream_exchange(self) -> bool {
        matches!(self, Self::Connecting | Self::SendingRequest | Self::ReadingHead | Self::Relaying)
    }

    /// Whether the answer's head counts as sent: from here on the logged status stays.
    pub(crate) const fn is_answered(self) -> bool {
        matches!(self, Self::Relaying | Self::Answering | Self::Lingering)
    }
}
