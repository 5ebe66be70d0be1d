//! One of the parallel downloads, for as long as the client runs: its connections follow each other, and
//! each is told of.

use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::os::fd::AsRawFd;
use std::time::Duration;

use mio::unix::SourceFd;
use mio::{Interest, Token};
use net::role::{self, RoleError};
use net::tcp::{self, Buffers, Dial};
use records::{Bytes, Dialed, Download, DownloadEnd, MonoNs, Record};

use crate::conn::{AT_ITS_EVENT, AT_ONCE, Conn, Shared, Turn};
use crate::warn_once;

/// How long a finished connection waits for the peer's close before we close first.
const LINGER: Duration = Duration::from_millis(200);

/// The wait after the first attempt without a byte of the body asked for, and the longest one.
const BACKOFF: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(1));

/// How often, and after which wait, the same port is tried again before another one is taken. A
/// connection that both sides have closed is gone at once, or as soon as this host has time for it.
const PORT_RETRIES: (u32, Duration) = (5, Duration::from_millis(10));

/// One of the parallel downloads.
#[derive(Default)]
pub(crate) struct Slot {
    index: u32,
    ordinal: u32,
    conn: Option<Conn>,
    /// When its next turn is due: to dial, or to go on with its connection.
    pub(crate) due: MonoNs,
    /// The address to dial from: that of the last connection, so that the kernel's reuseport hash
    /// gives us to the same listener.
    from: Option<SocketAddr>,
    backoff: Duration,
    /// When it may dial again.
    dial_ns: MonoNs,
    /// Dials from the same port that failed in a row.
    port_failures: u32,
    /// Bytes of ended connections, and of all that intervals have told.
    ended: u64,
    told: u64,
}

/// What to do before the next turn, the more urgent the greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Pause {
    /// Wait for an event, or for the next turn that is due.
    UntilEvent,
    /// Let bytes gather.
    Gather,
    /// None: there is work left.
    None,
}

impl Slot {
    pub(crate) fn new(index: u32) -> Self {
        Self { index, backoff: BACKOFF.0, ..Self::default() }
    }

    /// Its connection, if that is still at work.
    pub(crate) fn at_work(&self) -> Option<&Conn> {
        self.conn.as_ref().filter(|conn| !conn.has_ended())
    }

    /// Something has happened that its connection may wait for.
    pub(crate) fn wake(&mut self) {
        if self.conn.is_some() {
            self.due = AT_ONCE;
        }
    }

    /// Gives it its turn: dials, or goes on with its connection.
    pub(crate) fn turn(&mut self, shared: &mut Shared, now: MonoNs) -> Result<Pause, RoleError> {
        let Some(conn) = &mut self.conn else {
            return self.dial(shared, now).map(|()| Pause::UntilEvent);
        };
        match conn.turn(shared, now) {
            Turn::Waits(until) => {
                self.due = until;
                let gathers = conn.is_transferring();
                return Ok(if gathers { Pause::Gather } else { Pause::UntilEvent });
            }
            Turn::Yields => self.due = AT_ONCE,
            Turn::Connected => {
                self.due = AT_ONCE;
                if let Some(local) = conn.local {
                    let (slot, client_port) = (self.index, local.port());
                    role::tell(&Record::Dialed(Dialed { slot, client_port, at_ns: now }))?;
                }
            }
            Turn::Ended(end) => self.end(end)?,
            Turn::Gone => {
                self.conn = None;
                self.due = self.dial_ns;
            }
        }
        // What follows has its turn after the others.
        Ok(Pause::None)
    }

    /// Starts the next connection, from the same port as before if that can be.
    fn dial(&mut self, shared: &Shared, now: MonoNs) -> Result<(), RoleError> {
        let dial = |from| Dial { addr: shared.target, from, buffers: Buffers::default() }.start();
        let mut socket = dial(self.from);
        // The port is in TIME_WAIT, still fading, or taken.
        let taken = |kind| matches!(kind, ErrorKind::AddrInUse | ErrorKind::AddrNotAvailable);
        if self.from.is_some() && socket.as_ref().is_err_and(|error| taken(error.kind())) {
            self.port_failures += 1;
            if self.port_failures <= PORT_RETRIES.0 {
                self.due = now + PORT_RETRIES.1;
                return Ok(());
            }
            socket = dial(None);
        }
        self.port_failures = 0;
        match socket {
            Ok(socket) => {
                let interest = Interest::READABLE | Interest::WRITABLE;
                let (fd, token) = (socket.as_raw_fd(), Token(self.index as usize));
                let watched = shared.registry.register(&mut SourceFd(&fd), token, interest);
                watched.map_err(RoleError::host("wait for sockets"))?;
                let conn = self.conn.insert(Conn::new(socket, shared.rate, now));
                self.from = conn.local;
                self.due = AT_ITS_EVENT;
                Ok(())
            }
            Err(error) => {
                let end = end_of(&error);
                if end == DownloadEnd::LocalError {
                    warn_once(&format!(
                        "this host could not start a download, nor perhaps others ({error}): raise \
                         `ulimit -n`, widen net.ipv4.ip_local_port_range, or lower --slow"
                    ));
                }
                self.tell(end, now)
            }
        }
    }

    /// Ends the download of the present connection and tells it. The connection is kept when the
    /// peer should close first.
    pub(crate) fn end(&mut self, end: DownloadEnd) -> Result<(), RoleError> {
        let now = net::clock::now();
        let told = self.tell(end, now);
        let lingers = matches!(end, DownloadEnd::Completed | DownloadEnd::BadStatus);
        self.ended += self.conn.as_mut().map_or(0, |conn| std::mem::take(&mut conn.bytes));
        match self.conn.as_mut().filter(|_| lingers) {
            // It dials when that is gone.
            Some(conn) => {
                conn.linger(now + LINGER);
                self.due = AT_ONCE;
            }
            None => self.conn = None,
        }
        if end == DownloadEnd::Replaced {
            // From another port.
            self.from = None;
        }
        told
    }

    /// Tells the download that ends, and when the next may begin: an attempt that brought nothing makes it
    /// wait, longer each time.
    fn tell(&mut self, end: DownloadEnd, now: MonoNs) -> Result<(), RoleError> {
        let download = self.download(end, now);
        // What was no answer to the request is no progress, whatever came with it.
        let moved = download.bytes > Bytes(0) && end != DownloadEnd::BadStatus;
        let wait =
            if moved || end == DownloadEnd::Replaced { Duration::ZERO } else { self.backoff };
        self.backoff = if wait.is_zero() { BACKOFF.0 } else { (wait * 2).min(BACKOFF.1) };
        self.dial_ns = now + wait;
        self.due = self.dial_ns;
        self.ordinal = self.ordinal.saturating_add(1);
        role::tell(&Record::Download(download))
    }

    fn download(&self, end: DownloadEnd, now: MonoNs) -> Download {
        let conn = self.conn.as_ref();
        let begun = conn.filter(|_| end != DownloadEnd::Refused);
        let start_ns = begun.map_or(now, |conn| conn.start_ns);
        let first_byte_ns = conn.and_then(|conn| conn.first_byte_ns);
        Download {
            slot: self.index,
            ordinal: self.ordinal,
            client_port: conn.and_then(|conn| conn.local).map(|local| local.port()),
            start_ns,
            first_byte_us: first_byte_ns.map(|first| first.micros_since(start_ns)),
            total_us: now.micros_since(start_ns),
            bytes: Bytes(conn.map_or(0, |conn| conn.bytes)),
            end,
        }
    }

    /// Bytes since this was last asked.
    pub(crate) fn take_untold(&mut self) -> Bytes {
        let all = self.ended + self.conn.as_ref().map_or(0, |conn| conn.bytes);
        Bytes(all - std::mem::replace(&mut self.told, all))
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
