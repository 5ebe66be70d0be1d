//! A small TCP proxy on one thread of tokio, as somebody might write one: the foreign proxy of the
//! gate's tests and of `docs/ci.md`.
//!
//! With `--stall-ms` it stands still as a whole every two seconds, whatever it is asked: what the garbage
//! collector of another language, a name that is looked up or a file that is flushed make of one.
//!
//! With `--unfair` a connection is served as long as its sockets have anything to do, without going
//! back to the runtime: what a read loop until EAGAIN is in an event loop written by hand.
//!
//! Not for: anything but trying `turnstile check`. It knows nothing of HTTP, nor that it is measured.

use std::io;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use clap::Parser;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{ReadHalf, WriteHalf};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::task::unconstrained;

/// Bytes of one read. Few, so that origin and clients outrun this proxy on any host.
const BUFFER: usize = 1024;

/// Asked of the kernel for upstream connections, which gives no more than `net.core.rmem_max`. Left to
/// itself it gives each connection another one.
const RECEIVE_BUFFER: u32 = 1 << 20;

#[derive(Parser)]
struct Options {
    /// Where to listen.
    #[arg(long)]
    listen: SocketAddr,
    /// Where connections go.
    #[arg(long)]
    upstream: SocketAddr,
    /// Serve a connection for as long as there is anything to read.
    #[arg(long)]
    unfair: bool,
    /// Stand still so long, every two seconds.
    #[arg(long)]
    stall_ms: Option<u64>,
}

const BETWEEN_STALLS: Duration = Duration::from_secs(2);

/// What ends a connection's turn.
#[derive(Clone, Copy)]
enum Turn {
    /// Tokio's budget, or a socket that has nothing to do.
    Budget,
    /// Only a socket that has nothing to do.
    Drain,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let Options { listen, upstream, unfair, stall_ms } = Options::parse();
    if let Some(stall) = stall_ms.map(Duration::from_millis) {
        tokio::spawn(async move {
            let mut every = tokio::time::interval(BETWEEN_STALLS);
            loop {
                every.tick().await;
                // Not tokio's sleep: it is the only thread that is to stand still.
                thread::sleep(stall);
            }
        });
    }
    let turn = if unfair { Turn::Drain } else { Turn::Budget };
    match serve(listen, upstream, turn).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

async fn serve(listen: SocketAddr, upstream: SocketAddr, turn: Turn) -> io::Result<()> {
    let listener = TcpListener::bind(listen).await?;
    loop {
        let (client, _) = listener.accept().await?;
        tokio::spawn(async move {
            // A connection that breaks is its peers' affair.
            let _ = relay(client, upstream, turn).await;
        });
    }
}

async fn relay(mut client: TcpStream, upstream: SocketAddr, turn: Turn) -> io::Result<()> {
    let socket = if upstream.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    socket.set_recv_buffer_size(RECEIVE_BUFFER)?;
    let mut origin = socket.connect(upstream).await?;
    let (from_client, to_client) = client.split();
    let (from_origin, to_origin) = origin.split();
    match turn {
        Turn::Budget => {
            tokio::try_join!(copy(from_client, to_origin), copy(from_origin, to_client))?;
        }
        Turn::Drain => {
            tokio::try_join!(drain(from_client, to_origin), drain(from_origin, to_client))?;
        }
    }
    Ok(())
}

/// Copies until the end of `from`; tokio's budget sends it back to the runtime now and then.
async fn copy(mut from: ReadHalf<'_>, mut to: WriteHalf<'_>) -> io::Result<()> {
    let mut buffer = vec![0; BUFFER];
    loop {
        let read = from.read(&mut buffer).await?;
        if read == 0 {
            return to.shutdown().await;
        }
        to.write_all(&buffer[..read]).await?;
    }
}

/// Copies until the end of `from`, and goes back to the runtime at EAGAIN only.
async fn drain(from: ReadHalf<'_>, to: WriteHalf<'_>) -> io::Result<()> {
    unconstrained(drain_without_budget(from, to)).await
}

async fn drain_without_budget(from: ReadHalf<'_>, mut to: WriteHalf<'_>) -> io::Result<()> {
    let mut buffer = vec![0; BUFFER];
    loop {
        // A plain `read` takes a short one for the end of what is there, and waits.
        match from.try_read(&mut buffer) {
            Ok(0) => return to.shutdown().await,
            Ok(read) => to.write_all(&buffer[..read]).await?,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => from.readable().await?,
            Err(error) => return Err(error),
        }
    }
}
