//! What a client asks for: an object of our origin, or what its user says.

use std::borrow::Cow;
use std::fmt::{self, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::str::FromStr;

use super::as_text;
use crate::{Bytes, ParseUnitError};

/// A path to be asked for, and perhaps the method. Written `/health`, or `PUT /upload`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestLine {
    /// Absent: GET, or POST where there is a body.
    method: Option<String>,
    path: String,
}

impl RequestLine {
    /// What GET is asked for without a body; `None`: it is another request.
    pub fn plain_path(&self) -> Option<&str> {
        let is_get = self.method.as_ref().is_none_or(|method| method == "GET");
        is_get.then_some(self.path.as_str())
    }
}

impl fmt::Display for RequestLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.method {
            Some(method) => f.pad(&format!("{method} {}", self.path)),
            None => f.pad(&self.path),
        }
    }
}

/// RFC 9112, 3: a method, and a target in origin form.
impl FromStr for RequestLine {
    type Err = ParseUnitError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (method, path) = match text.split_once(' ') {
            Some((method, path)) => (Some(method), path),
            None => (None, text),
        };
        let is_method = |word: &str| {
            !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'-')
        };
        let is_path = path.starts_with('/') && path.bytes().all(|byte| byte.is_ascii_graphic());
        if is_path && method.is_none_or(is_method) {
            Ok(Self { method: method.map(str::to_owned), path: path.to_owned() })
        } else {
            Err(ParseUnitError::new(text, "a path", "/health, /export?rows=5 or PUT /upload"))
        }
    }
}

/// A header of a request. Written `Name: value`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    name: String,
    value: String,
}

impl fmt::Display for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}: {}", self.name, self.value))
    }
}

/// RFC 9110, 5: a token, and a value without line breaks. What says where the body ends is ours to say.
impl FromStr for Header {
    type Err = ParseUnitError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const OURS: [&str; 3] = ["connection", "content-length", "transfer-encoding"];
        let header = text.split_once(':').map(|(name, value)| (name, value.trim()));
        let is_token =
            |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        let is_header = |&(name, value): &(&str, &str)| {
            !name.is_empty()
                && name.bytes().all(is_token)
                && !OURS.contains(&name.to_ascii_lowercase().as_str())
                && !value.chars().any(char::is_control)
        };
        let forms = "'Name: value', and not Connection, Content-Length or Transfer-Encoding";
        let wrong = || ParseUnitError::new(text, "a header", forms);
        let (name, value) = header.filter(is_header).ok_or_else(wrong)?;
        Ok(Self { name: name.to_owned(), value: value.to_owned() })
    }
}

as_text!(RequestLine, Header);

/// `GET /export?rows=5`, as people say it.
impl fmt::Display for Asking<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{} {}", self.method(), self.path()))
    }
}

/// What is to become of a connection after the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Connection {
    /// It ends.
    Close,
    /// It may have another request.
    KeepAlive,
}

/// All that a client's options say of its requests.
#[derive(Clone, Copy, Debug)]
pub struct Asking<'a> {
    /// Absent: an object of `size` at our origin, or at a proxy before it.
    pub line: Option<&'a RequestLine>,
    /// How long that object is.
    pub size: Bytes,
    /// Headers beside our own; the first `Host` and `Accept` among them stand in the place of ours.
    pub headers: &'a [Header],
    /// Where the body is that is sent.
    pub body: Option<&'a Path>,
}

impl Asking<'_> {
    /// The method.
    pub fn method(&self) -> &str {
        let named = self.line.and_then(|line| line.method.as_deref());
        named.unwrap_or(if self.body.is_some() { "POST" } else { "GET" })
    }

    fn path(&self) -> Cow<'_, str> {
        match self.line {
            Some(line) => line.path.as_str().into(),
            None => format!("/bytes/{}", self.size.exact()).into(),
        }
    }

    /// Whether one of the headers has this name.
    fn names(&self, name: &str) -> bool {
        self.headers.iter().any(|header| header.name.eq_ignore_ascii_case(name))
    }

    /// How long the body of a good answer is; `None`: as long as it is, as of one that may be compressed
    /// (RFC 9110, 12.5.3).
    pub fn answer_size(&self) -> Option<Bytes> {
        (self.line.is_none() && !self.names("accept-encoding")).then_some(self.size)
    }

    /// The head of a request to `host` with a body of that length.
    pub fn head(&self, host: SocketAddr, body: Option<Bytes>, after: Connection) -> String {
        let mut head = format!("{self} HTTP/1.1\r\n");
        let mut add = |name: &str, value: &dyn fmt::Display| {
            let _ = write!(head, "{name}: {value}\r\n");
        };
        if !self.names("host") {
            add("Host", &host);
        }
        if !self.names("accept") {
            add("Accept", &"*/*");
        }
        for Header { name, value } in self.headers {
            add(name, value);
        }
        if let Some(length) = body {
            add("Content-Length", &length.0);
        }
        if after == Connection::Close {
            add("Connection", &"close");
        }
        head + "\r\n"
    }
}
