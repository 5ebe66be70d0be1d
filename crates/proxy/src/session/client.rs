//! The client's half: its request head, and when it is refused; answers of our own; and a close that
//! does not reset the connection under an answer.

use std::io;
use std::ops::ControlFlow::{self, Break, Continue};
use std::time::Duration;

use http1::{BodyFraming, HeadLimit, Method, Parsed, RequestHead};
use records::{SessionEnd, StepEnd};
use rustix::io::Errno;

use super::connection::{Buffer, IoResult};
use super::phase::{Context, Leave, Phase, obey};
use super::upstream::Exchange;
use super::{Env, Stream};
use crate::policy::{ReadDone, Stop};

/// Room for one read of a request head (`client_header_buffer_size`, 1 KiB).
const READ_ROOM: usize = 1024;

/// Between two reads of what the client says once all is sent (`lingering_timeout`).
pub(super) const LINGER_TIMEOUT: Duration = Duration::from_secs(5);

/// For all of what it says then (`lingering_time`).
pub(super) const LINGER_TIME: Duration = Duration::from_secs(30);

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
                self.log.record.request = head.request_line();
                self.log.record.request_ns = Some(self.env.now());
                Break(self.accept_request(&head))
            }
            Err(error) => {
                self.log.record.request = first_line(head);
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
                self.log.record.upstream_port = stream.local_port();
                Leave::Enter(Phase::Proxying(Exchange::new(stream, head, self.env.limits())))
            }
            Err(error) => self.refuse_upstream(&error),
        }
    }

    /// Answers `status` by ourselves; the session will end as `end`.
    pub(super) fn refuse(&mut self, status: u16, end: SessionEnd) -> Leave<E::Stream> {
        let mut answer = http1::error_response(status);
        let head = answer.windows(4).position(|four| four == b"\r\n\r\n").map_or(0, |at| at + 4);
        if *self.method == Method::Head {
            answer.truncate(head);
        }
        self.log.answer_begins(status, head);
        self.moved = true;
        Leave::Enter(Phase::Answering { answer: Buffer::holding(answer), end })
    }

    /// No upstream connection could be had: whose fault it is stands in the end.
    pub(super) fn refuse_upstream(&mut self, error: &io::Error) -> Leave<E::Stream> {
        let end = if error.raw_os_error() == Some(Errno::ADDRNOTAVAIL.raw_os_error()) {
            SessionEnd::NoPort
        } else if net::tcp::is_shortage(error) {
            SessionEnd::LocalError
        } else {
            SessionEnd::UpstreamUnreachable
        };
        self.refuse(502, end)
    }

    /// All is sent: the session closes at once, unless the client has said more than we have read,
    /// since `close(2)` with unread data resets the connection (RFC 1122 4.2.2.13).
    pub(super) fn finish(&mut self, end: SessionEnd) -> ControlFlow<Stop> {
        let unread = self.client.stream.unread().unwrap_or(0);
        if unread == 0 || self.client.stream.finish().is_err() {
            return Break(Stop::Close(end));
        }
        self.moved = true;
        Continue(())
    }

    /// Throws away what the client says until it closes. The read policy holds for it as for any
    /// read: under `drain` nothing but the client ends it (`ngx_http_lingering_close_handler`).
    pub(super) fn linger(&mut self, end: SessionEnd) -> Stop {
        const EMPTY: Stop = Stop::Blocked(StepEnd::DownstreamEmpty);
        let mut waste = [0; 4096];
        // A copy: what is thrown away counts for the quota, and not as read from the upstream. What
        // FIONREAD saw, it saw there.
        let mut limit = self.limit.clone();
        limit.on_readable();
        while !self.env.told_to_end() {
            let got = match self.client.read(&mut waste) {
                IoResult::Bytes(got) => got,
                IoResult::Blocked => return EMPTY,
                IoResult::End | IoResult::Broken => return Stop::Close(end),
            };
            self.moved = true;
            let (client, read) = (&mut *self.client, ReadDone { got, offered: waste.len() });
            let said = limit.after_read(read, || client.stream.unread(), || self.env.now());
            match obey(said, client) {
                Continue(()) => {}
                Break(Stop::Blocked(_)) => return EMPTY,
                Break(stop) => return stop,
            }
        }
        Stop::Close(SessionEnd::Shutdown)
    }
}

/// What a log can show of a head that is not HTTP: its first line, at most 200 bytes of it.
fn first_line(head: &[u8]) -> String {
    let line = head.split(|&byte| byte == b'\r' || byte == b'\n').next().unwrap_or_default();
    String::from_utf8_lossy(line.get(..200).unwrap_or(line)).into_owned()
}
