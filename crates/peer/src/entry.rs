//! A line of an access log, whoever wrote it.

use std::collections::BTreeMap;
use std::net::IpAddr;

use jiff::fmt::strtime;
use records::{Bytes, LogTimes, SessionEnd};

/// A line as it was read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Read<'a> {
    /// Without its newline.
    pub(crate) text: &'a str,
    /// When it was read: milliseconds since 1970.
    pub(crate) read_unix_ms: u64,
}

/// What an access log tells of one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) client: IpAddr,
    pub(crate) client_port: u16,
    /// By whom it was served.
    pub(crate) served: Served,
    /// The request line, as it came.
    pub(crate) request: String,
    /// 499: the client closed before an answer's head was sent.
    pub(crate) status: u16,
    pub(crate) end: SessionEnd,
    pub(crate) body_bytes: Bytes,
    pub(crate) times: LogTimes,
}

/// What a log tells of the worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Served {
    /// Its process.
    Process(u32),
    /// Its thread, counted from 0.
    Thread(u32),
    /// Nothing.
    Unknown,
}

/// Whether all of an answer was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Completion {
    Whole,
    Cut,
}

impl Completion {
    /// Judged by the size that the request names: `/bytes/<size>`.
    pub(crate) fn of(request: &str, sent: Bytes) -> Self {
        let size = request
            .split(' ')
            .nth(1)
            .and_then(|path| path.strip_prefix("/bytes/"))
            .and_then(|size| size.parse::<Bytes>().ok());
        match size {
            Some(size) if sent < size => Self::Cut,
            _ => Self::Whole,
        }
    }
}

/// How a session ended that was answered with `status`. Of an answer that was cut no log tells by
/// whom; the clients here give up, the origin does not.
pub(crate) const fn ended(status: u16, completion: Completion) -> SessionEnd {
    match (status, completion) {
        (499, _) => SessionEnd::ClientClosed,
        (408, _) => SessionEnd::ClientTimeout,
        (400 | 405 | 413 | 414 | 417 | 431 | 501 | 505, _) => SessionEnd::BadRequest,
        (502, _) => SessionEnd::UpstreamUnreachable,
        (504, _) => SessionEnd::UpstreamTimeout,
        (500 | 503, _) => SessionEnd::LocalError,
        (_, Completion::Whole) => SessionEnd::Completed,
        (_, Completion::Cut) => SessionEnd::ClientClosed,
    }
}

/// `name=value` words.
pub(crate) fn fields(text: &str) -> BTreeMap<&str, &str> {
    text.split(' ').filter_map(|word| word.split_once('=')).collect()
}

/// Seconds as whole milliseconds, rounded; what is negative or no number is none.
pub(crate) fn millis(seconds: f64) -> u64 {
    std::time::Duration::try_from_secs_f64(seconds)
        .map_or(0, |time| u64::try_from((time.as_micros() + 500) / 1_000).unwrap_or(u64::MAX))
}

/// `\xHH` as the byte that it stands for, `\"` and `\\` as the character.
pub(crate) fn unescape(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        match (byte, after) {
            (b'\\', [b'x', high, low, after @ ..]) if hex(*high, *low).is_some() => {
                bytes.extend(hex(*high, *low));
                rest = after;
            }
            (b'\\', [quoted @ (b'"' | b'\\'), after @ ..]) => {
                bytes.push(*quoted);
                rest = after;
            }
            _ => bytes.push(byte),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn hex(high: u8, low: u8) -> Option<u8> {
    let digit = |c: u8| char::from(c).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    Some(digit(high)? * 16 + digit(low)?)
}

/// A line of the published format, with the fields that follow it in nginx's and the mirror's logs:
///
/// ```text
/// 127.0.0.1 [21/Nov/2026:06:55:29 +0000] "GET /bytes/1 HTTP/1.1" status=200 body_bytes_sent=1
/// rt=0.000 uct="0.000" uht="0.000" urt="0.000" pid=7 port=4000 conn=1 msec=1795244129.132 done=OK
/// ```
pub(crate) fn published(line: Read<'_>) -> Option<Entry> {
    let (client, rest) = line.text.split_once(" [")?;
    let (local, rest) = rest.split_once("] \"")?;
    // No quote stands inside: nginx escapes it.
    let (request, rest) = rest.split_once("\" ")?;
    // Times of several upstreams stand within the quotes, divided by `, `.
    let rest = rest.replace(", ", ",").replace(" : ", ",").replace('"', "");
    let fields = fields(&rest);
    let number = |name: &str| fields.get(name)?.parse::<u64>().ok();
    let seconds = |name: &str| fields.get(name)?.parse().ok().map(millis);
    let upstream = |name: &str| last_time(fields.get(name)?);
    let request = unescape(request);
    let status: u16 = fields.get("status")?.parse().ok()?;
    let body_bytes = Bytes(number("body_bytes_sent")?);
    let completion = match fields.get("done") {
        Some(&"OK") => Completion::Whole,
        Some(_) => Completion::Cut,
        None => Completion::of(&request, body_bytes),
    };
    Some(Entry {
        client: client.parse().ok()?,
        client_port: fields.get("port")?.parse().ok()?,
        served: number("pid")
            .and_then(|pid| u32::try_from(pid).ok())
            .map_or(Served::Unknown, Served::Process),
        request,
        status,
        end: ended(status, completion),
        body_bytes,
        times: LogTimes {
            at_unix_ms: seconds("msec").or_else(|| local_time(local))?,
            rt_ms: seconds("rt")?,
            uct_ms: upstream("uct"),
            uht_ms: upstream("uht"),
            urt_ms: upstream("urt"),
        },
    })
}

/// The last of several tries; `-`: none.
fn last_time(text: &str) -> Option<u64> {
    text.rsplit(',').next()?.parse().ok().map(millis)
}

/// `$time_local`.
fn local_time(text: &str) -> Option<u64> {
    let at = strtime::parse("%d/%b/%Y:%H:%M:%S %z", text).ok()?.to_timestamp().ok()?;
    u64::try_from(at.as_millisecond()).ok()
}

#[cfg(test)]
mod tests;
