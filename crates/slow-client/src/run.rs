//! Checks that the host can carry the load, says that it is ready, and downloads until stopped.

use std::sync::Arc;

use mio::{Poll, Waker};
use net::target::Reach;
use net::tcp::{Buffers, Dial};
use net::{cpu, low_water, role};
use records::{Bytes, BytesPerSec, Coding, Effective, Ready, Record, Role, SocketSetting};

use crate::client::{Client, Setup, WAKE};
use crate::commands::{self, Orders, complain};
use crate::conn::{Requests, Shared};
use crate::rest::Asked;
use crate::sink::Drain;
use crate::{SlowError, SlowOptions};

/// What each download from another host is paced to at most: a tenth of a gigabit link.
const REMOTE_RATE: BytesPerSec = BytesPerSec(10 << 20);

/// Descriptors of the process itself: standard streams, poll, waker, signal pipe, and some to spare.
const OF_THE_PROCESS: u64 = 16;

/// Downloads until SIGTERM, SIGINT or the end of `--duration`.
///
/// # Errors
/// See [`SlowError`]. Trouble with single connections is none: it is told in the records.
pub fn run(options: &SlowOptions) -> Result<(), SlowError> {
    let max_open_files = options.role.enter().map_err(SlowError::Process)?;
    let rate = rate(options)?;
    let toggles = &options.toggles;
    let needed = u64::from(toggles.slow) + OF_THE_PROCESS;
    if needed > max_open_files {
        return Err(SlowError::TooFewFiles { needed, limit: max_open_files });
    }
    let poll = Poll::new().map_err(SlowError::Poll)?;
    let waker = Arc::new(Waker::new(poll.registry(), WAKE).map_err(SlowError::Poll)?);
    let orders = if options.orders { Orders::OnStdin } else { Orders::None };
    let commands = commands::listen(waker, orders).map_err(SlowError::Process)?;
    let effective = Effective {
        cpus: cpu::allowed().map_err(SlowError::Process)?,
        max_open_files,
        sockets: read_back(options),
        ..Effective::default()
    };
    role::print(&Record::Ready(Ready::new(Role::Slow, std::process::id(), effective)))
        .map_err(SlowError::from_print)?;
    Client::new(Setup {
        poll,
        commands,
        target: options.target.target,
        slots: toggles.slow,
        rate,
        gather: options.gather.as_duration(),
        interval: options.interval.as_duration(),
        duration: options.duration.map(records::Micros::as_duration),
        shared: Shared {
            drain: Drain::new(toggles.sink),
            request: request(options),
            asked: match toggles.slow_coding {
                Coding::Identity => Asked::Exactly(toggles.slow_size),
                Coding::Gzip => Asked::Coded,
            },
            requests: if options.hold { Requests::Held } else { Requests::Free },
            low_water: mark(toggles.slow),
        },
    })
    .run()
}

/// What each download may be read at most. Another host is spared, whatever was asked for.
fn rate(options: &SlowOptions) -> Result<Option<BytesPerSec>, SlowError> {
    let asked = options.toggles.read_rate;
    if options.target.reach()? == Reach::Loopback {
        return Ok(asked);
    }
    let rate = asked.map_or(REMOTE_RATE, |asked| asked.min(REMOTE_RATE));
    complain(&format!(
        "{} is not on this host: each download is paced to {}/s",
        options.target.target,
        Bytes(rate.0)
    ));
    Ok(Some(rate))
}

/// Where unpaced downloads set their low-water mark: high, so that the kernel acknowledges on the
/// sender's CPU whether or not we are running, but no more than 64 MiB lie unread over all of them.
fn mark(downloads: u32) -> Bytes {
    let share = Bytes::mib(64).0 / u64::from(downloads.max(1));
    Bytes(share).clamp(Bytes::kib(64), Bytes::mib(4))
}

fn request(options: &SlowOptions) -> Vec<u8> {
    let (size, host) = (options.toggles.slow_size.exact(), options.target.target);
    let coding = match options.toggles.slow_coding {
        Coding::Identity => "",
        Coding::Gzip => "Accept-Encoding: gzip\r\n",
    };
    format!(
        "GET /bytes/{size} HTTP/1.1\r\nHost: {host}\r\nAccept: */*\r\n{coding}\
         Connection: close\r\n\r\n"
    )
    .into_bytes()
}

/// What the kernel makes of a download's options, on a socket made for the question.
fn read_back(options: &SlowOptions) -> Vec<SocketSetting> {
    let buffers = Buffers::default();
    let Ok(socket) = (Dial { addr: options.target.target, from: None, buffers }).make() else {
        return Vec::new();
    };
    let mut settings = buffers.read_back(&socket, "download").unwrap_or_default();
    let mark = mark(options.toggles.slow);
    let set = low_water::set(&socket, mark).and_then(|()| low_water::read_back(&socket));
    if let Ok(effective) = set {
        let name = "download SO_RCVLOWAT".to_owned();
        settings.push(SocketSetting { name, requested: Some(mark), effective });
    }
    settings
}

#[cfg(test)]
mod tests;
