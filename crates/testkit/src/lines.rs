//! What a process writes into a pipe, read as it comes: it never waits for us.

use std::io::{BufRead, BufReader, Read};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Instant;
use std::{iter, mem, thread};

use crate::wait::left;

/// The lines of a stream, of which each is taken once.
#[derive(Debug)]
pub(crate) struct Lines(Receiver<Vec<u8>>);

impl Lines {
    /// Reads `stream` on a thread of its own until its end.
    pub(crate) fn of(stream: impl Read + Send + 'static) -> Self {
        let (tell, lines) = channel();
        thread::spawn(move || {
            let mut stream = BufReader::new(stream);
            let mut line = Vec::new();
            while stream.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
                if tell.send(mem::take(&mut line)).is_err() {
                    break;
                }
            }
        });
        Self(lines)
    }

    /// The next line with its end, which only the last one may lack, where `what` is waited for;
    /// `None`: there is no more.
    #[track_caller]
    pub(crate) fn next(&self, deadline: Instant, what: &str) -> Option<String> {
        match self.0.recv_timeout(left(deadline)) {
            Ok(line) => Some(String::from_utf8(line).expect("processes write UTF-8")),
            Err(RecvTimeoutError::Disconnected) => None,
            Err(RecvTimeoutError::Timeout) => panic!("waited in vain for {what}"),
        }
    }

    /// What comes until then, as far as it is text: for who must not fail any more.
    pub(crate) fn last_words(&self, deadline: Instant) -> String {
        let lines = iter::from_fn(|| self.0.recv_timeout(left(deadline)).ok());
        String::from_utf8_lossy(&lines.flatten().collect::<Vec<u8>>()).into_owned()
    }
}
