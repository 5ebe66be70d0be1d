//! What goes to the terminal: data to standard output, words for people to standard error.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use net::terminal::printable;
use records::run_dir::REPORT;

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

/// Writes the page into the directory of a run or a campaign; returns its path.
pub(crate) fn write_page(dir: &Path, page: &str) -> anyhow::Result<PathBuf> {
    let path = dir.join(REPORT);
    fs::write(&path, page).with_context(|| format!("failed to write {}", path.display()))?;
    Ok(path)
}

/// Says something to people, whatever is quoted in it made fit for a terminal. Nobody may be listening:
/// that changes nothing.
pub(crate) fn say(line: &str) {
    let _ = writeln!(io::stderr(), "{}", printable(line));
}
