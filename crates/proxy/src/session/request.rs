//! The client's half: its request head, and when it is refused.

use http1::{BodyFraming, HeadLimit, Parsed, RequestHead};
use records::{SessionEnd, StepEnd};

use super::outbox::Outbox;
use super::phase::Happening;
use super::side::{Moved, Side};
use super::{Env, Flow, Session, Stream, gzip};

/// Room for one read of a request head (`client_header_buffer_size`, 1 KiB).
const READ_ROOM: usize = 1024;

impl<S: Stream> Session<S> {
    /// Reads until the head is complete, wrong, or nothing more is there.
    pub(super) fn read_request(&mut self, env: &mut impl Env<Stream = S>) -> Flow {
        let had = self.head.len();
        self.head.resize(had + READ_ROOM, 0);
        let moved = self.client.read(self.head.get_mut(had..).unwrap_or_default());
        self.head.truncate(had + if let Moved::Bytes(got) = moved { got } else { 0 });
        match moved {
            Moved::Bytes(_) => {
                self.moved = true;
                self.log.asked(env);
                self.parse_request(env)
            }
            Moved::Blocked => {
                // Nothing is kept for a connection that has not said anything.
                if self.head.is_empty() {
                    self.head = Vec::new();
                }
                Flow::Blocked(StepEnd::DownstreamEmpty)
            }
            Moved::End => Flow::Close(SessionEnd::ClientClosed),
            Moved::Broken => Flow::Close(SessionEnd::ClientReset),
        }
    }

    fn parse_request(&mut self, env: &mut impl Env<Stream = S>) -> Flow {
        match http1::parse_request(&self.head, HeadLimit::default()) {
            Ok(Parsed::Partial) => Flow::Continue,
            Ok(Parsed::Complete { head, .. }) => {
                // What follows the head is another request; one a connection is served.
                self.log.request_complete(env);
                self.log.request = head.request_line();
                self.accept_request(&head, env)
            }
            Err(error) => {
                self.log.request = first_line(&self.head);
                self.refuse(error.status(), SessionEnd::BadRequest)
            }
        }
    }

    fn accept_request(&mut self, head: &RequestHead, env: &mut impl Env<Stream = S>) -> Flow {
        self.method = head.method.clone();
        self.gzip = env.limits().gzip.filter(|_| gzip::is_wanted(head));
        if head.body != BodyFraming::Empty {
            return self.refuse(413, SessionEnd::BadRequest);
        }
        self.out = Outbox::holding(head.encode_for_upstream(&env.limits().upstream_host));
        self.head = Vec::new();
        self.log.dialed(env);
        match env.dial() {
            Ok(stream) => {
                self.log.upstream_port = stream.local_port();
                self.upstream = Some(Side::new(stream));
                self.advance(Happening::RequestComplete)
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
