//! Listens, accepts, serves, and stops when told to.

use std::convert::Infallible;
use std::io;
use std::net::TcpListener as StdTcpListener;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use net::role::{self, RoleError};
use net::tcp::{self, Buffers, Listen};
use net::{cpu, limit};
use records::{Effective, ListenerMode, Ready, Record, Role};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{SignalKind, signal};

use crate::application::Application;
use crate::book::Book;
use crate::options::OriginOptions;
use crate::respond::respond;
use crate::send_buffer;
use crate::turn::Turns;

/// How long to let connections end when there is no descriptor for a new one.
const OUT_OF_FILES_PAUSE: Duration = Duration::from_millis(50);

/// Turns between two looks at the sockets. tokio's 61 would let 61 full turns of downloads, some
/// 25 ms, pass before a new connection is seen; a look costs a microsecond.
const EVENT_INTERVAL: u32 = 1;

/// What fails when its port cannot be had.
const LISTEN: &str = "open the listener";

/// Runs the origin until SIGTERM or SIGINT; both end it at once.
///
/// # Errors
/// See [`RoleError`]. Trouble with single connections is none: they end.
pub fn run(options: &OriginOptions) -> Result<(), RoleError> {
    let max_open_files = options.role.enter().map_err(RoleError::process)?;
    let buffers = Buffers { rcvbuf: None, sndbuf: options.sndbuf.or_else(send_buffer::largest) };
    let listen = Listen {
        addr: options.listen,
        mode: ListenerMode::Shared,
        backlog: options.backlog,
        buffers,
    };
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
    let runtime = runtime().map_err(RoleError::process)?;
    let application = Application::new(
        options.delay.as_duration(),
        options.delay_after.as_duration(),
        options.workers,
    );
    let (book, printer) = Book::open().map_err(RoleError::process)?;
    let ended = runtime.block_on(serve(listener, ready, application, book));
    // Connections that are under way are dropped where they are, and their requests told of.
    runtime.shutdown_background();
    printer.finish();
    ended
}

fn runtime() -> io::Result<Runtime> {
    Builder::new_current_thread().enable_all().event_interval(EVENT_INTERVAL).build()
}

/// Accepts until told to stop.
async fn serve(
    listener: StdTcpListener,
    ready: Ready,
    application: Application,
    book: Book,
) -> Result<(), RoleError> {
    let listener = TcpListener::from_std(listener).map_err(RoleError::host(LISTEN))?;
    // Listened to before the ready line, so that whoever reads it may stop us at once.
    let mut terminate = signal(SignalKind::terminate()).map_err(RoleError::process)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(RoleError::process)?;
    role::tell(&Record::Ready(ready))?;
    tokio::select! {
        _ = terminate.recv() => Ok(()),
        _ = interrupt.recv() => Ok(()),
        never = accept(listener, application, book) => match never {},
    }
}

#[expect(clippy::print_stderr, reason = "a program's own message")]
async fn accept(listener: TcpListener, application: Application, book: Book) -> Infallible {
    let mut warned = false;
    loop {
        match listener.accept().await {
            Ok((stream, from)) => {
                let (application, book) = (application.clone(), book.clone());
                tokio::spawn(connection(stream, from.port(), application, book));
            }
            Err(error) if limit::is_shortage(&error) => {
                if !warned {
                    eprintln!(
                        "origin: connections wait, this host gives no more ({error}): raise \
                         `ulimit -n`"
                    );
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
async fn connection(stream: TcpStream, from: u16, application: Application, book: Book) {
    // As every server does; without it the connection still works.
    let _ = stream.set_nodelay(true);
    let service = service_fn(async |request| {
        let asked = book.asked(from);
        let worker = application.work().await;
        let answer = respond(&request).map(|body| body.worked_on_by(worker));
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
