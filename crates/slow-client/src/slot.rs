//! One of the parallel downloads, for as long as the client runs: its connections follow each other.

use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::time::Duration;

use net::tcp::{self, Buffers, Dial};
use records::{Bytes, BytesPerSec, Dialed, Download, DownloadEnd, MonoNs};
use socket2::Socket;

use crate::conn::Conn;

/// How long a finished connection waits for the peer's close before we close first.
const LINGER: Duration = Duration::from_millis(200);

/// The wait after the first attempt without a byte of the body asked for, and the longest one.
const BACKOFF: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(1));

/// How often, and after which wait, the same port is tried again before another one is taken. A
/// connection that both sides have closed is gone at once, or as soon as this host has time for it.
const PORT_RETRIES: (u32, Duration) = (5, Duration::from_millis(10));

/// One of the parallel downloads.
pub(crate) struct Slot {
    index: u32,
    ordinal: u32,
    pub(crate) conn: Option<Conn>,
    /// The address to dial from: that of the last connection, so that the kernel's reuseport hash
    /// gives us to the same listener.
    from: Option<SocketAddr>,
    backoff: Duration,
    /// When it may dial again.
    pub(crate) dial_ns: MonoNs,
    /// Dials from the same port that failed in a row.
    port_failures: u32,
    /// Body bytes of ended connections that no interval has told.
    untold: u64,
}

/// From which port to dial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Port {
    /// The same as before.
    Same,
    /// Another one.
    New,
}

/// What came of a dial.
#[derive(Debug)]
pub(crate) enum Dialling<'a> {
    /// The handshake is under way; the socket is to be watched.
    Started(&'a Socket),
    /// Its port is not free yet: once more at [`Slot::dial_ns`].
    Later,
    /// This host or the target refused at once, with these words: once more at [`Slot::dial_ns`].
    Failed(Download, io::Error),
}

impl Slot {
    pub(crate) fn new(index: u32) -> Self {
        Self {
            index,
            ordinal: 0,
            conn: None,
            from: None,
            backoff: BACKOFF.0,
            dial_ns: MonoNs(0),
            port_failures: 0,
            untold: 0,
        }
    }

    /// Whether its connection is from that port and still at work.
    pub(crate) fn runs_from(&self, port: u16) -> bool {
        let at_work = self.conn.as_ref().filter(|conn| !conn.has_ended());
        at_work.and_then(|conn| conn.local).is_some_and(|local| local.port() == port)
    }

    /// Starts the next connection, from the same port as before if that can be.
    pub(crate) fn dial(
        &mut self,
        addr: SocketAddr,
        rate: Option<BytesPerSec>,
        now: MonoNs,
    ) -> Dialling<'_> {
        let dial = |from| Dial { addr, from, buffers: Buffers::default() }.start();
        let socket = match dial(self.from) {
            // The port is in TIME_WAIT, still fading, or taken.
            Err(error)
                if self.from.is_some()
                    && matches!(
                        error.kind(),
                        ErrorKind::AddrInUse | ErrorKind::AddrNotAvailable
                    ) =>
            {
                self.port_failures += 1;
                if self.port_failures <= PORT_RETRIES.0 {
                    self.dial_ns = now + PORT_RETRIES.1;
                    return Dialling::Later;
                }
                dial(None)
            }
            other => other,
        };
        self.port_failures = 0;
        let socket = match socket {
            Ok(socket) => socket,
            Err(error) => return Dialling::Failed(self.undialled(end_of(&error), now), error),
        };
        let conn = Conn::new(socket, rate, now);
        self.from = conn.local;
        Dialling::Started(&self.conn.insert(conn).socket)
    }

    /// The record of a handshake that is complete; `None` if there is no port to tell.
    pub(crate) fn dialed(&self, now: MonoNs) -> Option<Dialed> {
        let client_port = self.conn.as_ref()?.local?.port();
        Some(Dialed { slot: self.index, client_port, at_ns: now })
    }

    /// Ends the download of the present connection and tells it. The connection is kept when the
    /// peer should close first.
    pub(crate) fn end(&mut self, end: DownloadEnd, port: Port, now: MonoNs) -> Option<Download> {
        let conn = self.conn.as_mut()?;
        self.untold += conn.take_untold();
        let download = self.told(end, now);
        let lingers = matches!(end, DownloadEnd::Completed | DownloadEnd::BadStatus);
        match self.conn.as_mut().filter(|_| lingers) {
            Some(conn) => conn.linger(now + LINGER),
            None => self.conn = None,
        }
        if port == Port::New {
            self.from = None;
        }
        // What was no answer to the request is no progress, whatever came with it.
        let moved = download.bytes > Bytes(0) && end != DownloadEnd::BadStatus;
        self.wait_unless(moved || end == DownloadEnd::Replaced, now);
        Some(download)
    }

    /// Tells a dial that did not even start.
    fn undialled(&mut self, end: DownloadEnd, now: MonoNs) -> Download {
        self.wait_unless(false, now);
        self.told(end, now)
    }

    /// The record of the download that ends.
    fn told(&mut self, end: DownloadEnd, now: MonoNs) -> Download {
        let conn = self.conn.as_ref();
        let begun = conn.filter(|_| end != DownloadEnd::Refused);
        let start_ns = begun.map_or(now, Conn::start_ns);
        let first_byte_ns = conn.and_then(|conn| conn.first_byte_ns);
        let ordinal = self.ordinal;
        self.ordinal = ordinal.saturating_add(1);
        Download {
            slot: self.index,
            ordinal,
            client_port: conn.and_then(|conn| conn.local).map(|local| local.port()),
            start_ns,
            first_byte_us: first_byte_ns.map(|first| first.micros_since(start_ns)),
            total_us: now.micros_since(start_ns),
            bytes: Bytes(conn.map_or(0, |conn| conn.bytes)),
            end,
        }
    }

    /// Body bytes since this was last asked.
    pub(crate) fn take_untold(&mut self) -> Bytes {
        let present = self.conn.as_mut().map_or(0, Conn::take_untold);
        Bytes(std::mem::take(&mut self.untold) + present)
    }

    /// An attempt that brought nothing makes the next one wait, longer each time.
    fn wait_unless(&mut self, moved: bool, now: MonoNs) {
        if moved {
            self.backoff = BACKOFF.0;
            self.dial_ns = now;
        } else {
            self.dial_ns = now + self.backoff;
            self.backoff = (self.backoff * 2).min(BACKOFF.1);
        }
    }
}

/// Whose fault it is that a dial did not start. connect(2): without a free port of this host the
/// address is "not available".
fn end_of(error: &io::Error) -> DownloadEnd {
    if tcp::is_shortage(error) || error.kind() == ErrorKind::AddrNotAvailable {
        DownloadEnd::LocalError
    } else {
        DownloadEnd::Refused
    }
}

#[cfg(test)]
mod tests;
