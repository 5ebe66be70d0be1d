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

use std::cmp::Reverse;
use std::collections::BinaryHeap;
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
use records::{BytesPerSec, DownloadEnd, DownloadInterval, MonoNs, Record, SlowOrder};

use crate::SlowOptions;
use crate::conn::{Requests, Shared, Turn};
use crate::run::{Command, warn};
use crate::slot::{Dialling, Port, Slot};

/// The waker's token; slots have theirs from 0.
pub(crate) const WAKE: Token = Token(usize::MAX);

/// Events of one poll at most; the next poll returns the others.
const EVENTS: usize = 1024;

/// The loop and all that it steers.
pub(crate) struct Client<'a> {
    options: &'a SlowOptions,
    poll: Poll,
    commands: Receiver<Command>,
    /// What each download may be read at most.
    rate: Option<BytesPerSec>,
    shared: Shared,
    slots: Vec<Entry>,
    /// Slots to be given a turn, each at most once.
    ready: Vec<usize>,
    timers: BinaryHeap<Reverse<(MonoNs, usize)>>,
    interval_ns: MonoNs,
    warning: Warning,
}

/// Whether a shortage of this host was spoken of: once is enough, the records count it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Warning {
    Unsaid,
    Said,
}

/// A slot and its place in the loop.
struct Entry {
    slot: Slot,
    ready: bool,
    /// The one timer that counts; older ones in the heap are void.
    timer: Option<MonoNs>,
}

/// What to do before the next turn, the more urgent the greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Pause {
    /// Wait for an event or a timer.
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
        let entry = |index| Entry { slot: Slot::new(index), ready: false, timer: None };
        Self {
            options,
            poll,
            commands,
            rate,
            shared,
            slots: (0..options.toggles.slow).map(entry).collect(),
            ready: Vec::new(),
            timers: BinaryHeap::new(),
            interval_ns: clock::now(),
            warning: Warning::Unsaid,
        }
    }

    /// Downloads until told to stop, or until the time is over.
    pub(crate) fn run(mut self) -> Result<(), RoleError> {
        let start = self.interval_ns;
        let end = self.options.duration.map(|duration| start + duration.as_duration());
        let interval = self.options.interval.as_duration();
        let mut interval_end = start + interval;
        for index in 0..self.slots.len() {
            self.dial(index)?;
        }
        let mut events = Events::with_capacity(EVENTS);
        let mut turn = Vec::new();
        let mut pause = Pause::UntilEvent;
        loop {
            let wake = end.map_or(interval_end, |end| end.min(interval_end));
            self.wait(&mut events, pause, wake)?;
            for event in &events {
                self.make_ready(event.token().0);
            }
            while let Ok(command) = self.commands.try_recv() {
                match command {
                    Command::Obey(order) => self.obey(order)?,
                    Command::Stop => return self.stop(),
                }
            }
            self.fire_timers(clock::now())?;
            pause = Pause::UntilEvent;
            mem::swap(&mut turn, &mut self.ready);
            for index in turn.drain(..) {
                pause = pause.max(self.turn(index)?);
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
                thread::sleep(self.options.gather.as_duration());
                Duration::ZERO
            }
            Pause::UntilEvent => {
                let timer = self.timers.peek().map_or(wake, |Reverse((at, _))| wake.min(*at));
                timer.since(clock::now())
            }
        };
        match self.poll.poll(events, Some(timeout)) {
            Err(error) if error.kind() != ErrorKind::Interrupted => {
                Err(RoleError::host("wait for sockets")(error))
            }
            _ => Ok(()),
        }
    }

    /// Gives a slot its turn.
    fn turn(&mut self, index: usize) -> Result<Pause, RoleError> {
        loop {
            let Some(entry) = self.slots.get_mut(index) else { return Ok(Pause::UntilEvent) };
            entry.ready = false;
            let Some(conn) = entry.slot.conn() else { return Ok(Pause::UntilEvent) };
            let now = clock::now();
            let turn = conn.turn(&mut self.shared, now);
            let pause = if conn.is_transferring() { Pause::Gather } else { Pause::UntilEvent };
            match turn {
                Turn::Waits => return Ok(pause),
                Turn::Connected => {
                    if let Some(dialed) = entry.slot.dialed(now) {
                        role::tell(&Record::Dialed(dialed))?;
                    }
                }
                Turn::Drained => {
                    self.make_ready(index);
                    return Ok(pause);
                }
                Turn::Yields => {
                    self.make_ready(index);
                    return Ok(Pause::None);
                }
                Turn::Paced(at) => {
                    self.set_timer(index, at);
                    return Ok(pause);
                }
                // What follows has its turn after the others.
                Turn::Ended(end) => {
                    self.end(index, end, Port::Same)?;
                    self.make_ready(index);
                    return Ok(Pause::None);
                }
                Turn::Gone => {
                    entry.slot.close();
                    self.redial(index, now)?;
                    self.make_ready(index);
                    return Ok(Pause::None);
                }
            }
        }
    }

    /// Tells the end of a download, and goes on to the next.
    fn end(&mut self, index: usize, end: DownloadEnd, port: Port) -> Result<(), RoleError> {
        let Some(entry) = self.slots.get_mut(index) else { return Ok(()) };
        let now = clock::now();
        if let Some(download) = entry.slot.end(end, port, now) {
            role::tell(&Record::Download(download))?;
        }
        // One that lingers goes on with its turn, and dials when it is gone.
        if entry.slot.conn().is_none() { self.redial(index, now) } else { Ok(()) }
    }

    /// Dials as soon as the slot may.
    fn redial(&mut self, index: usize, now: MonoNs) -> Result<(), RoleError> {
        let Some(entry) = self.slots.get(index) else { return Ok(()) };
        let at = entry.slot.dial_ns();
        if at <= now {
            return self.dial(index);
        }
        self.set_timer(index, at);
        Ok(())
    }

    fn dial(&mut self, index: usize) -> Result<(), RoleError> {
        let Some(entry) = self.slots.get_mut(index) else { return Ok(()) };
        entry.timer = None;
        let now = clock::now();
        match entry.slot.dial(self.options.target.target, self.rate, now) {
            Dialling::Started(socket) => {
                let registry = self.poll.registry();
                let interest = Interest::READABLE | Interest::WRITABLE;
                registry
                    .register(&mut SourceFd(&socket.as_raw_fd()), Token(index), interest)
                    .map_err(RoleError::host("wait for sockets"))
            }
            Dialling::Later => {
                let at = entry.slot.dial_ns();
                self.set_timer(index, at);
                Ok(())
            }
            Dialling::Failed(download, error) => {
                let at = entry.slot.dial_ns();
                self.set_timer(index, at);
                if download.end == DownloadEnd::LocalError {
                    self.warn_once(&error);
                }
                role::tell(&Record::Download(download))
            }
        }
    }

    fn warn_once(&mut self, error: &io::Error) {
        if mem::replace(&mut self.warning, Warning::Said) == Warning::Unsaid {
            let advice = match error.kind() {
                ErrorKind::AddrNotAvailable => "widen net.ipv4.ip_local_port_range",
                _ => "raise `ulimit -n`",
            };
            warn(&format!(
                "this host could not start a download, nor perhaps others ({error}): {advice}, or \
                 lower --slow"
            ));
        }
    }

    fn obey(&mut self, order: SlowOrder) -> Result<(), RoleError> {
        match order {
            SlowOrder::Go => {
                self.shared.requests = Requests::Free;
                (0..self.slots.len()).for_each(|index| self.make_ready(index));
                Ok(())
            }
            SlowOrder::Redial { client_port } => {
                let runs_there = |entry: &Entry| entry.slot.runs_from(client_port);
                if let Some(index) = self.slots.iter().position(runs_there) {
                    return self.end(index, DownloadEnd::Replaced, Port::New);
                }
                warn(&format!("no download runs from port {client_port}: not dialled again"));
                Ok(())
            }
        }
    }

    /// Puts slots whose time has come in line, or dials.
    fn fire_timers(&mut self, now: MonoNs) -> Result<(), RoleError> {
        while let Some(&Reverse((at, index))) = self.timers.peek() {
            if at > now {
                break;
            }
            self.timers.pop();
            let Some(entry) = self.slots.get_mut(index) else { continue };
            if entry.timer != Some(at) {
                continue;
            }
            entry.timer = None;
            if entry.slot.conn().is_none() {
                self.dial(index)?;
            } else {
                self.make_ready(index);
            }
        }
        Ok(())
    }

    fn set_timer(&mut self, index: usize, at: MonoNs) {
        let Some(entry) = self.slots.get_mut(index) else { return };
        if entry.timer != Some(at) {
            entry.timer = Some(at);
            self.timers.push(Reverse((at, index)));
        }
    }

    /// Tokens that are no slot, as the waker's, are none of its business.
    fn make_ready(&mut self, index: usize) {
        if let Some(entry) = self.slots.get_mut(index)
            && !mem::replace(&mut entry.ready, true)
        {
            self.ready.push(index);
        }
    }

    /// Reads what has come to downloads that wait for more of it: below its low-water mark a socket
    /// raises no event, and a slow stream would seem to stand still.
    fn take_what_lies_there(&mut self) -> Result<(), RoleError> {
        for index in 0..self.slots.len() {
            let entry = self.slots.get_mut(index).filter(|entry| !entry.ready);
            if entry.and_then(|entry| entry.slot.conn()).is_some_and(|conn| conn.is_transferring())
            {
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
            if entry.slot.conn().is_some_and(|conn| !conn.has_ended())
                && let Some(download) = entry.slot.end(DownloadEnd::Stopped, Port::Same, now)
            {
                role::tell(&Record::Download(download))?;
            }
        }
        self.tell_interval(now)
    }
}
