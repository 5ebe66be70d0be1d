//! The access log, in the format of the published case and by the clock nginx uses for it.
//!
//! ```text
//! $remote_addr [$time_local] "$request" status=$status body_bytes_sent=$body_bytes_sent
//! rt=$request_time uct="$upstream_connect_time" uht="$upstream_header_time" urt="$upstream_response_time"
//! ```

mod inline;
mod lost;

use std::fmt;
use std::net::IpAddr;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use records::{LogEscaped, LogSeconds, Session};

pub(crate) use self::inline::InlineLog;
pub(crate) use self::lost::LostLines;

/// One line, without its newline.
pub(crate) struct AccessLine<'a> {
    client: IpAddr,
    session: &'a Session,
    zone: &'a TimeZone,
}

impl<'a> AccessLine<'a> {
    /// The line of `session`; `None`: nothing was asked, and nginx logs nothing.
    pub(crate) fn of(client: IpAddr, session: &'a Session, zone: &'a TimeZone) -> Option<Self> {
        (session.status != 0).then_some(Self { client, session, zone })
    }
}

impl fmt::Display for AccessLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Session { request, status, body_bytes, log, .. } = self.session;
        let millis = i64::try_from(log.at_unix_ms).unwrap_or(i64::MAX);
        let at = Timestamp::from_millisecond(millis).unwrap_or(Timestamp::UNIX_EPOCH);
        let at = at.to_zoned(self.zone.clone());
        write!(
            f,
            "{client} [{at}] \"{request}\" status={status} body_bytes_sent={bytes} rt={rt} \
             uct=\"{uct}\" uht=\"{uht}\" urt=\"{urt}\"",
            client = self.client,
            at = at.strftime("%d/%b/%Y:%H:%M:%S %z"),
            request = LogEscaped(request),
            bytes = body_bytes.0,
            rt = LogSeconds(Some(log.rt_ms)),
            uct = LogSeconds(log.uct_ms),
            uht = LogSeconds(log.uht_ms),
            urt = LogSeconds(log.urt_ms),
        )
    }
}

#[cfg(test)]
mod tests;
