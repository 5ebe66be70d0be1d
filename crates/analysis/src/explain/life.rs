//! The life of one fetch, from the moment it was wanted to its end, cut where it changes hands.
//!
//! Invariant: the spells follow each other without a gap and cover the whole life.

use records::{Answered, Fetch, MonoNs, Outcome, Session};
use serde::Serialize;

use crate::join::Connection;
use crate::window::Window;

/// See the module's head.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Life {
    /// All of it: intended start to end.
    pub(crate) whole: Window,
    /// Its spells, none of them empty.
    pub(crate) spells: Vec<(Window, Hands)>,
}

/// In whose hands a fetch is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Hands {
    /// Its client had not started it yet.
    Unsent,
    /// Its handshake was under way.
    Handshake,
    /// In a listener's queue.
    Queued,
    /// Accepted: the request had not arrived whole.
    Asking,
    /// The request was whole, the answer's head was not, and nothing says that it was the origin who
    /// kept it waiting.
    AwaitingHead,
    /// The origin had been asked, and all its workers were busy.
    AwaitingWorker,
    /// The origin had been asked and had not answered: nobody could have read a head.
    AwaitingOrigin,
    /// The answer's body was on its way.
    Body,
    /// Accepted, in a state that no record tells of.
    Unknown,
    /// The proxy was done with it; its client was not.
    Closed,
}

impl Life {
    /// The life of `fetch`, of which `connection` is the proxy's side and `answered` the origin's.
    pub(crate) fn of(
        fetch: &Fetch,
        connection: Option<&Connection<'_>>,
        answered: Option<&Answered>,
    ) -> Self {
        let end = fetch.intended_ns + fetch.response_us.as_duration();
        let whole = Window::new(fetch.intended_ns, end);
        let mut life = Self { whole, spells: Vec::new() };
        life.until(fetch.start_ns, Hands::Unsent);
        let accepted = connection.map(|connection| connection.accepted_ns);
        match fetch.connect_us {
            Some(connect) => {
                // A worker may accept before the client is told that its handshake is done.
                let done = fetch.start_ns + connect.as_duration();
                let done = accepted.map_or(done, |accepted| done.min(accepted));
                life.until(done, Hands::Handshake);
            }
            None if fetch.outcome == Outcome::TimeoutConnect || accepted.is_none() => {
                life.until(end, Hands::Handshake);
            }
            None => {}
        }
        life.until(accepted.unwrap_or(end), Hands::Queued);
        match connection.and_then(|connection| connection.session) {
            Some(session) => life.served(session, answered),
            None => life.until(end, Hands::Unknown),
        }
        life.until(end, Hands::Closed);
        life
    }

    fn served(&mut self, session: &Session, answered: Option<&Answered>) {
        let closed = session.closed_ns;
        let before_closed = |at: Option<MonoNs>| at.map_or(closed, |at| at.min(closed));
        self.until(before_closed(session.request_ns), Hands::Asking);
        let head = before_closed(session.head_ns);
        if let Some(answered) = answered {
            // A worker sends a request in the step that sees its connection stand. Where that is not
            // told, it was sent when the origin had it.
            let sent = session.connected_ns.unwrap_or(answered.request_ns);
            self.until(sent.min(answered.request_ns).min(head), Hands::AwaitingHead);
            if let Some(taken) = answered.queued_until_ns {
                self.until(taken.min(head), Hands::AwaitingWorker);
            }
            self.until(answered.head_ns.unwrap_or(head).min(head), Hands::AwaitingOrigin);
        }
        self.until(head, Hands::AwaitingHead);
        self.until(closed, Hands::Body);
    }

    /// The next spell lasts until `end`, within the life.
    fn until(&mut self, end: MonoNs, hands: Hands) {
        let start = self.spells.last().map_or(self.whole.start, |(window, _)| window.end);
        let end = end.min(self.whole.end);
        if end > start {
            self.spells.push((Window::new(start, end), hands));
        }
    }
}

#[cfg(test)]
mod tests;
