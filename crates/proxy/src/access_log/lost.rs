//! Lines of the access log that could not be written: told once, then counted.

use std::io;
use std::path::PathBuf;

/// The lines that workers lost.
#[derive(Debug)]
pub(crate) struct LostLines {
    log: PathBuf,
    count: u64,
}

impl LostLines {
    /// None of `log` is lost yet.
    pub(crate) fn of(log: PathBuf) -> Self {
        Self { log, count: 0 }
    }

    /// One more is lost, for this reason. What to say of it, if it is the first.
    pub(crate) fn add(&mut self, reason: &io::Error) -> Option<String> {
        self.count += 1;
        (self.count == 1).then(|| {
            let advice = match reason.kind() {
                io::ErrorKind::StorageFull
                | io::ErrorKind::QuotaExceeded
                | io::ErrorKind::WriteZero => "make room there",
                io::ErrorKind::BrokenPipe => "start its reader again",
                _ => "look at that file",
            };
            format!(
                "failed to write the access log {}: {reason}; {advice}, or name another file with \
                 --access-log. Lines that cannot be written are lost",
                self.log.display()
            )
        })
    }

    /// What to say at the end, if any were lost.
    pub(crate) fn total(&self) -> Option<String> {
        let (log, lines) = (self.log.display(), if self.count == 1 { "line" } else { "lines" });
        (self.count > 0).then(|| format!("lost {} {lines} of the access log {log}", self.count))
    }
}
