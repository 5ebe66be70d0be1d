//! The client's half: its request head, and when it is refused.

use std::ops::ControlFlow::{self, Break, Continue};

use http1::{BodyFraming, HeadLimit, Parsed, RequestHead};
use records::{SessionEnd, StepEnd};

use super::connection::IoResult;
use super::phase::{Context, Leave, Phase};
use super::upstream::Exchange;
use super::{Env, Stream};

/// Room for one read of a request head (`client_header_buffer_size`, 1 KiB).
const READ_ROOM: usize = 1024;

impl<E: Env> Context<'_, E> {
    /// Reads once into `head`, and goes on when it is complete or wrong.
    pub(super) fn read_request(&mut self, head: &mut Vec<u8>) -> ControlFlow<Leave<E::Stream>> {
        match self.client.read_onto(head, READ_ROOM) {
            IoResult::Bytes(_) => {}
            IoResult::Blocked => {
                // Nothing is kept for a connection that has not said anything.
                if head.is_empty() {
                    *head = Vec::new();
                }
                return Break(Leave::blocked(StepEnd::DownstreamEmpty));
            }
            IoResult::End => return Break(Leave::close(SessionEnd::ClientClosed)),
            IoResult::Broken => return Break(Leave::close(SessionEnd::ClientReset)),
        }
        self.moved = true;
        self.log.asked(self.env.cached_ms());
        match http1::parse_request(head, HeadLimit::default()) {
            Ok(Parsed::Partial) => Continue(()),
            // What follows the head is another request; one a connection is served.
            Ok(Parsed::Complete { head, .. }) => {
                self.log.request_complete(head.request_line(), self.env.now());
                Break(self.accept_request(&head))
            }
            Err(error) => {
                self.log.request_broken(first_line(head));
                Break(self.refuse(error.status(), SessionEnd::BadRequest))
            }
        }
    }

    fn accept_request(&mut self, head: &RequestHead) -> Leave<E::Stream> {
        *self.method = head.method.clone();
        if head.body != BodyFraming::Empty {
            return self.refuse(413, SessionEnd::BadRequest);
        }
        self.log.dialed(self.env.cached_ms());
        match self.env.dial() {
            Ok(stream) => {
                self.log.upstream_port(stream.local_port());
                Leave::Enter(Phase::Proxying(Exchange::new(stream, head, self.env.limits())))
            }
            Err(error) => self.refuse_upstream(&error),
        }
    }
}

/// What a log can show of a head that is not HTTP: its first line, at most 200 bytes of it.
fn first_line(head: &[u8]) -> String {
    let line = head.split(|&byte| byte == b'\r' || byte == b'\n').next().unwrap_or_default();
    String::from_utf8_lossy(line.get(..200).unwrap_or(line)).into_owned()
}
