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
use records::Session;

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
            request = Escaped(request),
            bytes = body_bytes.0,
            rt = Seconds(Some(log.rt_ms)),
            uct = Seconds(log.uct_ms),
            uht = Seconds(log.uht_ms),
            urt = Seconds(log.urt_ms),
        )
    }
}

/// Milliseconds as nginx prints them: `1.004`, or `-`.
struct Seconds(Option<u64>);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(ms) => write!(f, "{}.{:03}", ms / 1_000, ms % 1_000),
            None => f.write_str("-"),
        }
    }
}

/// Quotes, backslashes and what is not printable ASCII as `\xHH` (`ngx_http_log_escape`), so that
/// no client can forge a line.
struct Escaped<'a>(&'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for byte in self.0.bytes() {
            match byte {
                b'"' | b'\\' | 0..=0x1f | 0x7f.. => write!(f, "\\x{byte:02X}")?,
                printable => write!(f, "{}", char::from(printable))?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
