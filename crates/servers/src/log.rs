//! A program's access log: read while the program writes it, and written in the published format, which the mirror
//! writes as well, where ours belongs.
//!
//! A line is words (`name=value`, the request line last), or JSON, of which the server's file says what the
//! words are made of. A server's configuration is ours, so that words have the names that are read here:
//!
//! | word | meaning |
//! |---|---|
//! | `client`, `port`, `request` | who asked, and the request line, escaped as the program does |
//! | `status` | below 100: no head was sent |
//! | `pid` or `thread` | who served it, threads counted from 0 |
//! | `body_bytes`, or `out_bytes` and `head_bytes` | what was sent |
//! | `begin_*`, `end_*` | when the request came and was logged, since 1970 |
//! | `took_*`, `total_*` | from the request, and from the connection, to the end |
//! | `connect_*`, `response_*`, `data_*` | the upstream's handshake, its head after that, its body after that |
//! | `head_*`, `upstream_*` | from the dial of the upstream to its head, and to its end |
//! | `end` | how it ended, in the words that the server's file translates |
//!
//! For `*` stands a unit: `s`, `ms` or `us`; several of one name add up. What is negative or no number was
//! not measured.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::mem;
use std::net::IpAddr;
use std::path::Path;
use std::time::Duration;

use jiff::tz::TimeZone;
use net::clock;
use net::log_file::{self, LogLine};
use records::{Bytes, LogSeconds, LogTimes, Session, SessionEnd};
use serde::Deserialize;
use serde_json::Value;

/// What an access log tells of one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) client: IpAddr,
    /// By whom it was served.
    pub(crate) served: Served,
    /// The client's port, the request line as the log has it, the status (499: the client closed before an
    /// answer's head was sent), the end, the bytes and the log's times. All else is not known.
    pub(crate) session: Session,
}

/// What a log tells of the worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Served {
    /// Its process.
    Process(u32),
    /// Its number: that of its thread, counted from 0.
    Worker(u32),
    /// Nothing.
    Unknown,
}

impl Entry {
    /// The number of the worker, if it is known.
    pub(crate) const fn worker(&self) -> Option<u32> {
        match self.served {
            Served::Worker(worker) => Some(worker),
            Served::Process(_) | Served::Unknown => None,
        }
    }
}

/// A server's log, as its file describes it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct LogFormat {
    /// Where it is written: `stdout`, or a file.
    pub(crate) file: String,
    /// What a line has in it that is meant for the log: the rest is chatter. Empty: all lines are.
    #[serde(default)]
    mark: String,
    /// What `out_bytes` counts beyond the body and `head_bytes`.
    #[serde(default)]
    head_extra: u64,
    /// How a request ended, by how the word `end` begins; the longest beginning counts.
    #[serde(default)]
    ends: BTreeMap<String, SessionEnd>,
    /// Of JSON: what the words are made of, as `{request.method} {request.uri}`. Empty: lines are words.
    #[serde(default)]
    json: BTreeMap<String, String>,
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
        if self.json.is_empty() {
            let (words, request) = line.split_once(" request=")?;
            let words = words.split(' ').filter_map(|word| word.split_once('=')).collect();
            return self.entry(&Words(words), request.to_owned(), read_unix_ms);
        }
        let value: Value = serde_json::from_str(line).ok()?;
        let mut made = BTreeMap::new();
        for (word, template) in &self.json {
            made.insert(word.as_str(), from_json(template, &value)?);
        }
        let request = made.remove("request")?;
        let words = made.iter().map(|(word, text)| (*word, text.as_str())).collect();
        self.entry(&Words(words), request, read_unix_ms)
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
        let log = LogTimes {
            at_unix_ms: words.ms("end").or_else(|| Some(begun?.saturating_add(total)))?,
            rt_ms: took,
            uct_ms: connect,
            uht_ms: words.ms("head").or(waited),
            urt_ms: words.ms("upstream").or_else(|| connect.map(relayed)),
        };
        let client_port = words.get("port")?.parse().ok()?;
        let session =
            Session { client_port, request, status, end, body_bytes, log, ..Session::default() };
        Some(Entry { client: words.get("client")?.parse().ok()?, served: words.served(), session })
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
            (Some(status), None | Some(SessionEnd::Completed)) => {
                let is_whole = told.is_some() || is_whole(request, sent);
                let whole = if is_whole { SessionEnd::Completed } else { SessionEnd::ClientClosed };
                (status, refused(status).unwrap_or(whole))
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

/// Units of time, in seconds.
const UNITS: [(&str, f64); 3] = [("s", 1.0), ("ms", 1e-3), ("us", 1e-6)];

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
        let parts = UNITS.iter().filter_map(|(unit, seconds)| {
            let number: f64 = self.get(&format!("{name}_{unit}"))?.parse().ok()?;
            (number >= 0.0).then(|| millis(number * seconds))
        });
        parts.reduce(u64::saturating_add)
    }

    fn served(&self) -> Served {
        let id = |name| self.get(name)?.parse().ok();
        let process = id("pid").map(Served::Process);
        process.or_else(|| id("thread").map(Served::Worker)).unwrap_or(Served::Unknown)
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

/// Whether all of an answer was sent, by the size that its request names: `/bytes/<size>`. Of an answer that
/// was cut no log tells by whom; the clients here give up, the origin does not.
fn is_whole(request: &str, sent: Bytes) -> bool {
    let path = request.split(' ').nth(1).and_then(|path| path.strip_prefix("/bytes/"));
    let size = path.and_then(|size| size.parse::<Bytes>().ok());
    size.is_none_or(|size| sent >= size)
}

/// How a session ended that was answered with a status that says so.
const fn refused(status: u16) -> Option<SessionEnd> {
    Some(match status {
        499 => SessionEnd::ClientClosed,
        408 => SessionEnd::ClientTimeout,
        400 | 405 | 413 | 414 | 417 | 431 | 501 | 505 => SessionEnd::BadRequest,
        502 => SessionEnd::UpstreamUnreachable,
        504 => SessionEnd::UpstreamTimeout,
        500 | 503 => SessionEnd::LocalError,
        _ => return None,
    })
}

/// Seconds, zero or more, as whole milliseconds, rounded; the largest there are where it is more.
fn millis(seconds: f64) -> u64 {
    let millis = Duration::try_from_secs_f64(seconds).map(|time| (time.as_micros() + 500) / 1_000);
    millis.ok().and_then(|millis| u64::try_from(millis).ok()).unwrap_or(u64::MAX)
}

/// How often a file is looked at for new lines, as the mirror's writer looks for records.
pub(crate) const TICK: Duration = Duration::from_millis(20);

/// A program's access log.
#[derive(Debug)]
pub(crate) struct AccessLog {
    format: LogFormat,
    /// The log in the published format.
    published: File,
    zone: TimeZone,
    entries: Vec<Entry>,
    pub(crate) unread: Unread,
    /// What the program writes, if that is a file.
    written: Option<Written>,
}

/// Lines that are the log's and cannot be read: what they would tell is missing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Unread {
    pub(crate) lines: u64,
    /// The first of them.
    pub(crate) first: String,
}

impl AccessLog {
    /// A log that is published at `path`. If the program is about to write it to a file, that is `file`.
    ///
    /// # Errors
    /// A file cannot be opened or made.
    pub(crate) fn new(format: LogFormat, path: &Path, file: &Path) -> io::Result<Self> {
        let written = (!format.is_stdout()).then(|| Written::begin(file)).transpose()?;
        let published = log_file::append(path)?;
        let (zone, unread) = (TimeZone::system(), Unread::default());
        Ok(Self { format, published, zone, entries: Vec::new(), unread, written })
    }

    /// Takes in what the program has written to the file by now, as far as lines are whole; `last`: whatever it
    /// is, since nobody writes it any more.
    ///
    /// # Errors
    /// It cannot be read, or not be published.
    pub(crate) fn read(&mut self, last: Last) -> io::Result<()> {
        while let Some(line) = self.written.as_mut().map_or(Ok(None), |file| file.next(last))? {
            self.line(&line)?;
        }
        Ok(())
    }

    /// Takes in a line that was just written.
    ///
    /// # Errors
    /// It cannot be published.
    pub(crate) fn line(&mut self, line: &str) -> io::Result<()> {
        if let Some(entry) = self.format.read(line, clock::unix_ms()) {
            let Entry { client, session, .. } = &entry;
            let line = LogLine { client: *client, session, zone: &self.zone };
            let (port, at) = (session.client_port, LogSeconds(Some(session.log.at_unix_ms)));
            let text = format!("{line} port={port} msec={at}\n");
            self.entries.push(entry);
            return self.published.write_all(text.as_bytes());
        }
        if self.format.is_logged(line) {
            if self.unread.lines == 0 {
                line.clone_into(&mut self.unread.first);
            }
            self.unread.lines += 1;
        }
        Ok(())
    }

    /// What it told so far, but for one request from each of these ports: those were ours.
    pub(crate) fn take_entries(&mut self, mut probes: Vec<u16>) -> Vec<Entry> {
        let mut entries = mem::take(&mut self.entries);
        entries.retain(|entry| {
            let probe = probes.iter().position(|port| *port == entry.session.client_port);
            probe.map(|probe| probes.swap_remove(probe)).is_none()
        });
        entries
    }
}

/// Whether a program may write more of its log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Last {
    Yes,
    No,
}

/// A log that is a file, read while it is written.
#[derive(Debug)]
struct Written {
    file: BufReader<File>,
    /// What is there of a line that is not whole.
    torn: Vec<u8>,
}

impl Written {
    fn begin(path: &Path) -> io::Result<Self> {
        File::create(path)?;
        Ok(Self { file: BufReader::new(File::open(path)?), torn: Vec::new() })
    }

    /// The next line, if it is there.
    fn next(&mut self, last: Last) -> io::Result<Option<String>> {
        self.file.read_until(b'\n', &mut self.torn)?;
        let is_line = self.torn.ends_with(b"\n") || last == Last::Yes && !self.torn.is_empty();
        let line = is_line.then(|| mem::take(&mut self.torn));
        Ok(line.map(|line| String::from_utf8_lossy(&line).trim_end_matches('\n').to_owned()))
    }
}

#[cfg(test)]
mod tests;
