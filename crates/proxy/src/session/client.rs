//! The client's half: its request head, and when it is refused; answers of our own; and a close that
//! does not reset the connection under an answer.

use std::io;
use std::ops::ControlFlow::{self, Break, Continue};

use http1::{BodyFraming, RequestHead};
use records::{SessionEnd, StepEnd};

use super::connection::{Buffer, Connection, IoResult};
use super::{Context, Env, Phase, Stream, blocked};
use crate::policy::{ReadDone, Stop};

/// Room for one read of a request head (`client_header_buffer_size`, 1 KiB).
const READ_ROOM: usize = 1024;

impl<E: Env> Context<'_, E> {
    /// Reads into `head` until it is complete or wrong, or nothing more is there.
    pub(super) fn read_request(&mut self, head: &mut Vec<u8>) -> ControlFlow<Stop, Phase> {
        loop {
            match self.client.read_onto(head, READ_ROOM) {
                IoResult::Bytes(_) => {}
                IoResult::Blocked => {
                    // Nothing is kept for a connection that has not said anything.
                    if head.is_empty() {
                        *head = Vec::new();
                    }
                    return blocked(StepEnd::DownstreamEmpty);
                }
                IoResult::End => return Break(Stop::Close(SessionEnd::ClientClosed)),
                IoResult::Broken => return Break(Stop::Close(SessionEnd::ClientReset)),
            }
            self.moved = true;
            self.log.asked_ms.get_or_insert(self.env.cached_ms());
            match http1::parse_request(head) {
                Ok(None) => {}
                // What follows the head is another request; one a connection is served.
                Ok(Some((head, _))) => {
                    self.log.record.request = head.request_line();
                    self.log.record.request_ns = Some(self.env.now());
                    return Continue(self.dial(&head));
                }
                Err(error) => {
                    self.log.record.request = first_line(head);
                    return Continue(self.answer(error.status(), SessionEnd::BadRequest));
                }
            }
        }
    }

    fn dial(&mut self, head: &RequestHead) -> Phase {
        *self.method = head.method.clone();
        if head.body != BodyFraming::Length(0) {
            return self.answer(413, SessionEnd::BadRequest);
        }
        self.log.dialed_ms = Some(self.env.cached_ms());
        match self.env.dial() {
            Ok(stream) => {
                self.log.record.upstream_port = stream.local_port();
                *self.upstream = Connection::new(stream);
                let request = head.encode_for_upstream(self.env.limits().upstream);
                Phase::Connecting(Buffer::holding(request))
            }
            Err(error) => self.answer_unreachable(&error),
        }
    }

    /// Answers `status` by ourselves; the session will end as `end`.
    pub(super) fn answer(&mut self, status: u16, end: SessionEnd) -> Phase {
        self.upstream.close();
        let (mut answer, head) = http1::error_response(status);
        if self.method == "HEAD" {
            answer.truncate(head);
        }
        self.log.answer_begins(status, head);
        self.moved = true;
        Phase::Answering { answer: Buffer::holding(answer), end }
    }

    /// No upstream connection could be had: whose fault it is stands in the end.
    pub(super) fn answer_unreachable(&mut self, error: &io::Error) -> Phase {
        let end = match error.kind() {
            io::ErrorKind::AddrNotAvailable => SessionEnd::NoPort,
            _ if net::tcp::is_shortage(error) => SessionEnd::LocalError,
            _ => SessionEnd::UpstreamUnreachable,
        };
        self.answer(502, end)
    }

    /// Writes all that waits in `out`. Every step that moves an answer unbuffered comes by here between two
    /// reads: this is where the proxy's end reaches it.
    pub(super) fn flush(&mut self, out: &mut Buffer) -> ControlFlow<Stop> {
        self.go_on_unless_told_to_end()?;
        while !out.is_empty() {
            match self.client.write(out.held()) {
                IoResult::Bytes(sent) => {
                    self.sent(sent);
                    out.gone(sent);
                }
                IoResult::Blocked => return blocked(StepEnd::DownstreamFull),
                IoResult::End | IoResult::Broken => {
                    return Break(Stop::Close(SessionEnd::ClientReset));
                }
            }
        }
        Continue(())
    }

    /// All is sent: the session closes at once, unless the client has said more than we have read,
    /// since `close(2)` with unread data resets the connection (RFC 1122 4.2.2.13).
    pub(super) fn sent_all(&mut self, end: SessionEnd) -> ControlFlow<Stop, Phase> {
        self.upstream.close();
        let unread = self.client.unread().unwrap_or(0);
        if unread == 0 || self.client.stream().and_then(Stream::finish).is_err() {
            return Break(Stop::Close(end));
        }
        self.moved = true;
        Continue(Phase::Lingering { end, until: None })
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
            let said = limit.after_read(read, || client.unread(), || self.env.now());
            match client.obey(said) {
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
