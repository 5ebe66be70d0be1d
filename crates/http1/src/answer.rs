//! The answer to one request as its client takes it: interim heads are passed over, the final one is
//! judged as soon as it is there, and the body is followed to its end.

use std::mem;

use crate::{Body, BodyFraming, ResponseHead, parse_response};

/// What a client takes for a good answer.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// Method of its request.
    pub method: String,
    /// Of a server of its user's own any 2xx is good, however the answer ends; our origin says 200, and
    /// where the end is.
    pub own: bool,
    /// How many bytes of content there must be; absent: as many as there are.
    pub size: Option<u64>,
}

impl Wanted {
    /// Whether a good answer may have that status.
    pub fn takes(&self, status: u16) -> bool {
        if self.own { (200..300).contains(&status) } else { status == 200 }
    }
}

/// How far an answer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// More is to come.
    More,
    /// It is whole, and what was wanted.
    Whole,
    /// The same, and bytes that nobody asked for came with its end.
    Overrun,
    /// It is no answer, or not what was wanted: however fast it comes, it is no good.
    Unwanted,
}

/// An answer as far as it has come.
#[derive(Clone, Debug)]
pub struct Answer {
    wanted: Wanted,
    /// As much as there is of a head that has not ended.
    begun: Vec<u8>,
    /// The final head, and its length in bytes.
    head: Option<(ResponseHead, usize)>,
    body: Option<Body>,
}

impl Answer {
    /// Nothing has come yet of an answer that is to be like this.
    pub fn to(wanted: Wanted) -> Self {
        Self { wanted, begun: Vec::new(), head: None, body: None }
    }

    /// Takes note of the next bytes from the wire. Most heads come in one piece, with much of the body
    /// behind them: these are read where they are.
    pub fn advance(&mut self, bytes: &[u8]) -> State {
        match &mut self.body {
            Some(body) => match body.advance(bytes) {
                Ok(_) if !body.is_done() => State::More,
                Ok(here) if here < bytes.len() => self.whole(State::Overrun),
                Ok(_) => self.whole(State::Whole),
                Err(_) => State::Unwanted,
            },
            None if self.begun.is_empty() => self.begin(bytes),
            None => {
                let mut begun = mem::take(&mut self.begun);
                begun.extend_from_slice(bytes);
                self.begin(&begun)
            }
        }
    }

    /// As [`Self::advance`], of bytes that nobody has looked at. Of heads and chunks they must be.
    pub fn skip(&mut self, bytes: u64) -> State {
        let Some(body) = &mut self.body else { return State::Unwanted };
        body.skip(bytes);
        if body.is_done() { self.whole(State::Whole) } else { State::More }
    }

    /// The peer has closed: the end of an answer that ends so, unless it is too short;
    /// [`State::More`]: it came too early.
    pub fn closed(&self) -> State {
        let enough = self.wanted.size.is_none_or(|size| self.payload() >= size);
        let ends = self.body.as_ref().is_some_and(Body::ends_at_close) && enough;
        if ends { self.whole(State::Whole) } else { State::More }
    }

    /// The status, once the final head has come.
    pub fn status(&self) -> Option<u16> {
        self.head.as_ref().map(|(head, _)| head.status)
    }

    /// Bytes of the final head.
    pub fn head_len(&self) -> u64 {
        self.head.as_ref().map_or(0, |(_, len)| *len as u64)
    }

    /// Whether the server keeps the connection.
    pub fn keeps_connection(&self) -> bool {
        self.head.as_ref().is_some_and(|(head, _)| head.keeps_connection())
    }

    /// Bytes of content so far.
    pub fn payload(&self) -> u64 {
        self.body.as_ref().map_or(0, Body::payload)
    }

    /// The body, once a good head has come.
    pub fn body(&self) -> Option<&Body> {
        self.body.as_ref()
    }

    fn begin(&mut self, mut bytes: &[u8]) -> State {
        loop {
            match parse_response(bytes, &self.wanted.method) {
                Ok(Some((head, len))) => {
                    bytes = &bytes[len..];
                    if head.is_interim() {
                        continue;
                    }
                    let (framing, good) = (head.body, self.wanted.takes(head.status));
                    self.head = Some((head, len));
                    let fits = match (framing, self.wanted.size) {
                        (BodyFraming::Length(length), Some(size)) => length == size,
                        // Only the close would say where it ends, and nobody knows where it should.
                        (BodyFraming::UntilClose, None) => self.wanted.own,
                        _ => true,
                    };
                    if !fits || !good {
                        return State::Unwanted;
                    }
                    self.body = Some(Body::new(framing));
                    return self.advance(bytes);
                }
                Ok(None) => {
                    self.begun = bytes.to_vec();
                    return State::More;
                }
                Err(_) => return State::Unwanted,
            }
        }
    }

    /// The body has come to its end.
    fn whole(&self, state: State) -> State {
        let fits = self.wanted.size.is_none_or(|size| size == self.payload());
        if fits { state } else { State::Unwanted }
    }
}
