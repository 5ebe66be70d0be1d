//! Listens, accepts, serves, and stops when told to.

use std::convert::Infallible;
use std::fs;
use std::net::TcpListener as StdTcpListener;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use net::cpu;
use net::role::{self, RoleError};
use net::tcp::{self, Buffers, Listen};
use records::{Bytes, Effective, ListenerMode, Ready, Record, Role};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Builder;
use tokio::signal::unix::{SignalKind, signal};

use crate::OriginOptions;
use crate::application::{Application, respond};
use crate::body::Turns;
use crate::request_log::{LAST_WORDS, RequestLog};

/// How long to let connections end when there is no descriptor for a new one.
const OUT_OF_FILES_PAUSE: Duration = Duration::from_millis(50);

/// Turns between two looks at the sockets. tokio's 61 would let 61 full turns of downloads, some
/// 25 ms, pass before a new connection is seen; a look costs a microsecond.
const EVENT_INTERVAL: u32 = 1;

/// What fails when its port cannot be had.
const LISTEN: &str = "open the listener";

/// Length of the listener's queue of connections to be accepted: more than any load dials at once.
const BACKLOG: u32 = 4096;

/// Runs the origin until SIGTERM or SIGINT; both end it at once.
///
/// # Errors
/// See [`RoleError`]. Trouble with single connections is none: they end.
pub fn run(options: &OriginOptions) -> Result<(), RoleError> {
    let max_open_files = options.role.enter().map_err(RoleError::process)?;
    let buffers = Buffers { rcvbuf: None, sndbuf: largest_send_buffer() };
    let listen =
        Listen { addr: options.listen, mode: ListenerMode::Shared, backlog: BACKLOG, buffers };
    let socket = listen.open().map_err(RoleError::host(LISTEN))?;
    tcp::set_congestion(&socket, &options.congestion).map_err(RoleError::host(LISTEN))?;
    let sockets = buffers.read_back(&socket, "accepted").map_err(RoleError::host(LISTEN))?;
    let congestion = tcp::congestion(&socket).ok();
    let listener = StdTcpListener::from(socket);
    let effective = Effective {
        cpus: cpu::allowed().map_err(RoleError::process)?,
        max_open_files,
        sockets,
        congestion,
    };
    let ready = Ready {
        listen: Some(listener.local_addr().map_err(RoleError::host(LISTEN))?),
        ..Ready::new(Role::Origin, std::process::id(), effective)
    };
    let mut builder = Builder::new_current_thread();
    builder.enable_all().event_interval(EVENT_INTERVAL);
    let runtime = builder.build().map_err(RoleError::process)?;
    let application = Application::new(
        options.delay.as_duration(),
        options.delay_after.as_duration(),
        options.workers,
    );
    let (log, printed) = RequestLog::open().map_err(RoleError::process)?;
    let ended = runtime.block_on(serve(listener, ready, application, log));
    // Connections that are under way are dropped where they are, and their requests told of.
    runtime.shutdown_background();
    // Nothing is ever sent: closed, or too late.
    let _ = printed.recv_timeout(LAST_WORDS);
    ended
}

/// Accepts until told to stop.
async fn serve(
    listener: StdTcpListener,
    ready: Ready,
    application: Application,
    log: RequestLog,
) -> Result<(), RoleError> {
    let listener = TcpListener::from_std(listener).map_err(RoleError::host(LISTEN))?;
    // Listened to before the ready line, so that whoever reads it may stop us at once.
    let mut terminate = signal(SignalKind::terminate()).map_err(RoleError::process)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(RoleError::process)?;
    role::tell(&Record::Ready(ready))?;
    tokio::select! {
        _ = terminate.recv() => Ok(()),
        _ = interrupt.recv() => Ok(()),
        never = accept(listener, application, log) => match never {},
    }
}

async fn accept(listener: TcpListener, application: Application, log: RequestLog) -> Infallible {
    let mut warned = false;
    loop {
        match listener.accept().await {
            Ok((stream, from)) => {
                let (application, log) = (application.clone(), log.clone());
                tokio::spawn(connection(stream, from.port(), application, log));
            }
            Err(error) if tcp::is_shortage(&error) => {
                if !warned {
                    let gives = format!("connections wait, this host gives no more ({error})");
                    role::say("origin", &format!("{gives}: raise `ulimit -n`"));
                    warned = true;
                }
                tokio::time::sleep(OUT_OF_FILES_PAUSE).await;
            }
            // accept(2): trouble of a connection that was gone before it was accepted.
            Err(_) => {}
        }
    }
}

/// Serves one connection to its end. How it ends is the client's own affair.
///
/// What it asked for is thought about and answered also when it has gone, as applications do that do
/// not look at their sockets; only a reset ends that.
async fn connection(stream: TcpStream, from: u16, application: Application, log: RequestLog) {
    // As every server does; without it the connection still works.
    let _ = stream.set_nodelay(true);
    let service = service_fn(async |request| {
        let mut asked = log.asked(from);
        let worker = application.work(&mut asked).await;
        let answer = respond(&request, worker);
        // hyper writes it before this connection waits for anything.
        asked.answered();
        Ok::<_, Infallible>(answer)
    });
    // Half-closed clients still get their answer; one that is gone shows by its reset.
    let _ = http1::Builder::new()
        .half_close(true)
        .serve_connection(TokioIo::new(Turns::new(stream)), service)
        .await;
}

/// tcp(7): the third value bounds what the kernel's tuning gives.
const TCP_WMEM: &str = "/proc/sys/net/ipv4/tcp_wmem";
/// socket(7): bounds what may be asked for.
const WMEM_MAX: &str = "/proc/sys/net/core/wmem_max";
/// What to ask for where the kernel does not tell its bounds.
const UNKNOWN: Bytes = Bytes::mib(4);

/// The size to ask for to get as much as this kernel gives: what is queued there keeps the proxy busy
/// while this process waits for its CPU. `None`: leave it to its tuning.
fn largest_send_buffer() -> Option<Bytes> {
    let read = |path| fs::read_to_string(path).unwrap_or_default();
    choose(&read(WMEM_MAX), &read(TCP_WMEM))
}

/// A size that is asked for is doubled (socket(7)) and never tuned again, so asking is a loss where
/// the kernel's own tuning goes further: with the usual `wmem_max` of 208 KiB, tuning reaches 4 MiB.
fn choose(wmem_max: &str, tcp_wmem: &str) -> Option<Bytes> {
    let last = |text: &str| text.split_whitespace().last()?.parse().ok().map(Bytes);
    let asked = last(wmem_max).unwrap_or(UNKNOWN);
    let tuned_further = last(tcp_wmem).is_some_and(|tuned| asked + asked <= tuned);
    (!tuned_further).then_some(asked)
}

#[cfg(test)]
mod tests;
