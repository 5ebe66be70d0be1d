//! Answers of our own, and a close that does not reset the connection under the answer.

use std::io;
use std::ops::ControlFlow::{self, Break, Continue};
use std::time::Duration;

use http1::Method;
use records::{SessionEnd, StepEnd};
use rustix::io::Errno;

use super::connection::IoResult;
use super::phase::{Context, Leave, Phase, obey};
use super::relay::Outgoing;
use super::{Env, Stream};
use crate::policy::{ReadDone, Stop};

/// Between two reads of what the client says once all is sent (`lingering_timeout`).
pub(super) const LINGER_TIMEOUT: Duration = Duration::from_secs(5);

/// For all of what it says then (`lingering_time`).
pub(super) const LINGER_TIME: Duration = Duration::from_secs(30);

impl<E: Env> Context<'_, E> {
    /// Answers `status` by ourselves; the session will end as `end`.
    pub(super) fn refuse(&mut self, status: u16, end: SessionEnd) -> Leave<E::Stream> {
        let mut answer = http1::error_response(status);
        let head = answer.windows(4).position(|four| four == b"\r\n\r\n").map_or(0, |at| at + 4);
        if *self.method == Method::Head {
            answer.truncate(head);
        }
        self.log.answer_begins(status, head);
        self.moved = true;
        Leave::Enter(Phase::Answering { answer: Outgoing::new(answer, None, &[]), end })
    }

    /// No upstream connection could be had: whose fault it is stands in the end.
    pub(super) fn refuse_upstream(&mut self, error: &io::Error) -> Leave<E::Stream> {
        let no_port = error.raw_os_error() == Some(Errno::ADDRNOTAVAIL.raw_os_error());
        let of_this_host = no_port || net::limit::is_shortage(error);
        let end =
            if of_this_host { SessionEnd::LocalError } else { SessionEnd::UpstreamUnreachable };
        self.refuse(502, end)
    }

    /// All is sent: the session closes at once, unless the client has said more than we have read,
    /// since `close(2)` with unread data resets the connection (RFC 1122 4.2.2.13).
    pub(super) fn finish(&mut self, end: SessionEnd) -> ControlFlow<Stop> {
        let unread = self.client.stream().unread().unwrap_or(0);
        if unread == 0 || self.client.stream().finish().is_err() {
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
            let said = limit.after_read(read, || client.stream().unread(), || self.env.now());
            match obey(said, client) {
                Continue(()) => {}
                Break(Stop::Blocked(_)) => return EMPTY,
                Break(stop) => return stop,
            }
        }
        Stop::Close(SessionEnd::Shutdown)
    }
}
