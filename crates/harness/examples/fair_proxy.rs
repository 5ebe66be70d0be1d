//! A small TCP proxy on one thread of tokio, as somebody might write one: the foreign proxy of the
//! gate's tests and of `docs/ci.md`.
//!
//! With `--unfair` a connection is served as long as its sockets have anything to do, without going
//! back to the runtime: what a read loop until EAGAIN is in an event loop written by hand.
//!
//! Not for: anything but trying `turnstile check`. It knows nothing of HTTP, nor that it is measured.

use std::io;
use std::net::SocketAddr;
use std::process::ExitCode;

use clap::Parser;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{ReadHalf, WriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::unconstrained;

/// Bytes of one read: a page, as nginx reads.
const BUFFER: usize = 4096;

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
}

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
    let Options { listen, upstream, unfair } = Options::parse();
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
    let mut origin = TcpStream::connect(upstream).await?;
    let (from_client, to_client) = client.split();
    let (from_origin, to_origin) = origin.split();
    let (there, back) = (copy(from_client, to_origin), copy(from_origin, to_client));
    let both = async { tokio::try_join!(there, back).map(|_| ()) };
    match turn {
        Turn::Budget => both.await,
        // Without a budget, a socket that is ready never gives way to another connection.
        Turn::Drain => unconstrained(both).await,
    }
}

/// Copies until the end of `from`.
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
