//! The loop: one thread, one edge-triggered poll, every slot in turn.
//!
//! A proxy that relays 4 KiB at a time sends hundreds of thousands of segments a second, and a
//! reader that the poll wakes for each of them burns a core. Two things keep it from that:
//! - After a turn that took bytes the loop does not wait for events but sleeps for the gather
//!   interval, and then takes all that has come in a few calls per download. It is always a little
//!   behind, as bulk readers are; the receive buffers hold what comes meanwhile.
//! - Each body has a low-water mark (SO_RCVLOWAT). Below it the kernel wakes nobody, and
//!   acknowledges on the sender's CPU. It is low when there are many downloads, and then the
//!   interval does most of the work.
//!
//! What they do (origin, draining proxy and this client with 4 downloads; 2 vCPUs, the proxy alone on
//! one; Linux 6.18; 2026-11-21, while other work ran; medians of 3 runs of 3 s):
//! | mark, gather | GB/s | CPU of this process | its switches/s | steps >= 10 ms ended by a full client |
//! |---|---|---|---|---|
//! | none, 0 | 0.42 | 52 % | 13000 | 22 |
//! | none, 2 ms | 0.70 | 11 % | 390 | 17 |
//! | 4 MiB, 0 | 0.72 | 5.2 % | 140 | 2 |
//! | 4 MiB, 2 ms | 0.69 | 5.3 % | 360 | 3 |
//! | 4 MiB, 5 ms | 0.65 | 4.0 % | 170 | 4 |

use std::io::{self, ErrorKind};
use std::mem;
use std::os::fd::AsRawFd;
use std::sync::mpsc::Receiver;
use std::thread;
use std::time::Duration;

use mio::unix::SourceFd;
use mio::{Events, Interest, Poll, Token};
use net::clock;
use net::role::{self, RoleError};
use records::{BytesPerSec, DownloadEnd, DownloadInterval, MonoNs, Record, Requests, SlowOrder};

use crate::SlowOptions;
use crate::conn::{Shared, Turn};
use crate::run::{Command, warn};
use crate::slot::{Dialling, Port, Slot};

/// The waker's token; slots have theirs from 0.
pub(crate) const WAKE: Token = Token(usize::MAX);

/// Events of one poll at most; the next poll returns the others.
const EVENTS: usize = 1024;

/// How long bytes gather in the kernel between two reads. Longer, and the receive buffers (tcp_rmem, 6 MiB by
/// default) fill at loopback speed; and a stop must be seen within 100 ms.
const GATHER: Duration = Duration::from_millis(2);

/// When a turn is due that need not wait for anything.
const AT_ONCE: MonoNs = MonoNs(0);
/// When one is due that only an event brings.
const AT_ITS_EVENT: MonoNs = MonoNs(u64::MAX);

/// The loop and all that it steers.
pub(crate) struct Client<'a> {
    options: &'a SlowOptions,
    poll: Poll,
    commands: Receiver<Command>,
    /// What each download may be read at most.
    rate: Option<BytesPerSec>,
    shared: Shared,
    slots: Vec<Entry>,
    interval_ns: MonoNs,
    warning: Warning,
}

/// Whether trouble was spoken of: once is enough, the records count it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Warning {
    Unsaid,
    Said,
}

/// A slot, and when its next turn is due.
struct Entry {
    slot: Slot,
    due: MonoNs,
}

/// What to do before the next turn, the more urgent the greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Pause {
    /// Wait for an event, or for the next turn that is due.
    UntilEvent,
    /// Let bytes gather.
    Gather,
    /// None: there is work left.
    None,
}

impl<'a> Client<'a> {
    pub(crate) fn new(
        options: &'a SlowOptions,
        poll: Poll,
        commands: Receiver<Command>,
        rate: Option<BytesPerSec>,
        shared: Shared,
    ) -> Self {
        let entry = |index| Entry { slot: Slot::new(index), due: AT_ONCE };
        let slots = (0..options.toggles.slow).map(entry).collect();
        let (interval_ns, warning) = (clock::now(), Warning::Unsaid);
        Self { options, poll, commands, rate, shared, slots, interval_ns, warning }
    }

    /// Downloads until told to stop, or until the time is over.
    pub(crate) fn run(mut self) -> Result<(), RoleError> {
        let start = self.interval_ns;
        let end = self.options.duration.map(|duration| start + duration.as_duration());
        let interval = self.options.interval.as_duration();
        let mut interval_end = start + interval;
        let mut events = Events::with_capacity(EVENTS);
        let mut pause = Pause::UntilEvent;
        loop {
            let wake = end.map_or(interval_end, |end| end.min(interval_end));
            self.wait(&mut events, pause, wake)?;
            for event in &events {
                // The waker's token is no slot's.
                if let Some(entry) = self.slots.get_mut(event.token().0) {
                    entry.due = AT_ONCE;
                }
            }
            while let Ok(command) = self.commands.try_recv() {
                match command {
                    Command::Obey(order) => self.obey(order)?,
                    Command::Stop => return self.stop(),
                }
            }
            pause = Pause::UntilEvent;
            let now = clock::now();
            for index in 0..self.slots.len() {
                if self.slots.get(index).is_some_and(|entry| entry.due <= now) {
                    pause = pause.max(self.turn(index)?);
                }
            }
            let now = clock::now();
            if end.is_some_and(|end| now >= end) {
                return self.stop();
            }
            if now >= interval_end {
                self.take_what_lies_there()?;
                self.tell_interval(now)?;
                interval_end = interval_end.max(now - interval) + interval;
            }
        }
    }

    fn wait(&mut self, events: &mut Events, pause: Pause, wake: MonoNs) -> Result<(), RoleError> {
        let timeout = match pause {
            Pause::None => Duration::ZERO,
            Pause::Gather => {
                thread::sleep(GATHER);
                Duration::ZERO
            }
            Pause::UntilEvent => {
                let due = self.slots.iter().map(|entry| entry.due).fold(wake, MonoNs::min);
                due.since(clock::now())
            }
        };
        match self.poll.poll(events, Some(timeout)) {
            Err(error) if error.kind() != ErrorKind::Interrupted => {
                Err(RoleError::host("wait for sockets")(error))
            }
            _ => Ok(()),
        }
    }

    /// Gives a slot its turn: dials, or goes on with its connection.
    fn turn(&mut self, index: usize) -> Result<Pause, RoleError> {
        let Some(Entry { slot, due }) = self.slots.get_mut(index) else {
            return Ok(Pause::UntilEvent);
        };
        *due = AT_ITS_EVENT;
        let now = clock::now();
        let Some(conn) = &mut slot.conn else {
            if slot.dial_ns <= now {
                return self.dial(index, now);
            }
            *due = slot.dial_ns;
            return Ok(Pause::UntilEvent);
        };
        let turn = conn.turn(&mut self.shared, now);
        let pause = if conn.is_transferring() { Pause::Gather } else { Pause::UntilEvent };
        match turn {
            Turn::Waits => return Ok(pause),
            Turn::Drained => {
                *due = AT_ONCE;
                return Ok(pause);
            }
            Turn::Paced(at) => {
                *due = at;
                return Ok(pause);
            }
            Turn::Connected => {
                *due = AT_ONCE;
                if let Some(dialed) = slot.dialed(now) {
                    role::tell(&Record::Dialed(dialed))?;
                }
            }
            Turn::Yields => *due = AT_ONCE,
            Turn::Ended(end) => self.end(index, end, Port::Same)?,
            Turn::Gone => {
                slot.conn = None;
                *due = slot.dial_ns;
            }
        }
        // What follows has its turn after the others.
        Ok(Pause::None)
    }

    /// Tells the end of a download; its slot goes on to the next.
    fn end(&mut self, index: usize, end: DownloadEnd, port: Port) -> Result<(), RoleError> {
        let Some(Entry { slot, due }) = self.slots.get_mut(index) else { return Ok(()) };
        let status = slot.conn.as_ref().and_then(|conn| conn.bad_status);
        let download = slot.end(end, port, clock::now());
        // One that lingers dials when it is gone.
        *due = if slot.conn.is_some() { AT_ONCE } else { slot.dial_ns };
        if let Some(status) = status {
            let asked = self.options.toggles.asking();
            self.warn_once(&format!("{asked} was answered with {status}, which is no load"));
        }
        download.map_or(Ok(()), |download| role::tell(&Record::Download(download)))
    }

    fn dial(&mut self, index: usize, now: MonoNs) -> Result<Pause, RoleError> {
        let Some(Entry { slot, due }) = self.slots.get_mut(index) else {
            return Ok(Pause::UntilEvent);
        };
        match slot.dial(self.options.target.target, self.rate, now) {
            Dialling::Started(socket) => {
                let registry = self.poll.registry();
                let interest = Interest::READABLE | Interest::WRITABLE;
                registry
                    .register(&mut SourceFd(&socket.as_raw_fd()), Token(index), interest)
                    .map_err(RoleError::host("wait for sockets"))?;
            }
            Dialling::Later => *due = slot.dial_ns,
            Dialling::Failed(download, error) => {
                *due = slot.dial_ns;
                if download.end == DownloadEnd::LocalError {
                    self.warn_once(&shortage(&error));
                }
                role::tell(&Record::Download(download))?;
            }
        }
        Ok(Pause::UntilEvent)
    }

    fn warn_once(&mut self, message: &str) {
        if mem::replace(&mut self.warning, Warning::Said) == Warning::Unsaid {
            warn(message);
        }
    }

    fn obey(&mut self, order: SlowOrder) -> Result<(), RoleError> {
        match order {
            SlowOrder::Go => {
                self.shared.requests = Requests::AtOnce;
                self.slots.iter_mut().for_each(|entry| entry.due = AT_ONCE);
            }
            SlowOrder::Redial { client_port } => {
                let runs_there = |entry: &Entry| entry.slot.runs_from(client_port);
                match self.slots.iter().position(runs_there) {
                    Some(index) => self.end(index, DownloadEnd::Replaced, Port::New)?,
                    None => warn(&format!(
                        "no download runs from port {client_port}: not dialled again"
                    )),
                }
            }
        }
        Ok(())
    }

    /// Reads what has come to downloads that wait for more of it: below its low-water mark a socket
    /// raises no event, and a slow stream would seem to stand still.
    fn take_what_lies_there(&mut self) -> Result<(), RoleError> {
        for index in 0..self.slots.len() {
            let waits = self.slots.get_mut(index).filter(|entry| entry.due > AT_ONCE);
            let conn = waits.and_then(|entry| entry.slot.conn.as_ref());
            if conn.is_some_and(|conn| conn.is_transferring()) {
                self.turn(index)?;
            }
        }
        Ok(())
    }

    fn tell_interval(&mut self, now: MonoNs) -> Result<(), RoleError> {
        let start_ns = mem::replace(&mut self.interval_ns, now);
        let bytes = self.slots.iter_mut().map(|entry| entry.slot.take_untold()).collect();
        role::tell(&Record::DownloadInterval(DownloadInterval { start_ns, end_ns: now, bytes }))
    }

    /// Ends every download that runs. Their sockets close with the process.
    fn stop(mut self) -> Result<(), RoleError> {
        let now = clock::now();
        for entry in &mut self.slots {
            if entry.slot.conn.as_ref().is_some_and(|conn| !conn.has_ended())
                && let Some(download) = entry.slot.end(DownloadEnd::Stopped, Port::Same, now)
            {
                role::tell(&Record::Download(download))?;
            }
        }
        self.tell_interval(now)
    }
}

/// What is to be said of a dial that this host has nothing left for.
fn shortage(error: &io::Error) -> String {
    let advice = match error.kind() {
        ErrorKind::AddrNotAvailable => "widen net.ipv4.ip_local_port_range",
        _ => "raise `ulimit -n`",
    };
    format!(
        "this host could not start a download, nor perhaps others ({error}): {advice}, or lower \
         --slow"
    )
}
