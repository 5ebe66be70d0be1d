//! Fields of an access log as nginx prints them, whoever writes the line.

use std::fmt;

/// Milliseconds as nginx prints them, in seconds: `1.004`; `None`: `-`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogSeconds(pub Option<u64>);

impl fmt::Display for LogSeconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(ms) => write!(f, "{}.{:03}", ms / 1_000, ms % 1_000),
            None => f.write_str("-"),
        }
    }
}

/// Quotes, backslashes and what is not printable ASCII as `\xHH` (`ngx_http_log_escape`), so that no
/// client can forge a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogEscaped<'a>(pub &'a str);

impl fmt::Display for LogEscaped<'_> {
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
