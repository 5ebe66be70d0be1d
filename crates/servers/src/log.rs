//! What an access log tells of one request, whoever wrote it, and how its lines are read.
//!
//! A log is in the published format (nginx's and the mirror's), in words (`name=value`, the request line
//! last), or in JSON. A server's configuration is ours, so that words have the names that are read here:
//!
//! | word | meaning |
//! |---|---|
//! | `client`, `port`, `request` | who asked, and the request line |
//! | `status` | below 100: no head was sent |
//! | `pid` or `thread` | who served it, threads counted from 0 |
//! | `body_bytes`, or `out_bytes` and `head_bytes` | what was sent |
//! | `begin_*`, `end_*` | when the request came and was logged, since 1970 |
//! | `took_*`, `total_*` | from the request, and from the connection, to the end |
//! | `connect_*`, `response_*`, `data_*` | the upstream's handshake, its head after that, its body after that |
//! | `head_*` | from the request to the upstream's head |
//! | `end` | how it ended, in the words that the server's file translates |
//!
//! For `*` stands a unit: `s`, `ms` or `us`; several of one name add up. What is negative or no number was
//! not measured.

use std::collections::BTreeMap;
use std::net::IpAddr;

use jiff::fmt::strtime;
use records::{Bytes, LogTimes, SessionEnd};
use serde::Deserialize;
use serde_json::Value;

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

/// A server's log, as its file describes it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct LogFormat {
    /// Where it is written: `stdout`, or a file; `{access-log}`: where ours belongs.
    pub(crate) file: String,
    format: Format,
    /// What a line has in it that is meant for the log: the rest is chatter. Empty: all lines are.
    #[serde(default)]
    mark: String,
    /// What `out_bytes` counts beyond the body and `head_bytes`.
    #[serde(default)]
    head_extra: u64,
    /// How a request ended, by how the word `end` begins; the longest beginning counts.
    #[serde(default)]
    ends: BTreeMap<String, SessionEnd>,
    /// Of JSON: what the words are made of, as `{request.method} {request.uri}`.
    #[serde(default)]
    json: BTreeMap<String, String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Format {
    Published,
    Words,
    Json,
}

/// Whether all of an answer was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Completion {
    Whole,
    Cut,
}

impl LogFormat {
    /// Whether it is a program's standard output.
    pub(crate) fn is_stdout(&self) -> bool {
        self.file == "stdout"
    }

    /// Whether a line is meant for the log, readable or not.
    pub(crate) fn is_logged(&self, line: &str) -> bool {
        !line.trim().is_empty() && line.contains(&self.mark)
    }

    /// A line, without its newline, that was read at that time, in milliseconds since 1970; `None`: it is
    /// none of the log's, or cannot be read.
    pub(crate) fn read(&self, line: &str, read_unix_ms: u64) -> Option<Entry> {
        match self.format {
            Format::Published => published(line),
            Format::Words => {
                let (words, request) = line.split_once(" request=")?;
                let words =
                    Words(words.split(' ').filter_map(|word| word.split_once('=')).collect());
                self.entry(&words, unescape(request), read_unix_ms)
            }
            Format::Json => {
                let value: Value = serde_json::from_str(line).ok()?;
                let mut made = BTreeMap::new();
                for (word, template) in &self.json {
                    made.insert(word.as_str(), from_json(template, &value)?);
                }
                let request = made.remove("request")?;
                let words = made.iter().map(|(word, text)| (*word, text.as_str())).collect();
                self.entry(&Words(words), request, read_unix_ms)
            }
        }
    }

    fn entry(&self, words: &Words<'_>, request: String, read_unix_ms: u64) -> Option<Entry> {
        let begun = words.ms("begin");
        // One that was cut may not be told: it took until now.
        let took = words.ms("took").or_else(|| Some(read_unix_ms.saturating_sub(begun?)))?;
        let total = words.ms("total").unwrap_or(took);
        let (connect, response) = (words.ms("connect"), words.ms("response"));
        let waited = connect.zip(response).map(|(connect, head)| connect.saturating_add(head));
        let parts = [response, words.ms("data")];
        let relayed = |connect| parts.into_iter().flatten().fold(connect, u64::saturating_add);
        let body_bytes = Bytes(words.number("body_bytes").unwrap_or_else(|| {
            let head = words.number("head_bytes").map(|head| head.saturating_add(self.head_extra));
            head.map_or(0, |head| words.number("out_bytes").unwrap_or(0).saturating_sub(head))
        }));
        let told: i64 = words.get("status")?.parse().ok()?;
        let answered = u16::try_from(told).ok().filter(|&status| status >= 100);
        let (status, end) = self.end(words, answered, &request, body_bytes);
        Some(Entry {
            client: words.get("client")?.parse().ok()?,
            client_port: words.get("port")?.parse().ok()?,
            served: words.served(),
            request,
            status,
            end,
            body_bytes,
            times: LogTimes {
                at_unix_ms: words.ms("end").or_else(|| Some(begun?.saturating_add(total)))?,
                rt_ms: took,
                uct_ms: connect,
                uht_ms: words.ms("head").or(waited),
                urt_ms: connect.map(relayed),
            },
        })
    }

    /// Status and end of a request, by what the log says of the end; else by the status alone.
    fn end(
        &self,
        words: &Words<'_>,
        answered: Option<u16>,
        request: &str,
        sent: Bytes,
    ) -> (u16, SessionEnd) {
        let told = words.get("end").and_then(|word| {
            let begins = self.ends.iter().filter(|(begin, _)| word.starts_with(begin.as_str()));
            begins.max_by_key(|(begin, _)| begin.len()).map(|(_, end)| *end)
        });
        let never_connected = words.has("connect") && words.ms("connect").is_none();
        match (answered, told) {
            (Some(status), None) => (status, ended(status, Completion::of(request, sent))),
            (Some(status), Some(SessionEnd::Completed)) => {
                (status, ended(status, Completion::Whole))
            }
            (Some(status), Some(end)) => (status, end),
            (None, Some(end @ SessionEnd::ClientClosed)) if never_connected => (400, end),
            (None, None | Some(SessionEnd::ClientClosed)) => (499, SessionEnd::ClientClosed),
            (None, Some(end)) => (502, end),
        }
    }
}

/// `name=value` words.
struct Words<'a>(BTreeMap<&'a str, &'a str>);

/// Units of time, and how many of them a microsecond counts.
const UNITS: [(&str, u64); 3] = [("s", 1_000_000), ("ms", 1_000), ("us", 1)];

impl<'a> Words<'a> {
    fn get(&self, name: &str) -> Option<&'a str> {
        self.0.get(name).copied()
    }

    fn number(&self, name: &str) -> Option<u64> {
        self.get(name)?.parse().ok()
    }

    /// Whether there is a time of that name, measured or not.
    fn has(&self, name: &str) -> bool {
        UNITS.iter().any(|(unit, _)| self.get(&format!("{name}_{unit}")).is_some())
    }

    /// A time in milliseconds, in all the units in which it is given.
    fn ms(&self, name: &str) -> Option<u64> {
        let parts = UNITS.iter().filter_map(|(unit, us)| {
            let text = self.get(&format!("{name}_{unit}"))?;
            match text.parse::<u64>() {
                // Whole numbers stay exact, however large.
                Ok(whole) if *us >= 1_000 => Some(whole.saturating_mul(us / 1_000)),
                Ok(whole) => Some(whole * us / 1_000),
                Err(_) => {
                    let number: f64 = text.parse().ok().filter(|number| *number >= 0.0)?;
                    Some(millis(number * *us as f64 / 1e6))
                }
            }
        });
        parts.reduce(u64::saturating_add)
    }

    fn served(&self) -> Served {
        let id = |name| self.get(name)?.parse().ok();
        let process = id("pid").map(Served::Process);
        process.or_else(|| id("thread").map(Served::Thread)).unwrap_or(Served::Unknown)
    }
}

/// A word made of what a JSON object has at some paths; `None`: it does not have one of them.
fn from_json(template: &str, value: &Value) -> Option<String> {
    let mut made = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        let (path, after) = after.split_once('}')?;
        made.push_str(before);
        match path.split('.').try_fold(value, |value, key| value.get(key))? {
            Value::String(text) => made.push_str(text),
            other => made.push_str(&other.to_string()),
        }
        rest = after;
    }
    Some(made + rest)
}

impl Completion {
    /// Judged by the size that the request names: `/bytes/<size>`.
    fn of(request: &str, sent: Bytes) -> Self {
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
const fn ended(status: u16, completion: Completion) -> SessionEnd {
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

/// Seconds as whole milliseconds, rounded; what is negative or no number is none.
fn millis(seconds: f64) -> u64 {
    std::time::Duration::try_from_secs_f64(seconds)
        .map_or(0, |time| u64::try_from((time.as_micros() + 500) / 1_000).unwrap_or(u64::MAX))
}

/// `\xHH` as the byte that it stands for, `\"` and `\\` as the character.
fn unescape(text: &str) -> String {
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
fn published(line: &str) -> Option<Entry> {
    let (client, rest) = line.split_once(" [")?;
    let (local, rest) = rest.split_once("] \"")?;
    // No quote stands inside: nginx escapes it.
    let (request, rest) = rest.split_once("\" ")?;
    // Times of several upstreams stand within the quotes, divided by `, `.
    let rest = rest.replace(", ", ",").replace(" : ", ",").replace('"', "");
    let words = Words(rest.split(' ').filter_map(|word| word.split_once('=')).collect());
    let seconds = |name: &str| words.get(name)?.parse().ok().map(millis);
    let upstream = |name: &str| last_time(words.get(name)?);
    let request = unescape(request);
    let status: u16 = words.get("status")?.parse().ok()?;
    let body_bytes = Bytes(words.number("body_bytes_sent")?);
    let completion = match words.get("done") {
        Some("OK") => Completion::Whole,
        Some(_) => Completion::Cut,
        None => Completion::of(&request, body_bytes),
    };
    Some(Entry {
        client: client.parse().ok()?,
        client_port: words.get("port")?.parse().ok()?,
        served: words.served(),
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
