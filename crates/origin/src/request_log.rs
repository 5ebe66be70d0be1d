//! What is told of each request: when it was read, and when its answer's head was there to be sent.
//!
//! The event loop hands each record to a thread that prints it, and never waits for it: whoever does
//! not read our output loses records, which are counted, and costs no client any time. Who has closed
//! it does not want them, and is served as before.
//!
//! Invariant: of every request that reached the application there is one record, or it is counted.

use std::io::{self, BufWriter, Write};
use std::iter;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, channel, sync_channel};
use std::thread;
use std::time::Duration;

use net::{clock, role};
use records::{Answered, AnswersLost, MonoNs, Record, Role};

/// Records that may wait to be printed: a second of more requests than one thread answers.
const WAITING: usize = 16 * 1024;

/// For the last records to be read, once we were told to stop, by a reader that may have fallen asleep.
pub(crate) const LAST_WORDS: Duration = Duration::from_millis(500);

/// Where requests are noted down.
#[derive(Clone, Debug)]
pub(crate) struct RequestLog {
    records: SyncSender<Answered>,
    lost: Arc<AtomicU64>,
}

/// A request that has been read. Dropped, it is told of, answered or not.
#[derive(Debug)]
#[must_use]
pub(crate) struct Asked<'a> {
    log: &'a RequestLog,
    told: Answered,
}

impl RequestLog {
    /// An empty log, and a channel that closes when what it took is printed, after the end of its last copy.
    pub(crate) fn open() -> io::Result<(Self, Receiver<()>)> {
        let (records, waiting) = sync_channel(WAITING);
        let (end, printed) = channel();
        let lost = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&lost);
        thread::Builder::new().name(role::thread_name(Role::Origin, "records")).spawn(
            move || {
                // An error: nobody reads on, and what comes is not missed.
                let _ = print(&waiting, &counted, io::stdout());
                drop(end);
            },
        )?;
        Ok((Self { records, lost }, printed))
    }

    /// Notes that the head of a request from `upstream_port` has been read.
    pub(crate) fn asked(&self, upstream_port: u16) -> Asked<'_> {
        let request_ns = clock::now();
        let told = Answered { upstream_port, request_ns, queued_until_ns: None, head_ns: None };
        Asked { log: self, told }
    }

    fn tell(&self, answered: Answered) {
        if let Err(TrySendError::Full(_)) = self.records.try_send(answered) {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Asked<'_> {
    /// All workers are busy: it waits for one.
    pub(crate) fn queued(&mut self) {
        // Nobody knows yet until when.
        self.told.queued_until_ns = Some(MonoNs(u64::MAX));
    }

    /// A worker has taken it, if it waited for one; or had already.
    pub(crate) fn taken(&mut self) {
        let until = self.told.queued_until_ns;
        self.told.queued_until_ns = until.map(|until| until.min(clock::now()));
    }

    /// Its answer's head is there to be sent.
    pub(crate) fn answered(mut self) {
        self.told.head_ns = Some(clock::now());
    }
}

impl Drop for Asked<'_> {
    fn drop(&mut self) {
        self.taken();
        self.log.tell(self.told);
    }
}

/// Prints records as they come, and flushes when there is none for now; at the end how many were
/// `lost`, if any.
fn print(records: &Receiver<Answered>, lost: &AtomicU64, out: impl Write) -> io::Result<()> {
    let mut out = BufWriter::new(out);
    let tell = |record: Record, out: &mut dyn Write| {
        let line = record.to_line().map_err(io::Error::other)?;
        out.write_all(line.as_bytes())
    };
    while let Ok(first) = records.recv() {
        for answered in iter::once(first).chain(records.try_iter()) {
            tell(Record::Answered(answered), &mut out)?;
        }
        out.flush()?;
    }
    match lost.load(Ordering::Relaxed) {
        0 => Ok(()),
        requests => tell(Record::AnswersLost(AnswersLost { requests }), &mut out),
    }?;
    out.flush()
}

#[cfg(test)]
mod tests;
