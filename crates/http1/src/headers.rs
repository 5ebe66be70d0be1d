//! The header lines of a head.

/// Header lines in the order in which they came. Names compare without regard to case.
///
/// Values are bytes, trimmed, without CR, LF or NUL: only the parsers of this crate make them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Headers(Vec<(String, Vec<u8>)>);

/// What becomes of Transfer-Encoding when hop-by-hop headers are taken out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TransferCoding {
    /// It stays: the body is relayed as it came, with its chunks.
    Keep,
    /// It goes: the body is framed anew.
    Remove,
}

/// RFC 9110 7.6.1; Proxy-Connection is an old mistake that it tells us to remove too.
const HOP_BY_HOP: [&str; 6] =
    ["Connection", "Keep-Alive", "Proxy-Connection", "TE", "Trailer", "Upgrade"];

/// A sender cannot have these removed by naming them in Connection: without them the next hop
/// would see another message than this one.
const NOT_REMOVABLE: [&str; 3] = ["Content-Length", "Host", "Transfer-Encoding"];

impl Headers {
    pub(crate) fn from_parsed(parsed: &[httparse::Header<'_>]) -> Self {
        Self(parsed.iter().map(|line| (line.name.to_owned(), line.value.to_owned())).collect())
    }

    /// Every line, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_slice()))
    }

    /// The first value of `name`.
    pub fn get(&self, name: &str) -> Option<&[u8]> {
        self.iter().find(|(each, _)| each.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    /// Every value of `name`, in order.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a [u8]> {
        self.iter().filter(move |(each, _)| each.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    /// Whether there is a line of that name.
    pub fn contains(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// Number of lines.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is no line.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The lines that may be passed on (RFC 9110 7.6.1): without Connection and what it names,
    /// Keep-Alive, Proxy-Connection, TE, Trailer, Upgrade and, when told so, Transfer-Encoding.
    ///
    /// Content-Length, Host and a kept Transfer-Encoding stay even if Connection names them.
    pub(crate) fn end_to_end(&self, coding: TransferCoding) -> impl Iterator<Item = (&str, &[u8])> {
        let named: Vec<&[u8]> = list_items(self.all("Connection")).collect();
        self.iter().filter(move |(name, _)| {
            let is = |other: &&str| name.eq_ignore_ascii_case(other);
            if HOP_BY_HOP.iter().any(is) {
                return false;
            }
            if NOT_REMOVABLE.iter().any(is) {
                return coding == TransferCoding::Keep || !is(&"Transfer-Encoding");
            }
            !named.iter().any(|option| option.eq_ignore_ascii_case(name.as_bytes()))
        })
    }
}

/// The items of comma-separated lists, trimmed; empty ones are skipped (RFC 9110 5.6.1).
pub(crate) fn list_items<'a>(
    values: impl Iterator<Item = &'a [u8]>,
) -> impl Iterator<Item = &'a [u8]> {
    values
        .flat_map(|value| value.split(|&byte| byte == b','))
        .map(<[u8]>::trim_ascii)
        .filter(|item| !item.is_empty())
}
