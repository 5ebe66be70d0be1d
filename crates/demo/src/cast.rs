//! What was on the screen, as asciinema plays it: asciicast version 2.
//!
//! The first line is an object, every other line an array: seconds since the start, `o` for output
//! or `r` for a new size, and the data. <https://docs.asciinema.org/manual/asciicast/v2/>

use std::io::{self, Write};
use std::time::Duration;

use serde_json::json;

/// A file that is being written.
#[derive(Debug)]
pub struct Cast<W> {
    out: W,
    /// The beginning of a letter whose rest has not been written yet.
    torn: Vec<u8>,
}

impl<W: Write> Cast<W> {
    /// Begins a file for a screen of this size; `unix_secs` is the time of day.
    ///
    /// # Errors
    /// As `write(2)`.
    pub fn begin(
        mut out: W,
        (width, height): (u16, u16),
        unix_secs: u64,
        term: &str,
    ) -> io::Result<Self> {
        let header = json!({
            "version": 2,
            "width": width,
            "height": height,
            "timestamp": unix_secs,
            "title": "turnstile demo",
            "env": { "TERM": term },
        });
        writeln!(out, "{header}")?;
        Ok(Self { out, torn: Vec::new() })
    }

    /// These bytes went to the screen.
    ///
    /// # Errors
    /// As `write(2)`.
    pub fn output(&mut self, at: Duration, bytes: &[u8]) -> io::Result<()> {
        self.torn.extend_from_slice(bytes);
        let whole = whole_letters(&self.torn);
        let rest = self.torn.split_off(whole);
        let bytes = std::mem::replace(&mut self.torn, rest);
        if bytes.is_empty() {
            return Ok(());
        }
        self.event(at, "o", &String::from_utf8_lossy(&bytes))
    }

    /// The screen has another size now.
    ///
    /// # Errors
    /// As `write(2)`.
    pub fn resized(&mut self, at: Duration, (width, height): (u16, u16)) -> io::Result<()> {
        self.event(at, "r", &format!("{width}x{height}"))
    }

    /// Hands all of it to the kernel.
    ///
    /// # Errors
    /// As `write(2)`.
    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    fn event(&mut self, at: Duration, code: &str, data: &str) -> io::Result<()> {
        // Whole microseconds: a float of seconds has digits that mean nothing.
        let (secs, micros) = (at.as_secs(), at.subsec_micros());
        writeln!(self.out, "[{secs}.{micros:06}, {}, {}]", json!(code), json!(data))
    }
}

/// How many of `bytes` come before a letter that is torn at the end.
fn whole_letters(bytes: &[u8]) -> usize {
    match std::str::from_utf8(bytes) {
        Ok(_) => bytes.len(),
        Err(error) if error.error_len().is_none() => error.valid_up_to(),
        // Bytes that are no letter: shown as such.
        Err(_) => bytes.len(),
    }
}

#[cfg(test)]
mod tests;
