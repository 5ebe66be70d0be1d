//! Sockets of loopback: a listener on a port that the kernel chose, a client whose reads end.

use std::net::{SocketAddr, TcpListener, TcpStream};

use crate::PATIENCE;

/// A listener on a free port, and where that is.
pub fn listen() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let addr = listener.local_addr().expect("bound");
    (listener, addr)
}

/// An address at which nobody listens: a moment ago its port was ours.
pub fn free_addr() -> SocketAddr {
    listen().1
}

/// A connection that fails to be read from after [`PATIENCE`].
#[track_caller]
pub fn connect(addr: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(addr).expect("somebody listens");
    stream.set_read_timeout(Some(PATIENCE)).expect("settable");
    stream
}

/// What follows the head of an HTTP message.
#[track_caller]
pub fn body(message: &[u8]) -> &[u8] {
    let head = message.windows(4).position(|four| four == b"\r\n\r\n").expect("a whole head");
    &message[head + 4..]
}
