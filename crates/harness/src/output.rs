//! What goes to the terminal: data to standard output, words for people to standard error.

use std::io::{self, Write};

use net::terminal::printable;

/// Prints data. A reader that has gone away (`| head`) has all it wanted.
///
/// # Errors
/// Standard output cannot be written, but for EPIPE.
pub(crate) fn print(data: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(data).and_then(|()| out.flush()) {
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

/// Says something to people, whatever is quoted in it made fit for a terminal. Nobody may be listening:
/// that changes nothing.
pub(crate) fn say(line: &str) {
    let _ = writeln!(io::stderr(), "{}", printable(line));
}
