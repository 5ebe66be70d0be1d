//! Checks that the host can carry the load, says that it is ready, and downloads until stopped. What
//! reaches the loop from outside its sockets, signals and orders on standard input, is each waited for by
//! a thread of its own, which does nothing else.

use std::fs::File;
use std::io::{self, BufRead};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use http1::Wanted;
use mio::{Poll, Registry, Waker};
use net::cpu;
use net::role::{self, Reach, RoleError};
use net::stop::{self, Next};
use net::tcp::{self, Buffers, Dial};
use records::{
    Bytes, BytesPerSec, Connection, Effective, Ready, Record, Requests, Role, SlowOrder,
    SocketSetting,
};

use crate::client::{Client, WAKE};
use crate::conn::Shared;
use crate::drain::Drain;
use crate::{SlowOptions, warn};

/// What each download from another host is paced to at most: a tenth of a gigabit link.
const REMOTE_RATE: BytesPerSec = BytesPerSec(10 << 20);

/// Descriptors of the process itself: standard streams, poll, waker, signal pipe, and some to spare.
const OF_THE_PROCESS: u64 = 16;

/// Downloads until SIGTERM, SIGINT or the end of `--duration`.
///
/// # Errors
/// See [`RoleError`]. Trouble with single connections is none: it is told in the records.
pub fn run(options: &SlowOptions) -> Result<(), RoleError> {
    let max_open_files = options.role.enter().map_err(RoleError::process)?;
    let rate = rate(options)?;
    let toggles = &options.toggles;
    let needed = u64::from(toggles.slow) + OF_THE_PROCESS;
    if needed > max_open_files {
        return Err(RoleError::Unable(format!(
            "needs {needed} descriptors, the limit is {max_open_files}: raise it with ulimit -n, or \
             lower --slow"
        )));
    }
    let poll = Poll::new().map_err(RoleError::host("wait for sockets"))?;
    let waker = Waker::new(poll.registry(), WAKE).map_err(RoleError::process)?;
    let orders = orders(options, waker).map_err(RoleError::process)?;
    let effective = Effective {
        cpus: cpu::allowed().map_err(RoleError::process)?,
        max_open_files,
        sockets: read_back(options),
        ..Effective::default()
    };
    role::tell(&Record::Ready(Ready::new(Role::Slow, std::process::id(), effective)))?;
    let registry = poll.registry().try_clone().map_err(RoleError::process)?;
    let shared = shared(options, rate, registry)?;
    Client::run(options, poll, orders, shared)
}

/// What each download may be read at most. Another host is spared, whatever was asked for.
fn rate(options: &SlowOptions) -> Result<Option<BytesPerSec>, RoleError> {
    let asked = options.toggles.read_rate;
    let reach = options.target.reach()?;
    if reach == Reach::Loopback {
        return Ok(asked);
    }
    let rate = asked.map_or(REMOTE_RATE, |asked| asked.min(REMOTE_RATE));
    warn(&format!(
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

fn shared(
    options: &SlowOptions,
    rate: Option<BytesPerSec>,
    registry: Registry,
) -> Result<Shared, RoleError> {
    let asking = options.toggles.asking();
    let open = |path: &Path| -> io::Result<(File, Bytes)> {
        let file = File::open(path)?;
        let length = Bytes(file.metadata()?.len());
        Ok((file, length))
    };
    let body = asking.body.map(open).transpose().map_err(RoleError::host("read --slow-body"))?;
    let length = body.as_ref().map(|(_, length)| *length);
    let target = options.target.target;
    Ok(Shared {
        target,
        rate,
        registry,
        drain: Drain::new(),
        requests: if options.hold { Requests::Held } else { Requests::AtOnce },
        low_water: mark(options.toggles.slow),
        asked: asking.to_string(),
        head: asking.head(target, length, Connection::Close).into_bytes(),
        body,
        wanted: Wanted {
            method: asking.method().to_owned(),
            own: asking.line.is_some(),
            size: asking.answer_size().map(|size| size.0),
        },
    })
}

/// What the kernel makes of a download's options, on a socket made for the question.
fn read_back(options: &SlowOptions) -> Vec<SocketSetting> {
    let buffers = Buffers::default();
    let Ok(socket) = (Dial { addr: options.target.target, from: None, buffers }).make() else {
        return Vec::new();
    };
    let mut settings = buffers.read_back(&socket, "download").unwrap_or_default();
    let mark = mark(options.toggles.slow);
    let set = tcp::set_low_water(&socket, mark).and_then(|()| tcp::low_water(&socket));
    if let Ok(effective) = set {
        let name = "download SO_RCVLOWAT".to_owned();
        settings.push(SocketSetting { name, requested: Some(mark), effective });
    }
    settings
}

/// Listens for signals, and if told so for orders, and wakes the loop for each.
fn orders(options: &SlowOptions, waker: Waker) -> io::Result<Receiver<Option<SlowOrder>>> {
    let (sender, orders) = channel();
    let waker = Arc::new(waker);
    // A loop that has ended hears nothing more, and needs nothing more.
    let tell = move |order| drop(sender.send(order).map(|()| waker.wake()));
    if options.orders {
        let (tell, name) = (tell.clone(), role::thread_name(Role::Slow, "orders"));
        thread::Builder::new().name(name).spawn(move || {
            // Until end of file, which only means that no more orders come.
            for line in io::stdin().lock().lines().map_while(Result::ok) {
                match serde_json::from_str(&line) {
                    Ok(order) => tell(Some(order)),
                    Err(error) => warn(&format!("ignored {line:?}, which is no order: {error}")),
                }
            }
        })?;
    }
    stop::on_signal(move |_| {
        tell(None);
        Next::Done
    })?;
    Ok(orders)
}

#[cfg(test)]
pub(crate) mod tests;
