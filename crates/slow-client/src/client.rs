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

use std::io::ErrorKind;
use std::mem;
use std::sync::mpsc::Receiver;
use std::thread;
use std::time::Duration;

use mio::{Events, Poll, Token};
use net::clock;
use net::role::{self, RoleError};
use records::{DownloadEnd, DownloadInterval, MonoNs, Record, Requests, SlowOrder};

use crate::conn::{AT_ONCE, Conn, Shared};
use crate::slot::{Pause, Slot};
use crate::{SlowOptions, warn};

/// The waker's token; slots have theirs from 0.
pub(crate) const WAKE: Token = Token(usize::MAX);

/// Events of one poll at most; the next poll returns the others.
const EVENTS: usize = 1024;

/// How long bytes gather in the kernel between two reads. Longer, and the receive buffers (tcp_rmem, 6 MiB by
/// default) fill at loopback speed; and a stop must be seen within 100 ms.
const GATHER: Duration = Duration::from_millis(2);

/// The loop and all that it steers.
pub(crate) struct Client {
    poll: Poll,
    /// Orders; `None`: to end every download and the process.
    orders: Receiver<Option<SlowOrder>>,
    shared: Shared,
    slots: Vec<Slot>,
    interval_ns: MonoNs,
}

impl Client {
    /// Downloads until told to stop, or until the time is over.
    pub(crate) fn run(
        options: &SlowOptions,
        poll: Poll,
        orders: Receiver<Option<SlowOrder>>,
        shared: Shared,
    ) -> Result<(), RoleError> {
        let start = clock::now();
        let slots = (0..options.toggles.slow).map(Slot::new).collect();
        let mut client = Self { poll, orders, shared, slots, interval_ns: start };
        let end = options.duration.map(|duration| start + duration.as_duration());
        let interval = options.interval.as_duration();
        let mut interval_end = start + interval;
        let mut events = Events::with_capacity(EVENTS);
        let mut pause = Pause::UntilEvent;
        loop {
            let wake = end.map_or(interval_end, |end| end.min(interval_end));
            client.wait(&mut events, pause, wake)?;
            for event in &events {
                // The waker's token is no slot's.
                if let Some(slot) = client.slots.get_mut(event.token().0) {
                    slot.wake();
                }
            }
            while let Ok(order) = client.orders.try_recv() {
                let Some(order) = order else { return client.stop() };
                client.obey(order)?;
            }
            pause = Pause::UntilEvent;
            let now = clock::now();
            for slot in client.slots.iter_mut().filter(|slot| slot.due <= now) {
                pause = pause.max(slot.turn(&mut client.shared, clock::now())?);
            }
            let now = clock::now();
            if end.is_some_and(|end| now >= end) {
                return client.stop();
            }
            if now >= interval_end {
                client.take_what_lies_there()?;
                client.tell_interval(now)?;
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
                let due = self.slots.iter().map(|slot| slot.due).fold(wake, MonoNs::min);
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

    fn obey(&mut self, order: SlowOrder) -> Result<(), RoleError> {
        match order {
            SlowOrder::Go => {
                self.shared.requests = Requests::AtOnce;
                self.slots.iter_mut().for_each(Slot::wake);
            }
            SlowOrder::Redial { client_port } => {
                let port = |slot: &Slot| Some(slot.at_work()?.local?.port());
                match self.slots.iter_mut().find(|slot| port(slot) == Some(client_port)) {
                    Some(slot) => slot.end(DownloadEnd::Replaced)?,
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
        for slot in &mut self.slots {
            if slot.at_work().is_some_and(Conn::is_transferring) && slot.due > AT_ONCE {
                slot.turn(&mut self.shared, clock::now())?;
            }
        }
        Ok(())
    }

    fn tell_interval(&mut self, now: MonoNs) -> Result<(), RoleError> {
        let start_ns = mem::replace(&mut self.interval_ns, now);
        let bytes = self.slots.iter_mut().map(Slot::take_untold).collect();
        role::tell(&Record::DownloadInterval(DownloadInterval { start_ns, end_ns: now, bytes }))
    }

    /// Ends every download that runs. Their sockets close with the process.
    fn stop(mut self) -> Result<(), RoleError> {
        for slot in self.slots.iter_mut().filter(|slot| slot.at_work().is_some()) {
            slot.end(DownloadEnd::Stopped)?;
        }
        self.tell_interval(clock::now())
    }
}
