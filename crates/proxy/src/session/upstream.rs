//! The upstream's half: handshake, request, head.

use std::io;

use http1::{Body, HeadLimit, Parsed, ResponseHead};
use records::{SessionEnd, StepEnd};
use rustix::io::Errno;

use super::buffered::Buffered;
use super::gzip::Gzip;
use super::outbox::Outbox;
use super::phase::Happening;
use super::side::{ConnectState, Moved};
use super::{Env, Flow, Session, Stream, gzip};
use crate::policy::{AfterRead, ReadDone};

impl<S: Stream> Session<S> {
    /// Looks whether the handshake is decided.
    pub(super) fn finish_connect(&mut self, env: &impl Env<Stream = S>) -> Flow {
        let Some(upstream) = &mut self.upstream else {
            return Flow::Close(SessionEnd::LocalError);
        };
        if !upstream.ready().writable {
            return Flow::Blocked(StepEnd::UpstreamFull);
        }
        match upstream.stream().connect_state() {
            Ok(ConnectState::Done) => {
                self.log.connected(env);
                self.advance(Happening::Connected)
            }
            Ok(ConnectState::Pending) => {
                upstream.take_for_full();
                Flow::Blocked(StepEnd::UpstreamFull)
            }
            Err(error) => self.refuse_upstream(&error),
        }
    }

    /// Sends what is left of the request.
    pub(super) fn send_request(&mut self) -> Flow {
        let Some(upstream) = &mut self.upstream else {
            return Flow::Close(SessionEnd::LocalError);
        };
        if self.out.is_empty() {
            return self.advance(Happening::RequestSent);
        }
        match upstream.write(self.out.waiting()) {
            Moved::Bytes(sent) => {
                self.moved = true;
                self.out.sent(sent);
                Flow::Continue
            }
            Moved::Blocked => Flow::Blocked(StepEnd::UpstreamFull),
            Moved::End | Moved::Broken => self.refuse(502, SessionEnd::UpstreamClosedEarly),
        }
    }

    /// Reads until the upstream's head is complete, wrong, or nothing more is there.
    pub(super) fn read_head(&mut self, env: &impl Env<Stream = S>) -> Flow {
        let offered = env.limits().buffer.as_usize();
        let had = self.head.len();
        self.head.resize(had + offered, 0);
        let moved = match &mut self.upstream {
            Some(upstream) => upstream.read(self.head.get_mut(had..).unwrap_or_default()),
            None => Moved::Broken,
        };
        self.head.truncate(had + if let Moved::Bytes(got) = moved { got } else { 0 });
        match moved {
            Moved::Bytes(got) => {
                let after = self.judge_read(ReadDone { got, offered }, env);
                let flow = self.parse_head(env);
                // The policy speaks of reads, not of heads: what is read is handed on first.
                if flow == Flow::Continue && !self.phase.is_answered() {
                    return match after {
                        AfterRead::Continue => Flow::Continue,
                        AfterRead::TakeForEmpty(by) => Flow::Blocked(by),
                        AfterRead::Yield => Flow::Yield,
                    };
                }
                flow
            }
            Moved::Blocked => Flow::Blocked(StepEnd::UpstreamEmpty),
            Moved::End | Moved::Broken => self.refuse(502, SessionEnd::UpstreamClosedEarly),
        }
    }

    /// Counts a read from the upstream and asks the policy what it means.
    pub(super) fn judge_read(&mut self, read: ReadDone, env: &impl Env<Stream = S>) -> AfterRead {
        // The whole head has one deadline, each read of the body a new one
        // (`ngx_http_upstream_process_header`, `..._process_non_buffered_request`).
        self.moved |= self.phase.is_answered();
        self.step_bytes += read.got as u64;
        self.step_reads += 1;
        let Some(upstream) = &mut self.upstream else { return AfterRead::Continue };
        let after = self.read_limit.after_read(read, || upstream.stream().unread(), || env.now());
        self.after_read = match after {
            // After the peer's FIN no further event will come: read on to the end
            // (`if (!rev->pending_eof)` in ngx_unix_recv).
            AfterRead::TakeForEmpty(_) if upstream.ready().hung_up => AfterRead::Continue,
            AfterRead::TakeForEmpty(_) => {
                upstream.take_for_empty();
                after
            }
            AfterRead::Continue | AfterRead::Yield => after,
        };
        self.after_read
    }

    fn parse_head(&mut self, env: &impl Env<Stream = S>) -> Flow {
        loop {
            match http1::parse_response(&self.head, HeadLimit::default(), &self.method) {
                Ok(Parsed::Partial) => return Flow::Continue,
                // An interim answer (RFC 9110 15.2): the final one follows.
                Ok(Parsed::Complete { head, len }) if (100..200).contains(&head.status) => {
                    self.head.drain(..len);
                }
                Ok(Parsed::Complete { head, len }) => return self.begin_relay(&head, len, env),
                Err(_) => return self.refuse(502, SessionEnd::UpstreamBadHead),
            }
        }
    }

    fn begin_relay(&mut self, head: &ResponseHead, len: usize, env: &impl Env<Stream = S>) -> Flow {
        let mut body = Body::new(head.body);
        let rest = self.head.get(len..).unwrap_or_default();
        let Ok(of_body) = body.advance(rest) else {
            return self.refuse(502, SessionEnd::UpstreamBadHead);
        };
        let rest = rest.get(..of_body.take).unwrap_or_default();
        let level = self.gzip.filter(|_| gzip::is_fit(head));
        let mut answer = match level {
            Some(_) => head.encode_coded_for_client("gzip"),
            None => head.encode_for_client(),
        };
        self.log.head_complete(env);
        self.log.answer_begins(head.status, answer.len());
        let page = env.limits().buffer.as_usize();
        let buffering = env.limits().buffering.as_ref();
        self.buffered = buffering.map(|how| Buffered::new(page, how, head.body, len, rest));
        let unbuffered = if self.buffered.is_none() { rest } else { &[] };
        self.compressor = level.map(|level| Box::new(Gzip::new(level, unbuffered.to_vec())));
        if self.compressor.is_none() {
            answer.extend_from_slice(unbuffered);
        }
        self.body = body;
        self.out = Outbox::holding(answer);
        self.head = Vec::new();
        self.advance(Happening::HeadComplete)
    }

    /// No upstream connection could be had: whose fault it is stands in the end.
    pub(super) fn refuse_upstream(&mut self, error: &io::Error) -> Flow {
        let no_port = error.raw_os_error() == Some(Errno::ADDRNOTAVAIL.raw_os_error());
        let of_this_host = no_port || net::limit::is_shortage(error);
        let end =
            if of_this_host { SessionEnd::LocalError } else { SessionEnd::UpstreamUnreachable };
        self.refuse(502, end)
    }
}
